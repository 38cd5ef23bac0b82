/** Looks after tasks that would otherwise wait for ever: stale claims, times that are over, dependencies that failed. */
import { stepTask } from "@drover/core";
import type { TaskId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import {
  findOverdue,
  listDoomed,
  listGivenUp,
  listOverdue,
  listRevived,
  listStaleClaims,
  listUnvalidated,
} from "../store/task-queue.ts";
import { listTasksAmong, type TaskRow } from "../store/tasks.ts";
import { endAttempt, loadOpenAttempt } from "../store/task-attempts.ts";
import { changeTask, lockTask, type TaskMove } from "./change-task.ts";
import type { Deps } from "./deps.ts";
import { endTask, failWork } from "./end-task.ts";
import { writeWithEvents, type EventDraft } from "./event-log.ts";
import { refreshAround, ripenTasks } from "./requeue-tasks.ts";
import { afterStop, draftStop } from "./stop-sandbox.ts";
import { awaitValidator } from "./validate-task.ts";

const BATCH = 200;

async function changeEach(
  deps: Deps,
  found: readonly { readonly id: TaskId; readonly status_changed_at?: Date }[],
  toMove: (row: TaskRow) => Promise<TaskMove | undefined> | TaskMove | undefined,
): Promise<number> {
  for (const { id, status_changed_at: since } of found) {
    const [row] = await listTasksAmong(deps.db, [id]);
    const move = row === undefined ? undefined : await toMove(row);
    if (row === undefined || move === undefined) continue;
    // Others look after tasks too: what has changed since it was found is left to the next look.
    const isSame = (locked: TaskRow) =>
      locked.status === row.status &&
      locked.status_changed_at.getTime() === (since ?? row.status_changed_at).getTime() &&
      stepTask(locked.status, move.on).ok;
    await changeTask(deps, id, (locked) => (isSame(locked) ? move : undefined));
  }
  return found.length;
}

/** A claimer that did not come back: by the time of its claim, whatever the age of the task. */
const releaseStale = async (deps: Deps): Promise<number> =>
  changeEach(deps, await listStaleClaims(deps.db, deps.config.staleClaimSeconds, BATCH), () => ({
    on: "released",
    reason: "its claimer did not come back",
    patch: { claimed_by: null },
  }));

const ENDED_BADLY: ReadonlySet<string> = new Set(["failed", "cancelled", "skipped", "blocked"]);

async function toBlocked(deps: Deps, row: TaskRow): Promise<TaskMove | undefined> {
  const culprit = (await listTasksAmong(deps.db, row.depends_on)).find((one) => ENDED_BADLY.has(one.status));
  return culprit === undefined
    ? undefined
    : { on: "dependency_failed", reason: `dependency ${culprit.id} is ${culprit.status}` };
}

/** What waits for something that failed is blocked, at once and however far away; later it is skipped. */
async function propagate(deps: Deps): Promise<number> {
  let changed = 0;
  for (;;) {
    const doomed = await listDoomed(deps.db, BATCH);
    changed += await changeEach(deps, doomed, (row) => toBlocked(deps, row));
    if (doomed.length === 0) break;
  }
  changed += await changeEach(deps, await listRevived(deps.db, BATCH), (row) =>
    row.status === "blocked" || row.status === "skipped" ? { on: "dependency_revived" } : undefined,
  );
  const skip = (row: TaskRow): TaskMove => ({ on: "given_up", reason: row.status_reason });
  return changed + (await changeEach(deps, await listGivenUp(deps.db, deps.config.blockedGraceSeconds, BATCH), skip));
}

/** Where no second agent looks at work any more, what waits for one passes. */
const passUnvalidated = async (deps: Deps): Promise<number> =>
  deps.config.taskValidationEnabled
    ? 0
    : changeEach(deps, await listUnvalidated(deps.db, BATCH), () => ({
        on: "validation_passed",
        reason: "validation is switched off",
      }));

/** A task that ran out of its own time has failed; one that never began gets another sandbox, and so does a validator. */
async function draftOverdue(tx: Db, deps: Deps, row: TaskRow): Promise<readonly EventDraft[]> {
  if (row.status === "running") {
    const error = `Task timed out after ${row.timeout_seconds ?? 0} s: its time is over`;
    return (await endTask(tx, deps, row, { on: "failed", error, outcome: "timed_out" })).drafts;
  }
  const attempt = await loadOpenAttempt.maybe(tx, row.id);
  const error = `the ${row.status === "validating" ? "validator" : "agent"} did not start in time`;
  const stopped = attempt === undefined ? [] : await draftStop(tx, deps, attempt.sandbox_id, error);
  if (row.status === "assigned")
    return [...(await failWork(tx, deps, row, attempt, { error, outcome: "lost" })).drafts, ...stopped];
  if (attempt !== undefined)
    await endAttempt(tx, attempt.sandbox_id, { outcome: "lost", error, result: null, at: deps.clock.now() });
  return [...(await awaitValidator(tx, deps, row, error, 0)).drafts, ...stopped];
}

async function endOverdue(deps: Deps, id: TaskId): Promise<boolean> {
  const isEnded = await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, id);
    if ((await findOverdue.maybe(tx, deps.config.staleTaskMinutes, id)) === undefined) return false;
    await append(await draftOverdue(tx, deps, row));
    return true;
  });
  afterStop(deps);
  await refreshAround(deps, [id]);
  return isEnded;
}

/** Of one project, or of all. */
export async function endOverdueTasks(deps: Deps, projectId: string | null): Promise<{ found: number; ended: number }> {
  const overdue = await listOverdue(deps.db, deps.config.staleTaskMinutes, projectId, BATCH);
  let ended = 0;
  for (const { id } of overdue) if (await endOverdue(deps, id)) ended += 1;
  return { found: overdue.length, ended };
}

export async function tendTasksOnce(deps: Deps): Promise<{ changed: number }> {
  const { ended } = await endOverdueTasks(deps, null);
  const changed = ended + (await releaseStale(deps)) + (await passUnvalidated(deps)) + (await propagate(deps));
  const ripened = await ripenTasks(deps);
  if (changed > 0) deps.wake("advance-tickets");
  return { changed: changed + ripened };
}
