/** A corpus of recorded sessions, made from a seed: each kind of trouble, and each kind of healthy run that resembles one. */
import { type Chance, createChance } from "../chance.ts";
import { breakConstraint, keepConstraint, leaveOwnership, stayInOwnership } from "./bounded-sessions.ts";
import * as healthy from "./healthy-sessions.ts";
import type { RecordedSession } from "@drover/contract";
import * as troubled from "./troubled-sessions.ts";

const KINDS = {
  repeated_tool: troubled.loopOverCalls,
  error_streak: troubled.failInARow,
  no_progress: troubled.goInCircles,
  token_burn: troubled.burnTokens,
  outside_ownership: leaveOwnership,
  constraint_broken: breakConstraint,
  context_full: troubled.fillContext,
  waiting_for_answer: troubled.waitUnanswered,
  finished_not_ended: troubled.lingerAfterEnd,
  healthy_short_fix: healthy.fixShortly,
  healthy_test_driven: healthy.driveByTests,
  healthy_exploration: healthy.exploreFar,
  healthy_slow_build: healthy.buildSlowly,
  healthy_polling: healthy.pollDeployment,
  healthy_debugging: healthy.debugLong,
  healthy_refactoring: healthy.refactorWidely,
  healthy_answered: healthy.askAndGetAnswer,
  healthy_constraint_kept: keepConstraint,
  healthy_ownership_kept: stayInOwnership,
  healthy_finished: healthy.finishProperly,
  healthy_reread: healthy.rereadEdited,
} as const satisfies Readonly<Record<string, troubled.Generate>>;

export type SessionKind = keyof typeof KINDS;

export const SESSION_KINDS = Object.keys(KINDS) as readonly SessionKind[];

const generateSession = (kind: SessionKind, random: Chance, name: string = kind): RecordedSession =>
  KINDS[kind](name, random);

/** `perKind` sessions of each kind. Each has a seed of its own, so that a kind more leaves the others as they were. */
export const generateCorpus = (seed: number, perKind: number): readonly RecordedSession[] =>
  SESSION_KINDS.flatMap((kind) =>
    Array.from({ length: perKind }, (_, index) =>
      generateSession(kind, createChance(toSeed(`${seed}/${kind}/${index}`)), `${kind}-${seed}-${index}`),
    ),
  );

/** FNV-1a, mixed once more: seeds that lie near each other would begin alike. */
function toSeed(text: string): number {
  let hash = 0x811c9dc5;
  for (const letter of text) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
