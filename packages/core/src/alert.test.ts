import { expect, test } from "vitest";
import { decideAlert, type AlertStanding } from "./alert.ts";

const RULE = { comparison: "above", threshold: 10, forMs: 60_000, coolDownMs: 300_000 } as const;
const NOW = 1_000_000;
const quiet: AlertStanding = { value: 11, sinceMs: NOW - 60_000, isFiring: false, toldMs: null };

test.for([
  ["nothing was measured", { ...quiet, value: undefined }, { kind: "none" }],
  ["nothing was measured while it fires", { ...quiet, value: undefined, isFiring: true }, { kind: "none" }],
  ["it does not hold", { ...quiet, value: 10 }, { kind: "none" }],
  ["it holds since now", { ...quiet, sinceMs: null }, { kind: "wait" }],
  ["it holds, not long enough", { ...quiet, sinceMs: NOW - 59_999 }, { kind: "wait" }],
  ["it holds long enough", quiet, { kind: "fire", isQuiet: false }],
  ["it fires already", { ...quiet, isFiring: true }, { kind: "none" }],
  ["it is over", { ...quiet, value: 10, isFiring: true }, { kind: "resolve" }],
  ["people were told just before", { ...quiet, toldMs: NOW - 299_999 }, { kind: "fire", isQuiet: true }],
  ["people were told long ago", { ...quiet, toldMs: NOW - 300_000 }, { kind: "fire", isQuiet: false }],
] as const)("what a rule does when %s", ([, standing, act]) => {
  expect(decideAlert(RULE, standing, NOW)).toEqual(act);
});

test("below is below, and its edge is not", () => {
  const rule = { ...RULE, comparison: "below" as const, forMs: 0 };
  expect(decideAlert(rule, { ...quiet, value: 9.99 }, NOW)).toMatchObject({ kind: "fire" });
  expect(decideAlert(rule, { ...quiet, value: 10 }, NOW)).toEqual({ kind: "none" });
});
