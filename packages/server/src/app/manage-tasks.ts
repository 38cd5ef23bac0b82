/** Tasks: shown, listed, changed and ended by people. */
import { stepTask, type TaskTrigger } from "@drover/core";
import {
  ACTIVE_TASK_STATES,
  AppError,
  ENDED_TASK_STATES,
  TaskId,
  TaskStatus,
  type Task,
  type TaskAttempt,
  type TaskChange,
} from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { listAttempts, type AttemptRow } from "../store/task-attempts.ts";
import { listTasks, loadTask, loadTaskProject, updateTaskRow, type TaskRow } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { draftTaskEvent, lockTask, moveTask } from "./change-task.ts";
import { requireOpen } from "./create-task.ts";
import { parseCursor, refuseCursor } from "./cursor.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { endTask } from "./end-task.ts";
import { writeWithEvents } from "./event-log.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { afterStop } from "./stop-sandbox.ts";
import { toTask } from "./view-task.ts";

export async function requireTask(deps: Deps, id: TaskId): Promise<TaskRow> {
  const row = await loadTask.maybe(deps.db, id);
  if (row === undefined) throw new AppError("task.not_found");
  return row;
}

export const getTask = async (deps: Deps, id: TaskId): Promise<Task> => toTask(deps, await requireTask(deps, id));

interface TaskQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status?: readonly TaskStatus[] | undefined;
  readonly phase_id?: string | undefined;
  readonly has_sandbox?: boolean | undefined;
  /** An agent is a sandbox. */
  readonly agent_id?: string | undefined;
  readonly ticket_id?: string | undefined;
  readonly project_id?: string | undefined;
  readonly q?: string | undefined;
  readonly isTimedOut?: boolean;
}

export async function pageTasks(deps: Deps, actor: Person, query: TaskQuery) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  const before = parseCursor(TaskId, query.cursor);
  if (before !== undefined) {
    const found = await loadTaskProject.maybe(deps.db, before);
    if (found === undefined || (mine !== null && mine !== found.project_id)) throw refuseCursor();
  }
  const rows = await listTasks(deps.db, {
    projectId: query.project_id ?? mine,
    ticketId: query.ticket_id,
    statuses: query.status,
    phase: query.phase_id,
    hasSandbox: query.has_sandbox,
    sandboxId: query.agent_id,
    text: query.q,
    before,
    isTimedOut: query.isTimedOut ?? false,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return {
    items: items.map((row) => toTask(deps, row)),
    next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null,
  };
}

export const CANCELLABLE: readonly TaskStatus[] = TaskStatus.options.filter((one) => stepTask(one, "cancelled").ok);

const toAttempt = (row: AttemptRow): TaskAttempt => ({
  ...row,
  created_at: row.created_at.toISOString(),
  started_at: row.started_at?.toISOString() ?? null,
  ended_at: row.ended_at?.toISOString() ?? null,
});

export const listTaskAttempts = async (deps: Deps, id: TaskId) => ({
  items: (await listAttempts(deps.db, id)).map(toAttempt),
});

const audit = (actor: Person, action: string, row: TaskRow, detail: Readonly<Record<string, unknown>>) => ({
  actor: actor.tokenId,
  action,
  target: row.id,
  project_id: row.project_id,
  detail,
  request_id: null,
});

/** Ends a task for good and stops its sandbox, in one transaction. */
async function endByPerson(
  deps: Deps,
  actor: Person,
  id: TaskId,
  how: {
    readonly on: "completed" | "failed" | "cancelled";
    readonly error: string | null;
    readonly outcome: "completed" | "cancelled" | "failed" | "timed_out";
  },
): Promise<{ readonly before: TaskRow; readonly after: TaskRow }> {
  const ended = await writeWithEvents(deps, async (tx, append) => {
    const before = await lockTask(tx, id);
    const { row, drafts } = await endTask(tx, deps, before, { ...how, source: "user" });
    await insertAudit(tx, audit(actor, `task.${how.on}`, row, { reason: how.error }));
    await append(drafts);
    return { before, after: row };
  });
  afterStop(deps);
  await refreshAround(deps, [id]);
  deps.wake("tend-tasks");
  return ended;
}

export async function cancelTask(deps: Deps, actor: Person, id: TaskId, reason: string) {
  const { after } = await endByPerson(deps, actor, id, {
    on: "cancelled",
    error: `Task cancelled: ${reason}`,
    outcome: "cancelled",
  });
  return { task_id: id, cancelled: true as const, reason, status: after.status };
}

export async function failTask(deps: Deps, actor: Person, id: TaskId, reason: string) {
  const { before, after } = await endByPerson(deps, actor, id, { on: "failed", error: reason, outcome: "failed" });
  return { task_id: id, status: after.status, reason, old_status: before.status };
}

export async function timeOutTask(deps: Deps, actor: Person, id: TaskId, reason: string): Promise<Task> {
  const row = await requireTask(deps, id);
  if (!ACTIVE_TASK_STATES.has(row.status))
    throw new AppError("task.illegal_transition", `a task that is ${row.status} cannot time out`);
  const error = `Task timed out after ${row.timeout_seconds ?? Math.round(toElapsed(deps, row))} s: ${reason}`;
  const { after } = await endByPerson(deps, actor, id, { on: "failed", error, outcome: "timed_out" });
  return toTask(deps, after);
}

/** One step that a person asks for and that touches no sandbox. */
async function moveByPerson(
  deps: Deps,
  actor: Person,
  id: TaskId,
  on: TaskTrigger,
  patch: Partial<TaskRow>,
): Promise<TaskRow> {
  const after = await writeWithEvents(deps, async (tx, append) => {
    const { row, drafts } = await moveTask(tx, deps, await lockTask(tx, id), { on, patch, source: "user" });
    await insertAudit(tx, audit(actor, `task.${on}`, row, {}));
    await append(drafts);
    return row;
  });
  await refreshAround(deps, [id]);
  deps.wake("tend-tasks");
  return after;
}

/** A new try that a person asks for has all retries again. */
export async function retryTask(deps: Deps, actor: Person, id: TaskId): Promise<Task> {
  requireOpen(await loadTicket.one(deps.db, (await requireTask(deps, id)).ticket_id));
  await moveByPerson(deps, actor, id, "retried", { retry_count: 0, not_before: null, error_message: null });
  return getTask(deps, id);
}

/** What a person may bring about by naming a state. */
const BY_STATUS: Readonly<Partial<Record<TaskStatus, readonly TaskTrigger[]>>> = {
  cancelled: ["cancelled"],
  failed: ["failed"],
  completed: ["completed"],
  pending: ["retried", "dependency_revived"],
};

async function changeStatus(deps: Deps, actor: Person, row: TaskRow, to: TaskStatus): Promise<void> {
  if (to === row.status) return;
  const on = BY_STATUS[to]?.find((trigger) => stepTask(row.status, trigger).ok);
  if (on === undefined)
    throw new AppError("task.illegal_transition", `a task that is ${row.status} cannot become ${to}`);
  if (on === "cancelled") await cancelTask(deps, actor, row.id, "cancelled_by_request");
  else if (on === "failed") await failTask(deps, actor, row.id, "marked_failed_by_user");
  else if (on === "completed") await endByPerson(deps, actor, row.id, { on, error: null, outcome: "completed" });
  else if (on === "retried") await retryTask(deps, actor, row.id);
  else await moveByPerson(deps, actor, row.id, on, {});
}

export async function changeTaskFields(deps: Deps, actor: Person, id: TaskId, change: TaskChange): Promise<Task> {
  const { status, deadline_at, ...fields } = change;
  if (status !== undefined) await changeStatus(deps, actor, await requireTask(deps, id), status);
  const patch = Object.fromEntries(
    Object.entries({
      ...fields,
      deadline_at: deadline_at === undefined ? undefined : deadline_at === null ? null : new Date(deadline_at),
    }).filter(([, value]) => value !== undefined),
  ) as Partial<TaskRow>;
  if (Object.keys(patch).length > 0) {
    await writeWithEvents(deps, async (tx, append) => {
      const row = await lockTask(tx, id);
      await updateTaskRow(tx, id, patch);
      await insertAudit(tx, audit(actor, "task.update", row, { fields: Object.keys(patch) }));
      await append([draftTaskEvent(deps, { ...row, ...patch }, "TASK_UPDATED", {}, "user")]);
    });
    await refreshAround(deps, [id]);
  }
  return getTask(deps, id);
}

const toElapsed = (deps: Deps, row: TaskRow): number =>
  row.started_at === null ? 0 : ((row.completed_at ?? deps.clock.now()).getTime() - row.started_at.getTime()) / 1_000;

export async function getTimeoutStatus(deps: Deps, id: TaskId) {
  const row = await requireTask(deps, id);
  const elapsed = toElapsed(deps, row);
  const left = row.timeout_seconds === null ? null : Math.max(0, row.timeout_seconds - elapsed);
  return {
    exists: true as const,
    status: row.status,
    timeout_seconds: row.timeout_seconds,
    elapsed_seconds: elapsed,
    time_remaining: left,
    is_timed_out: row.status === "running" && left === 0,
    can_cancel: CANCELLABLE.includes(row.status),
  };
}

export async function setTaskTimeout(deps: Deps, id: TaskId, seconds: number): Promise<Task> {
  await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, id);
    if (ENDED_TASK_STATES.has(row.status))
      throw new AppError("task.illegal_transition", `the task is ${row.status} already`);
    await updateTaskRow(tx, id, { timeout_seconds: seconds });
    await append([draftTaskEvent(deps, row, "TASK_UPDATED", { timeout_seconds: seconds }, "user")]);
  });
  deps.wake("tend-tasks");
  return getTask(deps, id);
}

export async function getTimeline(deps: Deps, id: TaskId) {
  const row = await requireTask(deps, id);
  return {
    task_id: id,
    status: row.status,
    created_at: row.created_at.toISOString(),
    started_at: row.started_at?.toISOString() ?? null,
    completed_at: row.completed_at?.toISOString() ?? null,
    duration_seconds: row.started_at === null ? null : toElapsed(deps, row),
    retry_count: row.retry_count,
    error_message: row.error_message,
    conversation_id: row.conversation_id,
  };
}

export async function registerConversation(
  deps: Deps,
  id: TaskId,
  body: { readonly conversation_id: string; readonly sandbox_id: string },
) {
  await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, id);
    await updateTaskRow(tx, id, { conversation_id: body.conversation_id });
    const data = { conversation_id: body.conversation_id, sandbox_id: body.sandbox_id };
    await append([draftTaskEvent(deps, row, "CONVERSATION_REGISTERED", data, "user")]);
  });
  return { success: true as const, task_id: id, conversation_id: body.conversation_id };
}
