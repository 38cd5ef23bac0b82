/** Lets tasks follow their sandboxes: begun when the worker speaks, over when it ends. Twice equals once. */
import {
  AppError,
  ENDED_TASK_STATES,
  TERMINAL_SANDBOX_STATES,
  type JsonObject,
  type SandboxId,
  type TaskId,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { listEvents } from "../store/events.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { endAttempt, listMoved, loadOpenAttempt, loadSaidDone, markAttemptStarted } from "../store/task-attempts.ts";
import { moveTask, lockTask, type Moved } from "./change-task.ts";
import type { Deps } from "./deps.ts";
import { failWork, finishWork, type Failure } from "./end-task.ts";
import { writeWithEvents } from "./event-log.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { settleValidation } from "./validate-task.ts";

const BATCH = 200;

async function loadLast(db: Db, id: SandboxId, eventType: string): Promise<JsonObject> {
  const filter = { event_type: [eventType], limit: 1, offset: 0 };
  const [event] = await listEvents(db, { sandboxId: id }, filter, "desc");
  return (event?.event_data ?? {}) as JsonObject;
}

const toText = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

/** Why a sandbox ended, and whether a new one could do better. */
async function findFailure(db: Db, sandbox: SandboxRow): Promise<Failure> {
  if (sandbox.state === "cancelled" || (sandbox.state === "terminated" && sandbox.state_cause === "user"))
    return { error: "the sandbox was ended by a person", outcome: "cancelled", isFinal: true };
  if (sandbox.state_cause === "agent.failed") {
    const told = await loadLast(db, sandbox.id, "agent.failed");
    return { error: toText(told["error"]) ?? toText(told["reason"]) ?? "the agent failed", outcome: "failed" };
  }
  // Nothing was said by the agent: worker, provider or machine went away under it.
  return { error: sandbox.state_cause ?? "the sandbox was lost", outcome: "lost" };
}

async function toResult(db: Db, id: SandboxId): Promise<JsonObject> {
  const { final_output, files_changed, turns, cost_usd, session_id } = await loadLast(db, id, "agent.completed");
  return JSON.parse(
    JSON.stringify({ final_output, files_changed, turns, cost_usd, session_id, sandbox_id: id }),
  ) as JsonObject;
}

/** What the sandbox's state means for the task, decided again under the task's lock. */
async function follow(tx: Db, deps: Deps, taskId: TaskId, sandboxId: SandboxId): Promise<Moved | undefined> {
  const row = await lockTask(tx, taskId);
  const attempt = await loadOpenAttempt.maybe(tx, taskId);
  const sandbox = await loadSandbox.maybe(tx, sandboxId);
  if (attempt?.sandbox_id !== sandboxId || sandbox === undefined) return undefined;
  if (sandbox.state !== "pending" && sandbox.state !== "creating")
    await markAttemptStarted(tx, sandboxId, sandbox.started_at ?? deps.clock.now());
  // Row and try contradict each other, whatever brought that about: it is settled, and not looked at again.
  if (ENDED_TASK_STATES.has(row.status)) {
    const error = `the task was ${row.status} before`;
    await endAttempt(tx, sandboxId, { outcome: "lost", error, result: null, at: deps.clock.now() });
    return undefined;
  }
  // What was done was done, also where the sandbox has gone on or has ended since.
  const isDone = sandbox.state === "completed" || (await loadSaidDone.one(tx, sandboxId)).is_done;
  const isOver = isDone || TERMINAL_SANDBOX_STATES.has(sandbox.state);
  if (attempt.kind === "validation")
    return isOver
      ? settleValidation(tx, deps, row, attempt, await loadLast(tx, sandboxId, "agent.completed"))
      : undefined;
  if (isDone) return finishWork(tx, deps, row, attempt, await toResult(tx, sandboxId));
  if (isOver) return failWork(tx, deps, row, attempt, await findFailure(tx, sandbox));
  return row.status === "assigned" ? moveTask(tx, deps, row, { on: "started" }) : undefined;
}

export async function followTasksOnce(deps: Deps): Promise<{ moved: number }> {
  const found = await listMoved(deps.db, BATCH);
  const changed: string[] = [];
  for (const { task_id: taskId, sandbox_id: sandboxId } of found) {
    const moved = await writeWithEvents(deps, async (tx, append) => {
      const result = await follow(tx, deps, taskId, sandboxId);
      if (result !== undefined) await append(result.drafts);
      return result;
    }).catch((error: unknown) => {
      // Expected: a task that its table lets go nowhere. It holds up nobody else.
      if (!(error instanceof AppError)) throw error;
      deps.log.warn("task.follow_failed", { task: taskId, sandbox: sandboxId, reason: error.message });
      return undefined;
    });
    if (moved !== undefined) changed.push(taskId);
  }
  await refreshAround(deps, changed);
  if (changed.length > 0) {
    deps.wake("tend-tasks");
    deps.wake("advance-tickets");
  }
  return { moved: changed.length };
}
