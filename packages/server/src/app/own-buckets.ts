/** Buckets of this process alone. */
import { fullBucket, takeTokens, type Bucket } from "@drover/core";
import type { OwnBuckets } from "../ports/buckets.ts";
import type { Clock } from "../ports/clock.ts";

/** Of each kind. */
const REMEMBERED = 20_000;

export function openOwnBuckets(clock: Clock): OwnBuckets {
  const kinds = new Map<string, Map<string, Bucket>>();
  const takeNow: OwnBuckets["takeNow"] = (kind, key, units) => {
    const nowMs = clock.now().getTime();
    const buckets = kinds.get(kind.name) ?? new Map<string, Bucket>();
    kinds.set(kind.name, buckets);
    if (buckets.size > REMEMBERED) buckets.clear();
    const { bucket, ...answer } = takeTokens(kind, buckets.get(key) ?? fullBucket(kind, nowMs), units, nowMs);
    buckets.set(key, bucket);
    return answer;
  };
  return { takeNow, take: async (kind, key, units) => takeNow(kind, key, units), close: async () => undefined };
}
