/** Settings of supervision. Names keep the original's environment variables where they exist. */
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
  judgeModel: {
    env: "GUARDIAN_JUDGE_MODEL",
    yaml: "monitoring.judge_model",
    schema: z
      .string()
      .regex(/^(?:anthropic|openai|openai-chat|compatible|google):.+$/, "is vendor:model")
      .optional(),
    doc: "A model that also judges runs, as `vendor:model` with the vendors anthropic, openai, openai-chat, compatible and google; without it measured signs decide alone.",
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
} as const;
