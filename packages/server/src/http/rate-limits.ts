/** How much each sandbox and each address may ask. */
import { AppError, type Config } from "@drover/contract";
import type { BucketKind, Buckets } from "../ports/buckets.ts";

export interface RateLimits {
  /** Takes all or none; a refused caller keeps its events and comes again. */
  takeEvents(sandboxId: string, count: number): Promise<void>;
  /** Counted before it is tried, so that many at once are not more than many one after another. */
  takeLogin(address: string): Promise<void>;
  /** What was no failed attempt does not count. */
  returnLogin(address: string): Promise<void>;
}

export function openRateLimits(config: Config, buckets: Buckets): RateLimits {
  const events: BucketKind = { name: "events", perSecond: config.eventsPerSecond, burst: config.eventBurst };
  const perMinute = config.loginAttemptsPerMinute;
  const logins: BucketKind = { name: "logins", perSecond: perMinute / 60, burst: perMinute };
  const take = async (kind: BucketKind, key: string, units: number, detail: string) => {
    const decision = await buckets.take(kind, key, units);
    if (decision.ok) return;
    throw new AppError("request.rate_limited", detail, { retryAfterSeconds: decision.retryAfterSeconds });
  };
  return {
    takeEvents: (sandboxId, count) =>
      take(events, sandboxId, count, `a sandbox sends at most ${config.eventsPerSecond} events a second`),
    takeLogin: (address) => take(logins, address, 1, "too many failed logins from this address"),
    returnLogin: async (address) => void (await buckets.take(logins, address, -1)),
  };
}
