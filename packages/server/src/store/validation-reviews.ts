/** What validators said. */
import type { SandboxId, TaskId } from "@drover/contract";
import { type JsonObject } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";
import { SAMPLE_TASK } from "./tasks.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

export interface ReviewDraft {
  readonly task_id: TaskId;
  readonly sandbox_id: SandboxId;
  readonly iteration_number: number;
  readonly validation_passed: boolean;
  readonly feedback: string;
  readonly evidence: JsonObject | null;
  readonly recommendations: readonly string[];
}

export const insertReview = command(
  "validation_reviews.insert",
  [
    {
      task_id: SAMPLE_TASK,
      sandbox_id: SAMPLE_SANDBOX,
      iteration_number: 1,
      validation_passed: true,
      feedback: "",
      evidence: null,
      recommendations: [],
    },
  ],
  (draft: ReviewDraft) => sql`
  insert into validation_reviews (task_id, sandbox_id, iteration_number, validation_passed, feedback, evidence, recommendations)
  values (${draft.task_id}, ${draft.sandbox_id}, ${draft.iteration_number}, ${draft.validation_passed}, ${draft.feedback},
    ${draft.evidence === null ? null : json(draft.evidence)}::jsonb, ${json(draft.recommendations)}::jsonb)`,
);

export const loadReviewOf = query(
  "validation_reviews.of_sandbox",
  z.object({ validation_passed: z.boolean() }),
  [SAMPLE_TASK, SAMPLE_SANDBOX],
  (taskId: string, sandboxId: SandboxId) => sql`
  select validation_passed from validation_reviews where task_id = ${taskId} and sandbox_id = ${sandboxId} order by id desc limit 1`,
);
