/** A model's verdict on a run: data that is believed only where it cites events that it was shown. */
import type { Signal } from "./signals/signal.ts";

export interface RunVerdict {
  readonly trajectory_aligned: boolean;
  readonly alignment_score: number;
  readonly needs_steering: boolean;
  readonly steering_type: "guidance" | "correction" | "emergency" | null;
  readonly steering_recommendation: string | null;
  readonly trajectory_summary: string;
  readonly current_focus: string;
  readonly evidence: readonly number[];
}

const GUIDANCE_BELOW = 0.6;
const EMERGENCY_BELOW = 0.2;
const ADVICE_CHARACTERS = 500;

/** Every cited event must be one that the model was shown, and something must be cited; a verdict that contradicts itself is none. */
export function isSound(verdict: RunVerdict, shown: ReadonlySet<number>): boolean {
  const isBacked = verdict.evidence.length > 0 && verdict.evidence.every((seq) => shown.has(seq));
  const isInRange = verdict.alignment_score >= 0 && verdict.alignment_score <= 1;
  return isBacked && isInRange && !(verdict.needs_steering && verdict.alignment_score >= GUIDANCE_BELOW);
}

/** What the ladder makes of it. */
export function toVerdictSignal(verdict: RunVerdict): Signal | undefined {
  if (!verdict.needs_steering || verdict.alignment_score >= GUIDANCE_BELOW) return undefined;
  const advice = (verdict.steering_recommendation ?? verdict.trajectory_summary).replaceAll(/\s+/g, " ").trim();
  return {
    signal: "judged_drift",
    level: verdict.alignment_score < EMERGENCY_BELOW ? "critical" : "warning",
    seqs: verdict.evidence,
    detail: advice.slice(0, ADVICE_CHARACTERS),
  };
}

export interface QuotedEvent {
  readonly seq: number;
  readonly event_type: string;
  readonly text: string;
}

const LINE_CHARACTERS = 600;

/** The transcript as quoted data: whatever stands in it cannot know the marker that ends it. */
export function toTranscript(events: readonly QuotedEvent[], marker: string): string {
  const lines = events.map(
    ({ seq, event_type, text }) =>
      `#${seq} ${event_type}: ${text.replaceAll(/\s+/g, " ").replaceAll(marker, "").slice(0, LINE_CHARACTERS)}`,
  );
  return [`<<<${marker}`, ...lines, `${marker}>>>`].join("\n");
}
