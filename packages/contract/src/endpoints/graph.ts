/** The graph of work, and what is planned. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, TaskId, TicketId } from "../ids.ts";
import { Forecast, Graph } from "../resources/graph.ts";
import { TaskStatus } from "../resources/task.ts";

const read = { access: "person", verb: "read", method: "GET" } as const;
const TaskRef = z.object({ id: TaskId, title: z.string(), description: z.string().nullable(), status: TaskStatus });
export const GraphInclusion = {
  include_resolved: z.stringbool().default(true),
  include_discoveries: z.stringbool().default(true),
};

export const graphEndpoints = {
  getTicketGraph: endpoint({
    path: "/graph/dependency-graph/ticket/:ticket_id",
    summary: "A ticket's tasks and what they wait for.",
    params: z.object({ ticket_id: TicketId }),
    query: z.strictObject(GraphInclusion),
    reply: Graph,
    ...read,
  }),
  getProjectGraph: endpoint({
    path: "/graph/dependency-graph/project/:project_id",
    summary: "A project's tickets and tasks and what they wait for.",
    params: z.object({ project_id: ProjectId }),
    query: z.strictObject(GraphInclusion),
    reply: Graph,
    ...read,
  }),
  getBlockedTasks: endpoint({
    path: "/graph/dependency-graph/task/:task_id/blocked",
    summary: "The tasks that wait for this one.",
    params: z.object({ task_id: TaskId }),
    reply: z.object({ task_id: TaskId, blocked_tasks: z.array(TaskRef), blocked_count: z.int() }),
    ...read,
  }),
  getBlockingTasks: endpoint({
    path: "/graph/dependency-graph/task/:task_id/blocking",
    summary: "The tasks that this one waits for.",
    params: z.object({ task_id: TaskId }),
    reply: z.object({
      task_id: TaskId,
      blocking_tasks: z.array(TaskRef.extend({ is_complete: z.boolean() })),
      all_dependencies_complete: z.boolean(),
    }),
    ...read,
  }),
  getForecast: endpoint({
    path: "/graph/forecast/ticket/:ticket_id",
    summary: "Which tasks will start together, and which wait for each other's files.",
    params: z.object({ ticket_id: TicketId }),
    reply: Forecast,
    ...read,
  }),
} as const;
