import fc from "fast-check";
import { expect, test } from "vitest";
import { fullBucket, takeTokens, type Bucket } from "./token-bucket.ts";

const Rule = fc.record({ perSecond: fc.integer({ min: 1, max: 1_000 }), burst: fc.integer({ min: 1, max: 10_000 }) });
const Steps = fc.array(fc.record({ waitMs: fc.nat(5_000), units: fc.integer({ min: 1, max: 1_000 }) }), {
  maxLength: 100,
});

test("over any time no more is granted than the burst, one batch over it, and what refilled", () => {
  fc.assert(
    fc.property(Rule, Steps, (rule, steps) => {
      let bucket: Bucket = fullBucket(rule, 0);
      let nowMs = 0;
      let granted = 0;
      let largest = 0;
      for (const { waitMs, units } of steps) {
        nowMs += waitMs;
        const decision = takeTokens(rule, bucket, units, nowMs);
        bucket = decision.bucket;
        if (!decision.ok) continue;
        granted += units;
        largest = Math.max(largest, units);
      }
      const over = Math.max(0, largest - rule.burst);
      expect(granted).toBeLessThanOrEqual(rule.burst + over + (nowMs / 1_000) * rule.perSecond + 1e-6);
    }),
  );
});

test("whoever waits as long as told is served", () => {
  fc.assert(
    fc.property(Rule, Steps, fc.integer({ min: 1, max: 20_000 }), (rule, steps, units) => {
      let bucket: Bucket = fullBucket(rule, 0);
      let nowMs = 0;
      for (const step of steps) {
        nowMs += step.waitMs;
        bucket = takeTokens(rule, bucket, step.units, nowMs).bucket;
      }
      const first = takeTokens(rule, bucket, units, nowMs);
      if (first.ok) return;
      expect(Number.isInteger(first.retryAfterSeconds) && first.retryAfterSeconds >= 1).toBe(true);
      expect(takeTokens(rule, first.bucket, units, nowMs + first.retryAfterSeconds * 1_000).ok).toBe(true);
    }),
  );
});

test("a refusal takes nothing, and a clock that goes back gives nothing", () => {
  fc.assert(
    fc.property(Rule, fc.integer({ min: 1, max: 100 }), fc.nat(10_000), (rule, units, backMs) => {
      const empty: Bucket = { tokens: 0, atMs: 100_000 };
      const refused = takeTokens(rule, empty, units, 100_000 - backMs);
      expect(refused.ok).toBe(false);
      expect(refused.bucket.tokens).toBe(0);
    }),
  );
});
