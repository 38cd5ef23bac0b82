/** Which ready task comes first: priority, age, deadline, dependents that wait, retries that are left. */
import type { Config, Priority } from "@drover/contract";

export interface ScoreWeights {
  readonly priority: number;
  readonly age: number;
  readonly deadline: number;
  readonly blockers: number;
  readonly retries: number;
  readonly ageCeilingSeconds: number;
  readonly urgencySeconds: number;
  readonly starvationSeconds: number;
  readonly blockerCeiling: number;
  readonly urgencyBoost: number;
  readonly starvationFloor: number;
}

export const toScoreWeights = (config: Config): ScoreWeights => ({
  priority: config.queueWeightPriority,
  age: config.queueWeightAge,
  deadline: config.queueWeightDeadline,
  blockers: config.queueWeightBlockers,
  retries: config.queueWeightRetries,
  ageCeilingSeconds: config.queueAgeCeilingSeconds,
  urgencySeconds: config.queueUrgencySeconds,
  // Nobody starves while it still grows riper.
  starvationSeconds: Math.max(config.queueStarvationSeconds, config.queueAgeCeilingSeconds),
  blockerCeiling: config.queueBlockerCeiling,
  urgencyBoost: config.queueUrgencyBoost,
  starvationFloor: config.queueStarvationFloor,
});

export interface Scored {
  readonly priority: string;
  readonly created_at: Date;
  readonly deadline_at: Date | null;
  /** Pending tasks that depend on it. */
  readonly blockers: number;
  readonly retry_count: number;
  readonly max_retries: number;
}

const PRIORITY_VALUES: Readonly<Record<Priority, number>> = { CRITICAL: 1, HIGH: 0.75, MEDIUM: 0.5, LOW: 0.25 };
const UNKNOWN_PRIORITY = 0.25;

const valueOf = (priority: string): number =>
  Object.hasOwn(PRIORITY_VALUES, priority) ? PRIORITY_VALUES[priority as Priority] : UNKNOWN_PRIORITY;

const urgencyOf = (slack: number | undefined, windowSeconds: number): number => {
  if (slack === undefined) return 0;
  return slack < 0 ? 1 : Math.max(0, 1 - slack / windowSeconds);
};

export function toScore(task: Scored, weights: ScoreWeights, now: Date): number {
  const age = Math.max(0, (now.getTime() - task.created_at.getTime()) / 1_000);
  const slack = task.deadline_at === null ? undefined : (task.deadline_at.getTime() - now.getTime()) / 1_000;
  const sum =
    weights.priority * valueOf(task.priority) +
    weights.age * Math.min(age / weights.ageCeilingSeconds, 1) +
    weights.deadline * urgencyOf(slack, weights.urgencySeconds) +
    weights.blockers * Math.min(task.blockers / weights.blockerCeiling, 1) +
    weights.retries * Math.max(0, 1 - task.retry_count / Math.max(task.max_retries, 1));
  const isUrgent = slack !== undefined && slack >= 0 && slack <= weights.urgencySeconds;
  const score = isUrgent ? sum * weights.urgencyBoost : sum;
  return age >= weights.starvationSeconds ? Math.max(score, weights.starvationFloor) : score;
}
