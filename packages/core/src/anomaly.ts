/** Whether a run behaves unlike the others: a score from latency, errors, resources and what waits for it; and what that speaks of. */
import type { Diagnosis } from "./diagnose.ts";

export interface AnomalyReading {
  readonly id: string;
  /** Mean seconds from call to result; null when no call ended. */
  readonly latency: number | null;
  readonly results: number;
  readonly errors: number;
  /** All tokens of the run so far. */
  readonly tokens: number;
  /** Pending tasks that wait for the run's own. */
  readonly held: number;
  readonly before: AnomalyState | null;
}

/** What one reading leaves for the next. */
export interface AnomalyState {
  /** Moving average of the share of calls that failed. */
  readonly errorRate: number;
  readonly tokens: number;
  /** Readings in a row at or above the threshold. */
  readonly streak: number;
}

export interface AnomalyParts {
  readonly latency: number;
  readonly errors: number;
  readonly resources: number;
  readonly queue: number;
}

export interface AnomalyScore {
  readonly id: string;
  readonly score: number;
  readonly parts: AnomalyParts;
  readonly state: AnomalyState;
  /** Only at the reading that completes the row: one spell is told once. */
  readonly isNew: boolean;
}

const WEIGHTS: AnomalyParts = { latency: 0.35, errors: 0.3, resources: 0.2, queue: 0.15 };
const ALPHA = 0.1;
const THRESHOLD = 0.8;
const ANOMALY_READINGS = 3;
export const CRITICAL_SCORE = 0.9;
/** Standard deviations, multiples of the mean and waiting tasks at which a part is full. */
const FULL_DEVIATIONS = 3;
const FULL_MULTIPLE = 5;
const FULL_QUEUE = 10;
/** With fewer to compare with nothing is unlike the others. */
const FEWEST_PEERS = 3;

const clamp = (value: number): number => Math.min(1, Math.max(0, value));
const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Against the others: one that is compared with itself can never be far off in a small group. */
function scoreLatency(latency: number | null, others: readonly number[]): number {
  if (latency === null || others.length < FEWEST_PEERS) return 0;
  const average = mean(others);
  const deviation = Math.sqrt(mean(others.map((one) => (one - average) ** 2)));
  // Those who are all alike still differ by a tenth.
  return clamp((latency - average) / Math.max(deviation, average / 10, 0.001) / FULL_DEVIATIONS);
}

function scoreResources(spent: number, others: readonly number[]): number {
  if (others.length < FEWEST_PEERS) return 0;
  const average = mean(others);
  return average === 0 ? 0 : clamp((spent / average - 1) / (FULL_MULTIPLE - 1));
}

export function scoreAnomalies(readings: readonly AnomalyReading[]): readonly AnomalyScore[] {
  const spentOf = ({ tokens, before }: AnomalyReading) => Math.max(0, tokens - (before?.tokens ?? 0));
  return readings.map((one) => {
    const others = readings.filter(({ id }) => id !== one.id);
    const rate = one.results === 0 ? 0 : one.errors / one.results;
    const errorRate =
      one.before === null
        ? rate
        : one.results === 0
          ? one.before.errorRate
          : (1 - ALPHA) * one.before.errorRate + ALPHA * rate;
    const parts = {
      latency: scoreLatency(
        one.latency,
        others.flatMap(({ latency }) => latency ?? []),
      ),
      errors: clamp(errorRate),
      resources: scoreResources(spentOf(one), others.map(spentOf)),
      queue: clamp(one.held / FULL_QUEUE),
    };
    const score =
      WEIGHTS.latency * parts.latency +
      WEIGHTS.errors * parts.errors +
      WEIGHTS.resources * parts.resources +
      WEIGHTS.queue * parts.queue;
    const streak = score >= THRESHOLD - Number.EPSILON ? (one.before?.streak ?? 0) + 1 : 0;
    return {
      id: one.id,
      score,
      parts,
      state: { errorRate, tokens: one.tokens, streak },
      isNew: streak === ANOMALY_READINGS,
    };
  });
}

/** What each part speaks of when it is high. */
const MEANINGS: Readonly<Record<keyof AnomalyParts, { readonly statement: string; readonly advice: string }>> = {
  latency: {
    statement: "its calls take far longer than those of the others",
    advice:
      "Look at the call that runs: a build or a test may hang, or the sandbox may be short of processor or network.",
  },
  errors: {
    statement: "most of its calls fail",
    advice: "Read the first failing call; the surroundings may lack what the task needs.",
  },
  resources: {
    statement: "it uses many more tokens than the others",
    advice: "See whether it reads the same things again, and whether its task is too large to be one.",
  },
  queue: {
    statement: "many tasks wait for its own",
    advice: "Tell it what matters most, or let what waits for it begin without it.",
  },
};

const toShare = (value: number): number => Math.round(value * 100) / 100;

/** By rule: the parts that make the score, the heaviest first. It works on, so nothing has to be set going again. */
export function diagnoseAnomaly(score: number, parts: AnomalyParts): Diagnosis {
  const names = Object.keys(MEANINGS) as (keyof AnomalyParts)[];
  const heavy = names
    .map((name) => ({ name, share: score === 0 ? 0 : (WEIGHTS[name] * parts[name]) / score }))
    .filter(({ share }) => share > 0)
    .toSorted((a, b) => b.share - a.share);
  return {
    root_cause: heavy[0] === undefined ? "nothing stands out any more" : MEANINGS[heavy[0].name].statement,
    hypotheses: heavy.map(({ name, share }) => ({
      statement: MEANINGS[name].statement,
      likelihood: toShare(share),
      supporting_evidence: [`${name} ${toShare(parts[name])} of 1, in ${ANOMALY_READINGS} readings in a row`],
      counterpoints: [],
    })),
    recommendations: heavy.slice(0, 2).map(({ name }) => ({
      description: MEANINGS[name].advice,
      priority: score >= CRITICAL_SCORE ? ("HIGH" as const) : ("MEDIUM" as const),
      estimated_effort: "S" as const,
      creates_followup_task: false,
    })),
    confidence: toShare(Math.min(score, 0.9)),
  };
}
