/** All signs of trouble, folded together: one state per run that can be stored, one list of what holds now. */
import type { Json, JsonObject } from "@drover/contract";
import { HEARTBEATS } from "./event-traits.ts";
import { constraintBroken } from "./signals/constraint-broken.ts";
import { contextFull } from "./signals/context-full.ts";
import { errorStreak } from "./signals/error-streak.ts";
import { finishedNotEnded } from "./signals/finished-not-ended.ts";
import { noProgress } from "./signals/no-progress.ts";
import { outsideOwnership } from "./signals/outside-ownership.ts";
import { repeatedTool } from "./signals/repeated-tool.ts";
import type { Detector, RunContext, Signal, SIGNALS, Standing } from "./signals/signal.ts";
import { CALLS, RESULTS } from "./signals/tool-call.ts";
import { tokenBurn } from "./signals/token-burn.ts";
import { waitingForAnswer } from "./signals/waiting-for-answer.ts";
import type { SeenEvent } from "./watch-facts.ts";

export * from "./signals/signal.ts";

/** Each detector's state is its own affair; here it is only carried. */
const DETECTORS: { readonly [Name in (typeof SIGNALS)[number]]: Detector<never> } = {
  repeated_tool: repeatedTool as Detector<never>,
  error_streak: errorStreak as Detector<never>,
  no_progress: noProgress as Detector<never>,
  token_burn: tokenBurn as Detector<never>,
  outside_ownership: outsideOwnership as Detector<never>,
  constraint_broken: constraintBroken as Detector<never>,
  context_full: contextFull as Detector<never>,
  waiting_for_answer: waitingForAnswer as Detector<never>,
  finished_not_ended: finishedNotEnded as Detector<never>,
};
const ENTRIES = Object.entries(DETECTORS);

/** Events of which supervision reads more than that they were: of all others their bodies need not be fetched. */
export const SUPERVISED_BODIES: readonly string[] = [
  ...HEARTBEATS,
  ...CALLS,
  ...RESULTS,
  "agent.file_edited",
  "agent.usage",
  "agent.started",
  "agent.message_injected",
  "agent.processing",
  "MESSAGE_QUEUED",
  "agent.permission_requested",
  "agent.permission_answered",
];

export type SignalStates = JsonObject;

export const NO_SIGNAL_STATES: SignalStates = Object.fromEntries(
  ENTRIES.map(([name, detector]): [string, Json] => [name, detector.initial]),
);

/** A state that an older version stored, or that is missing, begins again. */
const stateOf = (states: SignalStates, name: string, detector: Detector<never>): never =>
  (states[name] ?? detector.initial) as never;

/** The same states, not a copy, where nothing changed: most events concern few detectors. */
export function foldSignals(states: SignalStates, event: SeenEvent, run: RunContext): SignalStates {
  let folded: { [name: string]: Json } | undefined;
  for (const [name, detector] of ENTRIES) {
    const before = stateOf(states, name, detector);
    const after: Json = detector.fold(before, event, run);
    if (after !== states[name]) (folded ??= { ...states })[name] = after;
  }
  return folded ?? states;
}

/** What became of one sign. */
export function readStanding(states: SignalStates, name: string, run: RunContext, nowMs: number): Standing {
  const detector = new Map(ENTRIES).get(name);
  if (detector === undefined) return "gone";
  const state = stateOf(states, name, detector);
  if (detector.read(state, run, nowMs) !== undefined) return "there";
  return detector.lingers?.(state) === true ? "lingering" : "gone";
}

export const readSignals = (states: SignalStates, run: RunContext, nowMs: number): readonly Signal[] =>
  ENTRIES.flatMap(([name, detector]) => detector.read(stateOf(states, name, detector), run, nowMs) ?? []);
