/** Tasks: made, listed, tied together, ended. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, SandboxId, TaskId, TicketId } from "../ids.ts";
import {
  Discovery,
  Join,
  NewJoin,
  NewTask,
  Task,
  TaskAttempt,
  TaskChange,
  TaskDependencies,
  TaskStatus,
} from "../resources/task.ts";
import { PhaseId } from "../resources/ticket.ts";
import { page, Paging } from "./page.ts";

const taskRef = z.object({ task_id: TaskId });
const Reason = z.string().min(1).max(2_000);
const readTask = { access: "person", verb: "read", params: taskRef } as const;
const onTask = { access: "person", verb: "operate", params: taskRef } as const;
const DependsOn = z.array(TaskId).max(1_000);

export const taskEndpoints = {
  listTasks: endpoint({
    method: "GET",
    path: "/tasks",
    access: "person",
    verb: "read",
    summary: "Tasks, newest first.",
    query: z.strictObject({
      ...Paging,
      status: z.union([z.array(TaskStatus), TaskStatus.transform((one) => [one])]).optional(),
      phase_id: PhaseId.optional(),
      has_sandbox: z.stringbool().optional(),
      ticket_id: TicketId.optional(),
      project_id: ProjectId.optional(),
      q: z.string().min(1).max(200).optional(),
    }),
    reply: page(Task),
  }),
  createTask: endpoint({
    method: "POST",
    path: "/tasks",
    access: "person",
    verb: "operate",
    summary: "Create a task of a ticket.",
    body: NewTask,
    reply: Task,
    status: 201,
    creates: true,
  }),
  listTimedOut: endpoint({
    method: "GET",
    path: "/tasks/timed-out",
    access: "person",
    verb: "read",
    summary: "Running tasks whose time is over.",
    query: z.strictObject(Paging),
    reply: page(Task),
  }),
  listCancellable: endpoint({
    method: "GET",
    path: "/tasks/cancellable",
    access: "person",
    verb: "read",
    summary: "Tasks that can still be cancelled; of one agent, if it is named.",
    query: z.strictObject({ ...Paging, agent_id: SandboxId.optional() }),
    reply: page(Task),
  }),
  listReady: endpoint({
    method: "GET",
    path: "/tasks/ready",
    access: "person",
    verb: "read",
    summary: "The tasks that would be started next, best first; nothing is claimed.",
    query: z.strictObject({
      limit: z.coerce.number().int().min(1).max(100).default(10),
      project_id: ProjectId.optional(),
    }),
    reply: z.object({ items: z.array(Task) }),
  }),
  getTask: endpoint({ method: "GET", path: "/tasks/:task_id", summary: "One task.", reply: Task, ...readTask }),
  updateTask: endpoint({
    method: "PATCH",
    path: "/tasks/:task_id",
    summary: "Change a task; a status only where the table allows it.",
    body: TaskChange,
    reply: Task,
    ...onTask,
  }),
  changeTaskStatus: endpoint({
    method: "PATCH",
    path: "/tasks/:task_id/status",
    summary: "Move a task to another state, where the table allows it.",
    body: z.strictObject({ status: TaskStatus }),
    reply: Task,
    ...onTask,
  }),
  listAttempts: endpoint({
    method: "GET",
    path: "/tasks/:task_id/attempts",
    summary: "Every try at a task, the first one first.",
    reply: z.object({ items: z.array(TaskAttempt) }),
    ...readTask,
  }),
  getTaskTimeline: endpoint({
    method: "GET",
    path: "/tasks/:task_id/timeline",
    summary: "When a task was made, begun and ended.",
    reply: z.object({
      task_id: TaskId,
      status: TaskStatus,
      created_at: z.string(),
      started_at: z.string().nullable(),
      completed_at: z.string().nullable(),
      duration_seconds: z.number().nullable(),
      retry_count: z.int(),
      error_message: z.string().nullable(),
      conversation_id: z.string().nullable(),
    }),
    ...readTask,
  }),
  listDiscoveries: endpoint({
    method: "GET",
    path: "/tasks/:task_id/discoveries",
    summary: "What an agent found while it worked on a task.",
    reply: z.object({ items: z.array(Discovery) }),
    ...readTask,
  }),
  registerConversation: endpoint({
    method: "POST",
    path: "/tasks/:task_id/register-conversation",
    summary: "Note under which name an agent keeps its session.",
    body: z.strictObject({
      conversation_id: z.string().min(1).max(255),
      sandbox_id: z.string().max(255).default(""),
      persistence_dir: z.string().max(500).default(""),
    }),
    reply: z.object({ success: z.literal(true), task_id: TaskId, conversation_id: z.string() }),
    ...onTask,
  }),
  getDependencies: endpoint({
    method: "GET",
    path: "/tasks/:task_id/dependencies",
    summary: "What a task waits for, and what waits for it.",
    reply: TaskDependencies.extend({
      blocked_tasks: z.array(z.object({ id: TaskId, description: z.string().nullable(), status: TaskStatus })),
    }),
    ...readTask,
  }),
  checkCircular: endpoint({
    method: "POST",
    path: "/tasks/:task_id/check-circular",
    summary:
      "Whether these dependencies would form a cycle, also over other tickets; those stand in it as `ticket <id>`.",
    body: z.union([DependsOn.min(1), z.strictObject({ depends_on: DependsOn.min(1) })]),
    reply: z.object({ has_circular_dependency: z.boolean(), cycle: z.array(z.string()).nullable() }),
    ...readTask,
  }),
  addDependencies: endpoint({
    method: "POST",
    path: "/tasks/:task_id/dependencies",
    summary: "Let a task wait for more.",
    body: z.strictObject({ depends_on: DependsOn.min(1) }),
    reply: TaskDependencies,
    ...onTask,
  }),
  setDependencies: endpoint({
    method: "PUT",
    path: "/tasks/:task_id/dependencies",
    summary: "Say what a task waits for; none clears.",
    body: z.strictObject({ depends_on: DependsOn }),
    reply: TaskDependencies,
    ...onTask,
  }),
  removeDependency: endpoint({
    method: "DELETE",
    path: "/tasks/:task_id/dependencies/:dependency_id",
    access: "person",
    verb: "operate",
    summary: "Let a task no longer wait for another.",
    params: z.object({ task_id: TaskId, dependency_id: TaskId }),
    reply: TaskDependencies,
  }),
  cancelTask: endpoint({
    method: "POST",
    path: "/tasks/:task_id/cancel",
    summary: "End a task that is not wanted any more, and stop its sandbox.",
    body: z
      .strictObject({ reason: Reason.default("cancelled_by_request") })
      .default({ reason: "cancelled_by_request" }),
    reply: z.object({ task_id: TaskId, cancelled: z.literal(true), reason: z.string(), status: TaskStatus }),
    ...onTask,
  }),
  failTask: endpoint({
    method: "POST",
    path: "/tasks/:task_id/fail",
    summary: "Mark a task as failed, and stop its sandbox.",
    body: z
      .strictObject({ reason: Reason.default("marked_failed_by_user") })
      .default({ reason: "marked_failed_by_user" }),
    reply: z.object({ task_id: TaskId, status: TaskStatus, reason: z.string(), old_status: TaskStatus }),
    ...onTask,
  }),
  retryTask: endpoint({
    method: "POST",
    path: "/tasks/:task_id/retry",
    summary: "Try a task again that failed, was cancelled or skipped.",
    reply: Task,
    ...onTask,
  }),
  getTimeoutStatus: endpoint({
    method: "GET",
    path: "/tasks/:task_id/timeout-status",
    summary: "How much time a task has left.",
    reply: z.object({
      exists: z.literal(true),
      status: TaskStatus,
      timeout_seconds: z.int().nullable(),
      elapsed_seconds: z.number(),
      time_remaining: z.number().nullable(),
      is_timed_out: z.boolean(),
      can_cancel: z.boolean(),
    }),
    ...readTask,
  }),
  setTaskTimeout: endpoint({
    method: "POST",
    path: "/tasks/:task_id/set-timeout",
    summary: "Say how long a task may run.",
    body: z.strictObject({ timeout_seconds: z.int().positive().max(604_800) }),
    reply: Task,
    ...onTask,
  }),
  timeOutTask: endpoint({
    method: "POST",
    path: "/tasks/:task_id/timeout",
    summary: "End a running task as timed out, and stop its sandbox.",
    body: z.strictObject({ reason: Reason.default("timed_out_by_user") }).default({ reason: "timed_out_by_user" }),
    reply: Task,
    ...onTask,
  }),
  cleanUpTimedOut: endpoint({
    method: "POST",
    path: "/tasks/cleanup-timed-out",
    access: "person",
    verb: "operate",
    summary: "End the running tasks whose time is over now.",
    reply: z.object({ cleaned_count: z.int(), total_timed_out: z.int() }),
  }),
  createJoin: endpoint({
    method: "POST",
    path: "/joins",
    access: "person",
    verb: "operate",
    summary: "Let one task wait for several and get their results.",
    body: NewJoin,
    reply: Join,
    status: 201,
    creates: true,
  }),
} as const;
