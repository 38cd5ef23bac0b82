/** What supervision sees of a run and does about it. */
import { z } from "zod";
import { MessageId, ProjectId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const InterventionId = z
  .string()
  .regex(/^int-[0-9a-f]{12}$/)
  .brand<"InterventionId">();
export type InterventionId = z.infer<typeof InterventionId>;

/** A sign of trouble with the events that make it. */
export const SignalView = z.object({
  signal: z.string(),
  level: z.enum(["note", "warning", "critical"]),
  seqs: z.array(z.int().positive()),
  detail: z.string(),
});

export const Intervention = z.object({
  id: InterventionId,
  sandbox_id: SandboxId,
  project_id: ProjectId,
  signal: z.string(),
  level: SignalView.shape.level,
  /** How far the guardian went. */
  rung: z.enum(["note", "nudge", "ask", "pause", "stop"]),
  /** What the guardian was allowed to do: `shadow` only notes, `nudge` speaks and asks, `full` may pause and stop. */
  mode: z.enum(["shadow", "nudge", "full"]),
  reason: z.string(),
  seqs: SignalView.shape.seqs,
  message_id: MessageId.nullable(),
  /** The event by which the agent was given the message; null until then. */
  injected_seq: z.int().positive().nullable(),
  outcome: z.enum(["pending", "helped", "no_effect", "harmful"]),
  created_at: Timestamp,
  settled_at: Timestamp.nullable(),
});
export type Intervention = z.infer<typeof Intervention>;

export const Supervision = z.object({
  sandbox_id: SandboxId,
  /** Whether it is alive, busy, waiting, idle, stuck, done or dead; null until somebody has looked. */
  condition: z.string().nullable(),
  condition_since: Timestamp.nullable(),
  signals: z.array(SignalView),
  /** Up to which event this was seen. */
  cursor_seq: z.int().nonnegative(),
});
export type Supervision = z.infer<typeof Supervision>;

const VerdictDetails = z.object({
  /** How what is done fits the phase of the work. */
  phase_alignment: z.string(),
  constraint_violations: z.array(z.string()),
  missing_steps: z.array(z.string()),
  progress_indicators: z.array(z.string()),
  risk_factors: z.array(z.string()),
});

/** What a judge answers. Every field is there, because some vendors refuse optional ones. */
export const VerdictAnswer = z.object({
  trajectory_aligned: z.boolean(),
  alignment_score: z.number().min(0).max(1),
  needs_steering: z.boolean(),
  steering_type: z.enum(["guidance", "correction", "emergency"]).nullable(),
  steering_recommendation: z.string().nullable(),
  trajectory_summary: z.string(),
  current_focus: z.string(),
  /** What the run is for by now: the goal, and what was asked since. */
  accumulated_goal: z.string(),
  details: VerdictDetails,
  evidence: z.array(z.number().int()),
});
export type VerdictAnswer = z.infer<typeof VerdictAnswer>;

/** A verdict as it is kept: with what the server measured itself, because a model cannot know it. Null: kept before it was asked for. */
export const Verdict = z.object({
  ...VerdictAnswer.shape,
  accumulated_goal: z.string().nullable().default(null),
  details: VerdictDetails.nullable().default(null),
  /** Events of the run so far that tell what its agent did. */
  conversation_length: z.int().nonnegative().nullable().default(null),
  /** Seconds since the run began. */
  session_duration: z.number().nonnegative().nullable().default(null),
  /** The number of the last event in which the agent said something. */
  last_claude_message_marker: z.int().positive().nullable().default(null),
});
export type Verdict = z.infer<typeof Verdict>;

/** What a judge answers about two runs. */
export const DuplicateAnswer = z.object({
  is_duplicate: z.boolean(),
  similarity: z.number().min(0).max(1),
  description: z.string(),
});
export type DuplicateAnswer = z.infer<typeof DuplicateAnswer>;

/** What a model answers that is asked for a task's name. */
export const TitleAnswer = z.object({ title: z.string() });
export type TitleAnswer = z.infer<typeof TitleAnswer>;

export const AnalysisId = z
  .string()
  .regex(/^ana-[0-9a-f]{12}$/)
  .brand<"AnalysisId">();
export type AnalysisId = z.infer<typeof AnalysisId>;

export const GuardianAnalysis = z.object({
  id: AnalysisId,
  sandbox_id: SandboxId,
  project_id: ProjectId,
  model: z.string(),
  cursor_seq: z.int().nonnegative(),
  ...Verdict.shape,
  created_at: Timestamp,
});
export type GuardianAnalysis = z.infer<typeof GuardianAnalysis>;

export const ConductorAnalysis = z.object({
  id: z.string(),
  /** Null while nobody was judged: then there is no number. */
  coherence_score: z.number().nullable(),
  system_status: z.string(),
  num_agents: z.int().nonnegative(),
  duplicate_count: z.int().nonnegative().default(0),
  /** Agents whose last verdict says that they are done. */
  termination_count: z.int().nonnegative().default(0),
  /** Phases in which several agents work on what joins their work. */
  coordination_count: z.int().nonnegative().default(0),
  duplicates: z.array(z.object({ a: SandboxId, b: SandboxId, similarity: z.number(), files: z.array(z.string()) })),
  recommendations: z.array(z.string()),
  created_at: Timestamp,
});
export type ConductorAnalysis = z.infer<typeof ConductorAnalysis>;

export const MonitorHealth = z.object({
  active_agents: z.int().nonnegative(),
  /** Null while nobody was judged. */
  average_alignment: z.number().nullable(),
  agents_need_steering: z.int().nonnegative(),
  system_health: z.enum(["no_activity", "unknown", "optimal", "good", "warning", "critical"]),
  conditions: z.record(z.string(), z.int()),
  signals: z.record(z.string(), z.int()),
  phase_distribution: z.record(z.string(), z.int()),
  /** Of the newest verdicts that ask for steering. */
  steering_types: z.record(z.string(), z.int()),
  /** Pairs that seem to do the same work, as the conductor last saw it. */
  recent_duplicates: z.int().nonnegative(),
  last_analysis: Timestamp.nullable(),
});

export const Dashboard = z.object({
  total_tasks_pending: z.int().nonnegative(),
  total_tasks_completed: z.int().nonnegative(),
  active_agents: z.int().nonnegative(),
  stale_agents: z.int().nonnegative(),
  waiting_for_answer: z.int().nonnegative(),
  interventions_last_hour: z.int().nonnegative(),
  events_last_minute: z.int().nonnegative(),
  /** Tries under way that hold files of their own. */
  active_locks: z.int().nonnegative(),
  /** Of the last day, and nobody has acknowledged them. */
  recent_anomalies: z.int().nonnegative(),
  /** Critical alerts that fire now. */
  critical_alerts: z.int().nonnegative(),
});
