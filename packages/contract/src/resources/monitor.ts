/** What the monitor measures and finds: figures over time, anomalies, the state of its passes. */
import { z } from "zod";
import { ProjectId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { GuardianAnalysis, Supervision } from "./supervision.ts";
import { PhaseId } from "./ticket.ts";

/** What is measured, in which unit, and how many measurements become one: the mean of a standing, the sum of what happened. */
export const METRICS = {
  queue_depth: { unit: "tasks", fold: "mean", doc: "Tasks that wait to be started." },
  time_to_assign_seconds: { unit: "seconds", fold: "mean", doc: "How long tasks waited that were assigned lately." },
  event_rate: { unit: "events/s", fold: "mean", doc: "Events stored in a second." },
  event_lag_seconds: { unit: "seconds", fold: "max", doc: "How long the oldest event waits that was not passed on." },
  task_failures: { unit: "tasks", fold: "sum", doc: "Tries of tasks that failed." },
  active_sandboxes: { unit: "sandboxes", fold: "mean", doc: "Sandboxes that run or are about to." },
  sandbox_age_seconds: { unit: "seconds", fold: "max", doc: "Age of the oldest active sandbox." },
  tokens: { unit: "tokens", fold: "sum", doc: "Tokens of model calls." },
  cost_usd: { unit: "usd", fold: "sum", doc: "What model calls cost." },
  alignment: { unit: "share", fold: "mean", doc: "How far running agents keep to their goals, as judged." },
  coherence: { unit: "share", fold: "mean", doc: "How well running agents stand together." },
  stuck_sandboxes: { unit: "sandboxes", fold: "max", doc: "Sandboxes that are idle, stuck or silent." },
  waiting_for_answer: { unit: "sandboxes", fold: "max", doc: "Sandboxes whose agent waits for a person." },
  interventions: { unit: "interventions", fold: "sum", doc: "What the guardian did." },
} as const satisfies Record<string, { unit: string; fold: "mean" | "sum" | "max"; doc: string }>;

export const MetricName = z.enum(Object.keys(METRICS) as [keyof typeof METRICS, ...(keyof typeof METRICS)[]]);
export type MetricName = z.infer<typeof MetricName>;

export const MetricsQuery = z
  .strictObject({
    metric: z.union([z.array(MetricName).max(50), MetricName.transform((one) => [one])]).optional(),
    from: Timestamp.optional(),
    to: Timestamp.optional(),
    /** About how many points a series has. */
    points: z.coerce.number().int().min(10).max(1_000).default(120),
    project_id: ProjectId.optional(),
    /** Of tasks in this phase, and of what works at them; `event_lag_seconds` and `coherence` are of no phase. */
    phase_id: PhaseId.optional(),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || Date.parse(from) < Date.parse(to), {
    path: ["from"],
    message: "lies before `to`",
  });
export type MetricsQuery = z.infer<typeof MetricsQuery>;

export const MetricSeries = z.object({
  metric: MetricName,
  unit: z.string(),
  /** Oldest first; null where nothing was measured. */
  points: z.array(z.object({ at: Timestamp, value: z.number().nullable() })),
});

export const Metrics = z.object({
  from: Timestamp,
  to: Timestamp,
  step_seconds: z.int().positive(),
  series: z.array(MetricSeries),
});
export type Metrics = z.infer<typeof Metrics>;

export const AnomalyId = z
  .string()
  .regex(/^ano-[0-9a-f]{12}$/)
  .brand<"AnomalyId">();
export type AnomalyId = z.infer<typeof AnomalyId>;

export const AnomalySeverity = z.enum(["warning", "critical"]);

/** A run that behaves unlike the others, several readings in a row. */
export const Anomaly = z.object({
  id: AnomalyId,
  sandbox_id: SandboxId,
  project_id: ProjectId,
  /** 0 to 1. */
  score: z.number(),
  severity: AnomalySeverity,
  /** What makes the score, each 0 to 1. */
  parts: z.object({ latency: z.number(), errors: z.number(), resources: z.number(), queue: z.number() }),
  readings: z.int().positive(),
  created_at: Timestamp,
  acknowledged_at: Timestamp.nullable(),
  acknowledged_by: z.string().nullable(),
});
export type Anomaly = z.infer<typeof Anomaly>;

export const MonitorStatus = z.object({
  running: z.boolean(),
  started_at: Timestamp,
  config: z.object({
    guardian_interval_seconds: z.number(),
    conductor_interval_seconds: z.number(),
    health_check_interval_seconds: z.number(),
    guardian_mode: z.string(),
    max_concurrent_analyses: z.int(),
    /** Whether a model judges too. */
    judge: z.boolean(),
  }),
  /** Passes of this process since it started. */
  loops: z.array(
    z.object({
      name: z.string(),
      every_seconds: z.number(),
      cycles: z.int().nonnegative(),
      failed: z.int().nonnegative(),
      last_started_at: Timestamp.nullable(),
      last_duration_ms: z.number().nullable(),
      last_error: z.string().nullable(),
    }),
  ),
  metrics: z.object({
    total_cycles: z.int().nonnegative(),
    successful_cycles: z.int().nonnegative(),
    failed_cycles: z.int().nonnegative(),
    /** Null before the first cycle. */
    success_rate: z.number().nullable(),
    total_interventions: z.int().nonnegative(),
  }),
});

/** A look on demand: what is measured now, and the newest verdict if there is one. */
export const RunLook = Supervision.extend({ analysis: GuardianAnalysis.nullable() });
export type RunLook = z.infer<typeof RunLook>;

export const EmergencyLook = z.union([
  z.array(SandboxId).min(1).max(20),
  z.strictObject({ sandbox_ids: z.array(SandboxId).min(1).max(20) }),
]);
