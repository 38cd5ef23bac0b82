/** A second agent looks at the work of the first: its verdict counts only from the sandbox that was made for it. */
import { parseVerdict, type Review } from "@drover/core";
import { AppError, type JsonObject, type ValidationVerdict } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { endAttempt, loadOpenAttempt, type AttemptRow } from "../store/task-attempts.ts";
import type { TaskRow } from "../store/tasks.ts";
import { insertReview, loadReviewOf } from "../store/validation-reviews.ts";
import { draftTaskEvent, lockTask, moveTask, type Moved } from "./change-task.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { refreshAround } from "./requeue-tasks.ts";

interface Judgement extends Review {
  readonly evidence: JsonObject | null;
}

async function judge(tx: Db, deps: Deps, row: TaskRow, attempt: AttemptRow, verdict: Judgement): Promise<Moved> {
  const iteration = row.validation_iteration;
  await insertReview(tx, {
    task_id: row.id,
    sandbox_id: attempt.sandbox_id,
    iteration_number: iteration,
    validation_passed: verdict.passed,
    feedback: verdict.feedback,
    evidence: verdict.evidence,
    recommendations: verdict.recommendations,
  });
  const outcome = verdict.passed ? "passed" : "rejected";
  await endAttempt(tx, attempt.sandbox_id, { outcome, error: null, result: null, at: deps.clock.now() });
  const told = { iteration, feedback: verdict.feedback, sandbox_id: attempt.sandbox_id };
  if (verdict.passed) {
    const patch = { review_done: true, last_validation_feedback: verdict.feedback };
    const moved = await moveTask(tx, deps, row, { on: "validation_passed", patch });
    return {
      row: moved.row,
      drafts: [draftTaskEvent(deps, moved.row, "TASK_VALIDATION_PASSED", told), ...moved.drafts],
    };
  }
  const feedback = [verdict.feedback, ...verdict.recommendations.map((one) => `- ${one}`)].join("\n");
  const rejected = await moveTask(tx, deps, row, {
    on: "validation_failed",
    patch: { last_validation_feedback: feedback },
  });
  const failed = draftTaskEvent(deps, rejected.row, "TASK_VALIDATION_FAILED", {
    ...told,
    recommendations: verdict.recommendations,
  });
  const isLast = iteration >= deps.config.maxValidationIterations;
  const error = `validation failed ${iteration} times: ${verdict.feedback}`;
  const after = isLast
    ? await moveTask(tx, deps, rejected.row, { on: "failed", patch: { error_message: error }, reason: error })
    : await moveTask(tx, deps, rejected.row, { on: "revised", patch: { not_before: null }, reason: "to be revised" });
  return { row: after.row, drafts: [failed, ...rejected.drafts, ...after.drafts] };
}

const MUTE_LIMIT = 3;

/** A validator that could not be made, or said nothing: another looks, unless that was tried often enough. */
export async function awaitValidator(
  tx: Db,
  deps: Deps,
  row: TaskRow,
  error: string,
  restSeconds: number,
): Promise<Moved> {
  if (row.retry_count >= Math.max(row.max_retries, MUTE_LIMIT))
    return moveTask(tx, deps, row, { on: "failed", patch: { error_message: error }, reason: error });
  const notBefore = restSeconds === 0 ? null : new Date(deps.clock.now().getTime() + restSeconds * 1_000);
  const patch = { retry_count: row.retry_count + 1, claimed_by: null, not_before: notBefore };
  return moveTask(tx, deps, row, { on: "released", patch, reason: error });
}

/** A validator that ended: with a verdict in its last words, or without one, and then another looks. */
export async function settleValidation(
  tx: Db,
  deps: Deps,
  row: TaskRow,
  attempt: AttemptRow,
  completed: JsonObject,
): Promise<Moved> {
  const said = completed["final_output"];
  const verdict = typeof said === "string" ? parseVerdict(said) : undefined;
  if (verdict !== undefined) return judge(tx, deps, row, attempt, { ...verdict, evidence: null });
  const error = "the validator ended without a verdict";
  await endAttempt(tx, attempt.sandbox_id, { outcome: "failed", error, result: null, at: deps.clock.now() });
  return awaitValidator(tx, deps, row, error, 0);
}

/** The same verdict twice counts once. */
export async function reportValidation(deps: Deps, worker: WorkerIdentity, body: ValidationVerdict) {
  await loadForWorker(deps.db, worker);
  const after = await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, body.task_id);
    const attempt = await loadOpenAttempt.maybe(tx, row.id);
    if (attempt?.sandbox_id !== worker.sandboxId || attempt.kind !== "validation") {
      const known = await loadReviewOf.maybe(tx, row.id, worker.sandboxId);
      if (known?.validation_passed === body.passed) return row;
      throw new AppError("task.not_yours", "only the sandbox that validates the task may judge it");
    }
    const recommendations = body.recommendations ?? [];
    const verdict = { passed: body.passed, feedback: body.feedback, recommendations, evidence: body.evidence ?? null };
    const { row: judged, drafts } = await judge(tx, deps, row, attempt, verdict);
    await append(drafts);
    return judged;
  });
  await refreshAround(deps, [after.id]);
  deps.wake("advance-tickets");
  const revised = after.status === "pending" ? ("needs_revision" as const) : after.status;
  return {
    status: "accepted" as const,
    task_id: after.id,
    validation_passed: body.passed,
    new_task_status: revised,
  };
}
