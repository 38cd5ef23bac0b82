import { decideRetry, isRetryable, mergeResults, parseVerdict, toSimilarity } from "@drover/core";
import fc from "fast-check";
import { expect, test } from "vitest";

const PASSING = [
  "connection reset",
  "Timeout",
  "network is down",
  "temporary",
  "503 Unavailable",
  "",
  "whatever",
  "OOM",
];
const LASTING = [
  "Permission denied",
  "authentication failed",
  "SyntaxError: syntax error near x",
  "file Not Found",
  "already exists",
  "rate limit exceeded after a timeout",
];
test("an error that is known to last is not tried again, any other is", () => {
  for (const error of PASSING) expect(isRetryable(error), error).toBe(true);
  for (const error of LASTING) expect(isRetryable(error), error).toBe(false);
});

test("waits double, spread by a quarter, and end at a minute; no more tries than allowed", () => {
  fc.assert(
    fc.property(
      fc.nat(12),
      fc.nat(12),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (retryCount, maxRetries, random) => {
        const decision = decideRetry({ error: "network", retryCount, maxRetries }, 1, random);
        expect(decision.retry).toBe(retryCount < maxRetries);
        if (!decision.retry) return;
        const plain = 2 ** retryCount;
        expect(decision.delaySeconds).toBeGreaterThanOrEqual(Math.min(60, plain * 0.75));
        expect(decision.delaySeconds).toBeLessThanOrEqual(Math.min(60, plain * 1.25));
      },
    ),
  );
});

test("results are merged as their strategy says", () => {
  const sources = [
    { taskId: "1", result: { a: 1, b: 1 } },
    { taskId: "2", result: { b: 2, c: 2 } },
  ];
  expect(mergeResults("combine", sources)).toEqual({
    a: 1,
    b: 1,
    c: 2,
    _source_results: { "1": { a: 1, b: 1 }, "2": { b: 2, c: 2 } },
  });
  expect(mergeResults("union", sources)).toEqual({ a: 1, b: 2, c: 2 });
  expect(mergeResults("intersection", sources)).toEqual({ b: 2 });
});

test("a verdict is read from the last line that is one", () => {
  expect(parseVerdict('I looked.\n{"passed": false, "feedback": "no tests", "recommendations": ["add", 1]}')).toEqual({
    passed: false,
    feedback: "no tests",
    recommendations: ["add"],
  });
  expect(parseVerdict('{"passed": false}\nthen\n`{"passed": true, "feedback": "ok"}`')).toMatchObject({ passed: true });
  for (const text of ["", "passed", '{"passed": "yes"}', "{passed: true}"]) expect(parseVerdict(text)).toBeUndefined();
});

test("texts are as alike as the pairs of letters they share", () => {
  expect(toSimilarity("Fix the login page", "fix the  LOGIN page!")).toBe(1);
  expect(toSimilarity("Fix the login page", "Fix the login pages")).toBeGreaterThan(0.9);
  expect(toSimilarity("Fix the login page", "Write a changelog")).toBeLessThan(0.4);
  expect(toSimilarity("", "")).toBe(1);
});
