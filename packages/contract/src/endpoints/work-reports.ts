/** What a worker says about its task. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { EventType } from "../events/event.ts";
import { SandboxId, TaskId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Discovery, NewDiscovery, TaskCompletion, TaskStatus, ValidationVerdict } from "../resources/task.ts";
import { NewTicketComment, TicketComment } from "../resources/ticket-comment.ts";

const fromWorker = { method: "POST", access: "worker", params: z.object({ sandbox_id: SandboxId }) } as const;

export const workReportEndpoints = {
  completeTask: endpoint({
    path: "/sandboxes/:sandbox_id/task-complete",
    summary: "The sandbox's task is over. Said twice it counts once.",
    body: TaskCompletion,
    reply: z.object({
      status: z.literal("accepted"),
      task_id: TaskId,
      new_status: TaskStatus,
      unblocked_tasks: z.array(TaskId),
    }),
    ...fromWorker,
  }),
  reportValidation: endpoint({
    path: "/sandboxes/:sandbox_id/validation-result",
    summary: "A validator's verdict on the task that it was started for.",
    body: ValidationVerdict,
    reply: z.object({
      status: z.literal("accepted"),
      task_id: TaskId,
      validation_passed: z.boolean(),
      new_task_status: TaskStatus,
    }),
    ...fromWorker,
  }),
  reportDiscovery: endpoint({
    path: "/sandboxes/:sandbox_id/discoveries",
    summary: "Work that was found on the way: noted, and made into tasks of the same ticket.",
    body: NewDiscovery,
    reply: Discovery,
    status: 201,
    creates: true,
    ...fromWorker,
  }),
  reportComment: endpoint({
    path: "/sandboxes/:sandbox_id/comments",
    summary: "The agent says something on the ticket of its task.",
    body: NewTicketComment,
    reply: TicketComment,
    status: 201,
    creates: true,
    ...fromWorker,
  }),
  reportTaskEvent: endpoint({
    method: "POST",
    path: "/tasks/:task_id/events",
    access: "worker",
    summary: "An event of the agent that works on the task; it becomes one of its sandbox.",
    params: z.object({ task_id: TaskId }),
    body: z.strictObject({
      /** Its own, if it says so. */
      agent_id: SandboxId.optional(),
      event_type: EventType,
      event_data: JsonObject.default({}),
    }),
    reply: z.object({
      success: z.literal(true),
      task_id: TaskId,
      sandbox_id: SandboxId,
      event_id: z.string(),
      seq: z.int().positive(),
    }),
  }),
} as const;
