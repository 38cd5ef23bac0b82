/** Buckets of this process alone. */
import { fullBucket, takeTokens, type Bucket, type BucketDecision } from "@drover/core";
import type { BucketKind, Buckets } from "../ports/buckets.ts";
import type { Clock } from "../ports/clock.ts";

/** Of each kind. */
const REMEMBERED = 20_000;

export interface OwnBuckets extends Buckets {
  takeNow(kind: BucketKind, key: string, units: number): BucketDecision;
}

export function openMemoryBuckets(clock: Clock): OwnBuckets {
  const kinds = new Map<string, Map<string, Bucket>>();
  const takeNow: OwnBuckets["takeNow"] = (kind, key, units) => {
    const nowMs = clock.now().getTime();
    const buckets = kinds.get(kind.name) ?? new Map<string, Bucket>();
    kinds.set(kind.name, buckets);
    if (buckets.size > REMEMBERED) buckets.clear();
    const decision = takeTokens(kind, buckets.get(key) ?? fullBucket(kind, nowMs), units, nowMs);
    buckets.set(key, decision.bucket);
    return decision;
  };
  return { takeNow, take: async (kind, key, units) => takeNow(kind, key, units), close: async () => undefined };
}
