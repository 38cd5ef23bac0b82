/** Tickets that are stuck and runs that stand out, and what was found out about them. */
import { z } from "zod";
import { ProjectId, SandboxId, TaskId, TicketId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const DiagnosticRunId = z
  .string()
  .regex(/^dia-[0-9a-f]{12}$/)
  .brand<"DiagnosticRunId">();
export type DiagnosticRunId = z.infer<typeof DiagnosticRunId>;

export const StuckTicket = z.object({
  ticket_id: TicketId,
  project_id: ProjectId,
  title: z.string(),
  total_tasks: z.int().nonnegative(),
  done_tasks: z.int().nonnegative(),
  failed_tasks: z.int().nonnegative(),
  /** Null: nothing of it has ended yet. */
  seconds_since_last_task: z.number().nullable(),
  diagnostic_runs: z.int().nonnegative(),
  /** `stuck` is looked into next; the others say why not. */
  verdict: z.enum(["stuck", "held", "needs_person", "gave_up", "limit_reached", "cooling_down", "too_early"]),
});
export type StuckTicket = z.infer<typeof StuckTicket>;

export const DiagnosisView = z.object({
  root_cause: z.string(),
  hypotheses: z.array(
    z.object({
      statement: z.string(),
      likelihood: z.number(),
      supporting_evidence: z.array(z.string()),
      counterpoints: z.array(z.string()),
    }),
  ),
  recommendations: z.array(
    z.object({
      description: z.string(),
      priority: z.enum(["LOW", "MEDIUM", "HIGH"]),
      estimated_effort: z.enum(["S", "M", "L"]),
      creates_followup_task: z.boolean(),
    }),
  ),
  confidence: z.number(),
});

export const DiagnosticRun = z.object({
  id: DiagnosticRunId,
  /** The ticket; null for a run without one. */
  workflow_id: TicketId.nullable(),
  ticket_id: TicketId.nullable(),
  project_id: ProjectId,
  /** `anomaly`: a sandbox that stood out was looked into while it worked on. */
  trigger: z.enum(["automatic", "manual", "anomaly"]),
  sandbox_id: SandboxId.nullable(),
  /** Follows the recovery task: running while it is open, then as it ended. Without one it is over at once. */
  status: z.enum(["running", "completed", "failed"]),
  total_tasks_at_trigger: z.int().nonnegative(),
  done_tasks_at_trigger: z.int().nonnegative(),
  failed_tasks_at_trigger: z.int().nonnegative(),
  time_since_last_task_seconds: z.number().nullable(),
  diagnosis: DiagnosisView,
  /** Null: nothing had to be set going again. */
  diagnostic_task_id: TaskId.nullable(),
  tasks_created_ids: z.array(TaskId),
  triggered_at: Timestamp,
  completed_at: Timestamp.nullable(),
});
export type DiagnosticRun = z.infer<typeof DiagnosticRun>;
