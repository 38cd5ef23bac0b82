/** How much each sandbox and each address may ask of this process. */
import { fullBucket, takeTokens, type Bucket, type BucketRule } from "@drover/core";
import { AppError, type Config } from "@drover/contract";
import type { Clock } from "../ports/clock.ts";

const REMEMBERED = 20_000;

export interface RateLimits {
  /** Takes all or none; a refused caller keeps its events and comes again. */
  takeEvents(sandboxId: string, count: number): void;
  /** Counted before it is tried, so that many at once are not more than many one after another. */
  takeLogin(address: string): void;
  /** What was no failed attempt does not count. */
  returnLogin(address: string): void;
}

function openBuckets(rule: BucketRule, clock: Clock) {
  const buckets = new Map<string, Bucket>();
  return (key: string, units: number) => {
    const nowMs = clock.now().getTime();
    if (buckets.size > REMEMBERED) buckets.clear();
    const decision = takeTokens(rule, buckets.get(key) ?? fullBucket(rule, nowMs), units, nowMs);
    buckets.set(key, decision.bucket);
    return decision;
  };
}

export function openRateLimits(config: Config, clock: Clock): RateLimits {
  const events = openBuckets({ perSecond: config.eventsPerSecond, burst: config.eventBurst }, clock);
  const logins = openBuckets(
    { perSecond: config.loginAttemptsPerMinute / 60, burst: config.loginAttemptsPerMinute },
    clock,
  );
  const refuse = (retryAfterSeconds: number, detail: string) =>
    new AppError("request.rate_limited", detail, { retryAfterSeconds });
  return {
    takeEvents: (sandboxId, count) => {
      const decision = events(sandboxId, count);
      if (!decision.ok)
        throw refuse(decision.retryAfterSeconds, `a sandbox sends at most ${config.eventsPerSecond} events a second`);
    },
    takeLogin: (address) => {
      const decision = logins(address, 1);
      if (!decision.ok) throw refuse(decision.retryAfterSeconds, "too many failed logins from this address");
    },
    returnLogin: (address) => void logins(address, -1),
  };
}
