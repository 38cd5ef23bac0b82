/** Settings of supervision. */
import { z } from "zod";

const positive = z.coerce.number().positive();

export const SUPERVISION_OPTIONS = {
  deadThresholdSeconds: {
    env: "DEAD_THRESHOLD_SECONDS",
    yaml: "monitoring.dead_threshold_seconds",
    schema: positive,
    fallback: "120",
    doc: "A worker that is silent for so long is dead; at least four heartbeats.",
  },
  idleDetectionEnabled: {
    env: "IDLE_DETECTION_ENABLED",
    yaml: "monitoring.idle_detection_enabled",
    schema: z.stringbool(),
    fallback: "true",
    doc: "Whether agents that are idle or stuck are nudged, and stopped if that does not move them; the dead are ended in any case.",
  },
  idleCheckIntervalSeconds: {
    env: "IDLE_CHECK_INTERVAL_SECONDS",
    yaml: "monitoring.idle_check_interval_seconds",
    schema: positive,
    fallback: "5",
    doc: "How often every run's condition is looked at, in seconds.",
  },
  idleThresholdMinutes: {
    env: "IDLE_THRESHOLD_MINUTES",
    yaml: "monitoring.idle_threshold_minutes",
    schema: positive,
    fallback: "10",
    doc: "An agent that rests for so long is nudged.",
  },
  stuckThresholdMinutes: {
    env: "STUCK_THRESHOLD_MINUTES",
    yaml: "monitoring.stuck_threshold_minutes",
    schema: positive,
    fallback: "15",
    doc: "An agent that says it works, names no tool and shows nothing for so long is nudged.",
  },
  nudgeGraceMinutes: {
    env: "NUDGE_GRACE_MINUTES",
    yaml: "monitoring.nudge_grace_minutes",
    schema: positive,
    fallback: "5",
    doc: "How long a nudged agent has before it is stopped.",
  },
  guardianMode: {
    env: "GUARDIAN_MODE",
    yaml: "monitoring.guardian_mode",
    schema: z.enum(["shadow", "nudge", "full"]),
    fallback: "nudge",
    doc: "How far the guardian may go: `shadow` notes, `nudge` also speaks to the agent and asks people, `full` also pauses and stops.",
  },
  autoSteeringEnabled: {
    env: "MONITORING_AUTO_STEERING_ENABLED",
    yaml: "monitoring.auto_steering_enabled",
    schema: z.stringbool(),
    fallback: "true",
    doc: "Without it the guardian only notes, whatever its mode.",
  },
  judgeModel: {
    env: "GUARDIAN_JUDGE_MODEL",
    yaml: "monitoring.judge_model",
    schema: z
      .string()
      .regex(/^(?:anthropic|openai|openai-chat|compatible|google):.+$/, "is vendor:model")
      .optional(),
    doc: "A model that also judges runs, as `vendor:model` with the vendors anthropic, openai, openai-chat, compatible and google; without it measured signs decide alone.",
  },
  llmAnalysisEnabled: {
    env: "MONITORING_LLM_ANALYSIS_ENABLED",
    yaml: "monitoring.llm_analysis_enabled",
    schema: z.stringbool(),
    fallback: "true",
    doc: "Without it no model judges or compares runs, even if one is named.",
  },
  maxConcurrentAnalyses: {
    env: "MONITORING_MAX_CONCURRENT_ANALYSES",
    yaml: "monitoring.max_concurrent_analyses",
    schema: z.coerce.number().int().positive().max(100),
    fallback: "5",
    doc: "How many runs the guardian looks at at once.",
  },
  guardianIntervalSeconds: {
    env: "MONITORING_GUARDIAN_INTERVAL_SECONDS",
    yaml: "monitoring.guardian_interval_seconds",
    schema: positive,
    fallback: "60",
    doc: "How often the guardian looks at every run, in seconds.",
  },
  conductorIntervalSeconds: {
    env: "MONITORING_CONDUCTOR_INTERVAL_SECONDS",
    yaml: "monitoring.conductor_interval_seconds",
    schema: positive,
    fallback: "300",
    doc: "How often it is looked at how the running agents stand together, in seconds.",
  },
  healthCheckIntervalSeconds: {
    env: "MONITORING_HEALTH_CHECK_INTERVAL_SECONDS",
    yaml: "monitoring.health_check_interval_seconds",
    schema: z.coerce.number().min(30).max(300),
    fallback: "30",
    doc: "How often health and figures are measured and alert rules decided, in seconds.",
  },
  guardianCoolDownSeconds: {
    env: "GUARDIAN_COOL_DOWN_SECONDS",
    yaml: "monitoring.guardian_cool_down_seconds",
    schema: positive,
    fallback: "300",
    doc: "The guardian says nothing to an agent so soon after its last word.",
  },
  guardianMaxInterventions: {
    env: "GUARDIAN_MAX_INTERVENTIONS",
    yaml: "monitoring.guardian_max_interventions",
    schema: z.coerce.number().int().positive(),
    fallback: "5",
    doc: "How often the guardian intervenes in one sandbox at the most, notes not counted.",
  },
  diagnosticEnabled: {
    env: "DIAGNOSTIC_ENABLED",
    yaml: "diagnostic.enabled",
    schema: z.stringbool(),
    fallback: "true",
    doc: "Whether a stuck ticket of an autonomous project gets a task that is to set it going again.",
  },
  diagnosticCoolDownSeconds: {
    env: "DIAGNOSTIC_COOLDOWN_SECONDS",
    yaml: "diagnostic.cooldown_seconds",
    schema: positive,
    fallback: "60",
    doc: "The pause between two looks into one stuck ticket.",
  },
  diagnosticStuckSeconds: {
    env: "DIAGNOSTIC_MIN_STUCK_TIME_SECONDS",
    yaml: "diagnostic.min_stuck_time_seconds",
    schema: positive,
    fallback: "60",
    doc: "How long nothing of a ticket has run before it counts as stuck.",
  },
  diagnosticMaxFailures: {
    env: "DIAGNOSTIC_MAX_CONSECUTIVE_FAILURES",
    yaml: "diagnostic.max_consecutive_failures",
    schema: z.coerce.number().int().positive(),
    fallback: "3",
    doc: "After so many recoveries of one ticket that failed in a row only a person helps.",
  },
  diagnosticMaxRuns: {
    env: "DIAGNOSTIC_MAX_DIAGNOSTICS_PER_WORKFLOW",
    yaml: "diagnostic.max_diagnostics_per_workflow",
    schema: z.coerce.number().int().positive(),
    fallback: "10",
    doc: "How often one ticket is looked into at the most.",
  },
} as const;
