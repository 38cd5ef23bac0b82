/** Splitting tasks, points that several reach, titles, phases of tickets, and what stands in their way. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { TaskId, TicketId } from "../ids.ts";
import { NewSplit, NewSync, PhaseCompletion, Split, Sync, TicketBlocking } from "../resources/coordination.ts";
import { NamedTask, Task } from "../resources/task.ts";
import { PhaseId } from "../resources/ticket.ts";

const taskRef = z.object({ task_id: TaskId });
const ticketRef = z.object({ ticket_id: TicketId });
const Phase = z.strictObject({ phase_id: PhaseId.optional() }).default({});

export const coordinationEndpoints = {
  splitTask: endpoint({
    method: "POST",
    path: "/tasks/:task_id/split",
    access: "person",
    verb: "operate",
    summary: "Let several tasks run beside each other after this one.",
    params: taskRef,
    body: NewSplit,
    reply: Split,
    status: 201,
    creates: true,
  }),
  generateTitle: endpoint({
    method: "POST",
    path: "/tasks/:task_id/generate-title",
    access: "person",
    verb: "operate",
    summary: "Name a task by what its description says.",
    params: taskRef,
    body: z.strictObject({ context: z.string().min(1).max(10_000).optional() }).default({}),
    reply: NamedTask,
  }),
  generateTitles: endpoint({
    method: "POST",
    path: "/tasks/generate-titles",
    access: "person",
    verb: "operate",
    summary: "Name those of the newest tasks that are called like their type.",
    body: z.strictObject({ limit: z.int().min(1).max(100).default(10) }).default({ limit: 10 }),
    reply: z.object({ tasks: z.array(NamedTask) }),
  }),
  createSync: endpoint({
    method: "POST",
    path: "/syncs",
    access: "person",
    verb: "operate",
    summary: "Be told when so many of these tasks are completed.",
    body: NewSync,
    reply: Sync,
    status: 201,
    creates: true,
  }),
  getSync: endpoint({
    method: "GET",
    path: "/syncs/:sync_id",
    access: "person",
    verb: "read",
    summary: "How far the tasks of a sync are.",
    params: z.object({ sync_id: z.string().regex(/^sync-[0-9a-f]{12}$/) }),
    reply: Sync,
  }),
  detectBlocking: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/detect-blocking",
    access: "person",
    verb: "read",
    summary: "What keeps a ticket from going on. Changes nothing.",
    params: ticketRef,
    reply: TicketBlocking,
  }),
  checkPhaseCompletion: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/check-phase-completion",
    access: "person",
    verb: "read",
    summary: "Whether the tasks of a ticket's phase are done. Changes nothing.",
    params: ticketRef,
    body: Phase,
    reply: PhaseCompletion,
  }),
  spawnPhaseTasks: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/spawn-phase-tasks",
    access: "person",
    verb: "operate",
    summary: "Make the task that a phase begins with, unless the phase has tasks.",
    params: ticketRef,
    body: Phase,
    reply: z.object({ ticket_id: TicketId, phase_id: PhaseId, tasks: z.array(Task) }),
    status: 201,
    creates: true,
  }),
} as const;
