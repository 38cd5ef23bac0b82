/** A sign of trouble: measured, never guessed, and always with the events that make it. */
import type { SeenEvent } from "../watch-facts.ts";

export const SIGNALS = [
  "repeated_tool",
  "error_streak",
  "no_progress",
  "token_burn",
  "outside_ownership",
  "constraint_broken",
  "context_full",
  "waiting_for_answer",
  "finished_not_ended",
] as const;
/** What is measured, and what a model made of it. */
export type SignalName = (typeof SIGNALS)[number] | "judged_drift";

/** `note` is worth knowing, `warning` worth a word to the agent, `critical` worth a person. */
export type SignalLevel = "note" | "warning" | "critical";

export interface Signal {
  readonly signal: SignalName;
  readonly level: SignalLevel;
  /** The events that make it, oldest first. */
  readonly seqs: readonly number[];
  readonly detail: string;
}

/** What is known of a run besides its log. */
export interface RunContext {
  /** Globs of files that its task may change; empty: all. */
  readonly ownedFiles: readonly string[];
  readonly prompt: string;
  /** Tokens that the model takes at once; null: unknown. */
  readonly contextTokens: number | null;
  /** What each model takes at once, for runs whose model is known from their calls alone. */
  readonly windows?: readonly ModelWindow[];
}

export interface ModelWindow {
  /** A model's name; a star stands for anything. */
  readonly model: string;
  readonly contextTokens: number | null;
}

/** Whether a sign holds, does not hold yet although the agent goes on as before, or is gone. */
export type Standing = "there" | "lingering" | "gone";

/** Contract: `fold` is pure and its state is JSON of bounded size; `read` gives a signal that holds now, or none. `lingers`: whether the agent,
 *  since it was last told something, does it again in however small a measure; left out where `read` sees the first time. */
export interface Detector<State> {
  readonly initial: State;
  fold(state: State, event: SeenEvent, run: RunContext): State;
  read(state: State, run: RunContext, nowMs: number): Signal | undefined;
  lingers?(state: State): boolean;
}

const CITED = 12;

/** The newest of the events that make a signal: enough to look at. */
export const cite = (seqs: readonly number[]): readonly number[] => seqs.slice(-CITED);
