import { expect, test } from "vitest";
import {
  decideIntervention,
  decideOutcome,
  toNudge,
  type GuardianSettings,
  type PastIntervention,
} from "./guardian.ts";
import type { Signal } from "./signals/signal.ts";

const SETTINGS: GuardianSettings = { mode: "full", coolDownMs: 300_000, mostPerSandbox: 4 };
const NOW = 10_000_000;
const signal = (more: Partial<Signal> = {}): Signal => ({
  signal: "error_streak",
  level: "warning",
  seqs: [1, 2],
  detail: "5 errors in a row",
  ...more,
});
const past = (more: Partial<PastIntervention> = {}): PastIntervention => ({
  signal: "error_streak",
  rung: "nudge",
  atMs: NOW - 600_000,
  outcome: "no_effect",
  ...more,
});
const decide = (
  signals: readonly Signal[],
  history: readonly PastIntervention[] = [],
  more: Partial<GuardianSettings> = {},
) => decideIntervention(signals, history, { ...SETTINGS, ...more }, NOW)?.rung;

test("no sign, no word", () => expect(decide([])).toBeUndefined());

test("the ladder goes up only when what was tried did not help", () => {
  expect(decide([signal()])).toBe("nudge");
  expect(decide([signal()], [past({ outcome: "helped" })])).toBe("nudge");
  expect(decide([signal()], [past()])).toBe("ask");
  expect(decide([signal()], [past(), past({ rung: "ask" })])).toBe("pause");
  expect(decide([signal()], [past(), past(), past()])).toBe("stop");
  expect(decide([signal({ signal: "no_progress" })], [past()])).toBe("nudge");
});

test("each mode goes so far and no further", () => {
  const loop = [signal({ signal: "repeated_tool", level: "critical" })];
  expect(decide(loop, [], { mode: "shadow" })).toBe("note");
  expect(decide(loop, [], { mode: "nudge" })).toBe("ask");
  expect(decide(loop, [], { mode: "full" })).toBe("pause");
});

test("nothing is said while it is not known whether the last word helped, within the cool-down, or beyond the maximum", () => {
  expect(decide([signal()], [past({ outcome: "pending" })])).toBeUndefined();
  expect(decide([signal()], [past({ signal: "token_burn", atMs: NOW - 1_000 })])).toBeUndefined();
  expect(decide([signal()], [past(), past(), past(), past()])).toBeUndefined();
});

test("a note is told once and does not silence the guardian", () => {
  const note = signal({ signal: "context_full", level: "note" });
  expect(decide([note])).toBe("note");
  expect(decide([note], [past({ signal: "context_full", rung: "note", outcome: "pending" })])).toBeUndefined();
  expect(decide([note, signal()], [past({ signal: "context_full", rung: "note", atMs: NOW })])).toBe("nudge");
});

test("a nudge says what was seen", () => {
  expect(toNudge({ signal: signal(), rung: "nudge" })).toMatch(
    /^\[GUARDIAN INTERVENTION - guidance\] .*5 errors in a row/,
  );
});

const after = { isInjected: true, steps: 5, isStillThere: false, isWorse: false, isEnded: false, elapsedMs: 60_000 };
test.for([
  ["gone after enough steps", after, "helped"],
  ["still there after enough steps", { ...after, isStillThere: true }, "no_effect"],
  ["too few steps", { ...after, steps: 4 }, "pending"],
  ["never given to the agent, and long ago", { ...after, isInjected: false, elapsedMs: 15 * 60_000 }, "no_effect"],
  ["never given to the agent, and just now", { ...after, isInjected: false }, "pending"],
  ["the run ended without it", { ...after, steps: 0, isEnded: true }, "helped"],
  ["what followed was worse", { ...after, isWorse: true }, "harmful"],
] as const)("an outcome is a rule: %s", ([, aftermath, outcome]) => expect(decideOutcome(aftermath)).toBe(outcome));
