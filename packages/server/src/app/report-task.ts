/** A worker says that its task is over. A claim: it counts for the sandbox's own task only, once, and is checked. */
import { AppError, type JsonObject, type TaskCompletion } from "@drover/contract";
import { loadAttemptOfSandbox, loadOpenAttempt } from "../store/task-attempts.ts";
import { lockTask } from "./change-task.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import { failWork, finishWork } from "./end-task.ts";
import { writeWithEvents } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { takeUpTask } from "./take-up-task.ts";
import { requireEvidence } from "./task-branch.ts";

const toResult = (body: TaskCompletion): JsonObject => ({
  ...body.result,
  ...(body.evidence === undefined || body.evidence === null
    ? {}
    : { evidence: JSON.parse(JSON.stringify(body.evidence)) as JsonObject }),
});

/** Said again, it answers as the first time and changes nothing. */
export async function completeTask(deps: Deps, worker: WorkerIdentity, body: TaskCompletion) {
  const sandbox = await loadForWorker(deps.db, worker);
  const attempt = await loadAttemptOfSandbox.maybe(deps.db, sandbox.id);
  const isNew = attempt === undefined && sandbox.task_id === body.task_id;
  if (!isNew && (attempt?.task_id !== body.task_id || attempt.kind !== "work"))
    throw new AppError("task.not_yours", "the sandbox was not made for this task");
  if (body.success) await requireEvidence(deps, sandbox, body.evidence ?? {});
  const settled = await writeWithEvents(deps, async (tx, append) => {
    const locked = await lockTask(tx, body.task_id);
    const taken = isNew ? await takeUpTask(tx, deps, locked, sandbox) : { row: locked, drafts: [] };
    const { row } = taken;
    const open = await loadOpenAttempt.maybe(tx, row.id);
    if (open?.sandbox_id !== sandbox.id) return { status: row.status, unblocked: [] };
    const moved = body.success
      ? await finishWork(tx, deps, row, open, toResult(body))
      : await failWork(tx, deps, row, open, {
          error: body.error_message ?? "the agent reported failure",
          outcome: "failed",
        });
    await append([...taken.drafts, ...moved.drafts]);
    return { status: moved.row.status, unblocked: moved.unblocked ?? [] };
  });
  await refreshAround(deps, [body.task_id]);
  deps.wake("advance-tickets");
  return {
    status: "accepted" as const,
    task_id: body.task_id,
    new_status: settled.status,
    unblocked_tasks: [...settled.unblocked],
  };
}
