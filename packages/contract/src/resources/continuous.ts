/** Work in iterations, until evidence says that it is done or a limit is reached. */
import { z } from "zod";

/** What can be looked at: nothing uncommitted; a commit since the start; the branch at its remote is what is here; the tests pass. */
export const Evidence = z.enum(["clean", "committed", "pushed", "tests"]);
export type Evidence = z.infer<typeof Evidence>;

export const ContinuousOptions = z.strictObject({
  max_iterations: z.int().positive().max(1_000).default(10),
  max_cost_usd: z.number().positive().default(20),
  max_duration_s: z.int().positive().max(604_800).default(3_600),
  /** In a row. */
  max_errors: z.int().positive().max(100).default(3),
  /** Without it: what the execution mode and the repository ask for. Nothing to look at: one iteration is enough. */
  require: z.array(Evidence).max(4).optional(),
  /** The word by which the agent says that it is done. It is told and counted, and decides nothing. */
  completion_signal: z.string().trim().min(1).max(200).default("TASK_COMPLETE"),
  /** So many iterations in a row that say it begin the count again: what they claim was looked at each time. */
  completion_threshold: z.int().positive().max(100).default(1),
  /** Run in the workspace; its exit code is the evidence. */
  test_command: z.array(z.string().min(1).max(4_096)).min(1).max(100).optional(),
});
export type ContinuousOptions = z.infer<typeof ContinuousOptions>;
