/** A transition of a task, decided by the table while its row is locked, and told in the log of the same transaction. */
import { stepTask, type TaskTrigger } from "@drover/core";
import { AppError, type JsonObject, type TaskId, type TaskStatus } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { listUnblocked, lockTasks, updateTaskRow, type TaskRow } from "../store/tasks.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { refreshAround } from "./requeue-tasks.ts";

const EVENT_OF: Readonly<Partial<Record<TaskStatus, string>>> = {
  assigned: "TASK_ASSIGNED",
  running: "TASK_STARTED",
  completed: "TASK_COMPLETED",
  failed: "TASK_FAILED",
  cancelled: "TASK_CANCELLED",
  pending_validation: "TASK_VALIDATION_REQUESTED",
};

const DESCRIPTION_LIMIT = 2_000;

/** What every event about a task says. */
const toTaskData = (row: TaskRow): JsonObject => ({
  task_id: row.id,
  ticket_id: row.ticket_id,
  phase_id: row.phase_id,
  task_type: row.task_type,
  title: row.title,
  status: row.status,
  priority: row.priority,
  description: row.description?.slice(0, DESCRIPTION_LIMIT) ?? null,
  sandbox_id: row.sandbox_id,
});

export const draftTaskEvent = (
  deps: Pick<Deps, "ids">,
  row: TaskRow,
  eventType: string,
  data: JsonObject = {},
  source: "user" | "server" = "server",
): EventDraft =>
  draftEvent(
    deps.ids,
    { type: "task", id: row.id, projectId: row.project_id },
    { eventType, data: { ...toTaskData(row), ...data }, source },
  );

export interface TaskMove {
  readonly on: TaskTrigger;
  readonly patch?: Partial<TaskRow>;
  readonly data?: JsonObject;
  readonly reason?: string | null;
  readonly source?: "user" | "server";
}

export interface Moved {
  readonly row: TaskRow;
  readonly drafts: readonly EventDraft[];
  /** Tasks that now wait for nothing any more, when this one is completed. */
  readonly unblocked?: readonly TaskId[];
}

const TIMES: Readonly<Partial<Record<TaskStatus, keyof TaskRow>>> = {
  assigned: "assigned_at",
  running: "started_at",
  completed: "completed_at",
  failed: "completed_at",
  cancelled: "completed_at",
  skipped: "completed_at",
};

/** A new try begins with a clean slate: times and sandbox are those of the attempt. */
const FRESH: Partial<TaskRow> = {
  sandbox_id: null,
  claimed_by: null,
  claimed_at: null,
  assigned_at: null,
  started_at: null,
  completed_at: null,
};

/** Writes the step of a row whose lock is held; refuses what the table does not have. */
export async function moveTask(
  tx: Db,
  deps: Pick<Deps, "ids" | "clock">,
  row: TaskRow,
  move: TaskMove,
): Promise<Moved> {
  const next = stepTask(row.status, move.on);
  if (!next.ok)
    throw new AppError(
      "task.illegal_transition",
      `a task that is ${row.status} cannot be ${move.on.replaceAll("_", " ")}`,
    );
  const now = deps.clock.now();
  const time = TIMES[next.to];
  const patch: Partial<TaskRow> = {
    ...(next.to === "pending" ? FRESH : {}),
    ...(time === undefined ? {} : { [time]: now }),
    ...move.patch,
    status: next.to,
    status_reason: move.reason ?? null,
    status_changed_at: now,
  };
  await updateTaskRow(tx, row.id, patch);
  const after = { ...row, ...patch };
  const data = {
    old_status: row.status,
    error_message: after.error_message,
    has_result: after.result !== null,
    reason: move.reason ?? null,
    ...move.data,
  };
  const drafts = [draftTaskEvent(deps, after, EVENT_OF[next.to] ?? "TASK_STATUS_CHANGED", data, move.source)];
  if (next.to !== "completed") return { row: after, drafts };
  const unblocked = (await listUnblocked(tx, row.id)).map(({ id }) => id);
  if (unblocked.length === 0) return { row: after, drafts, unblocked };
  const told = { completed_task_id: row.id, unblocked_task_ids: unblocked, sandbox_id: row.sandbox_id };
  return { row: after, drafts: [...drafts, draftTaskEvent(deps, after, "TASKS_UNBLOCKED", told)], unblocked };
}

export async function lockTask(tx: Db, id: string): Promise<TaskRow> {
  const [row] = await lockTasks(tx, [id]);
  if (row === undefined) throw new AppError("task.not_found");
  return row;
}

/** One step in a transaction of its own. */
export async function changeTask(
  deps: Deps,
  id: string,
  toMove: (row: TaskRow) => TaskMove | undefined,
): Promise<TaskRow> {
  const changed = await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, id);
    const move = toMove(row);
    if (move === undefined) return row;
    const moved = await moveTask(tx, deps, row, move);
    await append(moved.drafts);
    return moved.row;
  });
  await refreshAround(deps, [id]);
  return changed;
}
