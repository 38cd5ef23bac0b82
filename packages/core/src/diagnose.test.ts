import { expect, test } from "vitest";
import { classifyErrors, decideStuck, diagnose, toRecovery, type StuckFacts } from "./diagnose.ts";

const LIMITS = { coolDownMs: 60_000, stuckMs: 60_000, mostFailedRuns: 3, mostRuns: 10 };
const NOW = 10_000_000;
const stuck: StuckFacts = {
  isDone: false,
  isHeld: false,
  tasks: 2,
  active: 0,
  completed: 1,
  failed: 1,
  lastEndedMs: NOW - 60_000,
  runs: 0,
  lastRunMs: null,
  failedRuns: 0,
  isRecoveredInVain: false,
};

test.for([
  ["everything has failed and rests", {}, "stuck"],
  ["it is done", { isDone: true }, "not_stuck"],
  ["it has no task", { tasks: 0, failed: 0, completed: 0 }, "not_stuck"],
  ["something still runs", { active: 1 }, "not_stuck"],
  ["nothing has failed", { failed: 0 }, "not_stuck"],
  ["somebody holds it back", { isHeld: true }, "held"],
  ["a recovery came to its end in vain", { isRecoveredInVain: true }, "needs_person"],
  ["three recoveries failed in a row", { failedRuns: 3, runs: 3 }, "gave_up"],
  ["two recoveries failed in a row", { failedRuns: 2, runs: 2 }, "stuck"],
  ["there were ten", { runs: 10 }, "limit_reached"],
  ["the last one is fresh", { runs: 1, lastRunMs: NOW - 59_999 }, "cooling_down"],
  ["its last task ended just now", { lastEndedMs: NOW - 59_999 }, "too_early"],
] as const)("a ticket, when %s", ([, change, verdict]) => {
  expect(decideStuck({ ...stuck, ...change }, LIMITS, NOW)).toBe(verdict);
});

test.for([
  [["Sandbox spawn failed: no space left"], "environment"],
  [["3 tests fail", "lint complains", "network is down"], "failing_checks"],
  [["unclear which form is meant"], "waiting_on_clarification"],
  [["something odd"], "failing_checks"],
  [[], "dependency"],
] as const)("what %j speaks of", ([errors, cause]) => expect(classifyErrors(errors)).toBe(cause));

test("a diagnosis names its evidence and what speaks against it, and fits into a task", () => {
  const failed = [
    { id: "a", title: "the form", error: "2 tests fail", tries: 4, outcomes: ["failed"] },
    { id: "b", title: "the page", error: "heartbeat_timeout", tries: 1, outcomes: ["lost"] },
    { id: "c", title: "the list", error: "assertion failed", tries: 1, outcomes: ["failed"] },
  ];
  const diagnosis = diagnose(failed);
  expect(diagnosis.hypotheses[0]).toMatchObject({
    likelihood: 2 / 3,
    supporting_evidence: expect.arrayContaining(['"the form" failed after 4 tries: 2 tests fail']),
    counterpoints: ["1 of 3 failures say something else"],
  });
  expect(diagnosis.confidence).toBe(0.7);
  expect(toRecovery("x".repeat(5_000), diagnosis)).toHaveLength(2_000);
});
