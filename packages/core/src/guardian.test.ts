import { expect, test } from "vitest";
import {
  decideIntervention,
  decideOutcome,
  toNudge,
  type Aftermath,
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

test("nobody is paused or stopped because a person takes his time, or for having finished", () => {
  const tried = [past(), past(), past()];
  for (const name of ["waiting_for_answer", "finished_not_ended"] as const) {
    const history = tried.map((one) => ({ ...one, signal: name }));
    expect(decide([signal({ signal: name, level: "critical" })], history)).toBe("ask");
  }
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

const after: Aftermath = {
  rung: "nudge",
  isInjected: true,
  steps: 5,
  standing: "gone",
  isWorse: false,
  end: "none",
  elapsedMs: 60_000,
};
const LONG = 15 * 60_000;
/** Each row broken once: the line of the rule that decides it taken out. */
test.for([
  ["gone after enough steps", {}, "helped"],
  ["still there after enough steps", { standing: "there" }, "no_effect"],
  ["too few steps", { steps: 4 }, "pending"],
  ["it goes on as before, though not long enough to be a sign again", { standing: "lingering" }, "pending"],
  ["it has gone on as before for long", { standing: "lingering", elapsedMs: LONG }, "no_effect"],
  ["never given to the agent, and long ago", { isInjected: false, elapsedMs: LONG }, "no_effect"],
  ["never given to the agent, and just now", { isInjected: false }, "pending"],
  ["completed after it was told", { steps: 0, end: "completed" }, "helped"],
  ["completed before it was told", { isInjected: false, end: "completed" }, "no_effect"],
  ["completed, and the sign is there", { end: "completed", standing: "there" }, "no_effect"],
  ["ended by others although it had been told", { steps: 0, end: "ended" }, "no_effect"],
  ["ended by whoever was asked", { rung: "ask", steps: 0, end: "ended", standing: "there" }, "helped"],
  ["a person takes his time", { rung: "ask", steps: 0, elapsedMs: 60 * LONG, standing: "there" }, "pending"],
  ["no judge has looked since", { standing: "unknown", elapsedMs: 60 * LONG }, "pending"],
  ["no judge has looked since, and it completed", { standing: "unknown", end: "completed" }, "no_effect"],
  ["what followed was worse", { isWorse: true }, "harmful"],
  ["nothing was done but a note", { rung: "note", isWorse: true }, "no_effect"],
] as const)("an outcome is a rule: %s", ([, more, outcome]) =>
  expect(decideOutcome({ ...after, ...more })).toBe(outcome),
);
