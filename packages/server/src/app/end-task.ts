/** How a try at a task ends, and what becomes of the task: done, to be looked at, tried again, or given up. */
import { randomInt } from "node:crypto";
import { decideRetry } from "@drover/core";
import type { AttemptOutcome, JsonObject } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { endAttempt, loadOpenAttempt, type AttemptRow } from "../store/task-attempts.ts";
import type { TaskRow } from "../store/tasks.ts";
import { draftTaskEvent, moveTask, type Moved } from "./change-task.ts";
import type { Deps } from "./deps.ts";
import type { EventDraft } from "./event-log.ts";
import { draftStop } from "./stop-sandbox.ts";

/** A word about a task that has not been seen to begin means that it has. */
async function ensureStarted(tx: Db, deps: Deps, row: TaskRow): Promise<Moved> {
  return row.status === "assigned" ? moveTask(tx, deps, row, { on: "started" }) : { row, drafts: [] };
}

export async function finishWork(
  tx: Db,
  deps: Deps,
  given: TaskRow,
  attempt: AttemptRow,
  result: JsonObject,
): Promise<Moved> {
  const started = await ensureStarted(tx, deps, given);
  await endAttempt(tx, attempt.sandbox_id, { outcome: "completed", error: null, result, at: deps.clock.now() });
  const iteration = given.validation_iteration + 1;
  const isValidated = given.validation_enabled && deps.config.taskValidationEnabled;
  const moved = isValidated
    ? await moveTask(tx, deps, started.row, {
        on: "validation_requested",
        patch: { result, validation_iteration: iteration, error_message: null, not_before: null },
        data: { iteration, validation_id: `${given.id}:${iteration}` },
      })
    : await moveTask(tx, deps, started.row, { on: "completed", patch: { result, error_message: null } });
  return { ...moved, drafts: [...started.drafts, ...moved.drafts] };
}

export interface Failure {
  readonly error: string;
  readonly outcome: AttemptOutcome;
  /** Nothing that a new try could change. */
  readonly isFinal?: boolean;
}

export async function failWork(
  tx: Db,
  deps: Deps,
  row: TaskRow,
  attempt: AttemptRow | undefined,
  failure: Failure,
): Promise<Moved> {
  const { error, outcome } = failure;
  if (attempt !== undefined)
    await endAttempt(tx, attempt.sandbox_id, { outcome, error, result: null, at: deps.clock.now() });
  const retry =
    failure.isFinal === true
      ? ({ retry: false } as const)
      : decideRetry(
          { error, retryCount: row.retry_count, maxRetries: row.max_retries },
          deps.config.retryBaseSeconds,
          randomInt(1_000) / 1_000,
        );
  const told = { retry_count: row.retry_count, max_retries: row.max_retries, error_message: error };
  if (!retry.retry) {
    const moved = await moveTask(tx, deps, row, { on: "failed", patch: { error_message: error }, reason: error });
    return {
      row: moved.row,
      drafts: [...moved.drafts, draftTaskEvent(deps, moved.row, "TASK_PERMANENTLY_FAILED", told)],
    };
  }
  const retryCount = row.retry_count + 1;
  const notBefore = new Date(deps.clock.now().getTime() + retry.delaySeconds * 1_000);
  const moved = await moveTask(tx, deps, row, {
    on: "requeued",
    patch: { retry_count: retryCount, not_before: notBefore, error_message: null },
    reason: `to be tried again: ${error}`,
  });
  const scheduled = { ...told, retry_count: retryCount, delay_seconds: retry.delaySeconds };
  return {
    row: moved.row,
    drafts: [...moved.drafts, draftTaskEvent(deps, moved.row, "TASK_RETRY_SCHEDULED", scheduled)],
  };
}

/** Ends a task for good, and whatever works on it: nothing goes on spending. */
export async function endTask(
  tx: Db,
  deps: Deps,
  row: TaskRow,
  how: {
    readonly on: "completed" | "failed" | "cancelled";
    readonly error: string | null;
    readonly outcome: AttemptOutcome;
    readonly source?: "user" | "server";
  },
): Promise<Moved> {
  const attempt = await loadOpenAttempt.maybe(tx, row.id);
  const moved = await moveTask(tx, deps, row, {
    on: how.on,
    patch: { error_message: how.error },
    reason: how.error,
    ...(how.source === undefined ? {} : { source: how.source }),
  });
  if (attempt === undefined) return moved;
  await endAttempt(tx, attempt.sandbox_id, {
    outcome: how.outcome,
    error: how.error,
    result: null,
    at: deps.clock.now(),
  });
  const cause = how.error?.slice(0, 500) ?? "its task is over";
  const stopped: readonly EventDraft[] = await draftStop(tx, deps, attempt.sandbox_id, cause);
  return { row: moved.row, drafts: [...moved.drafts, ...stopped] };
}
