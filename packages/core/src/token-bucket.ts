/** A rate limit that allows bursts: tokens refill with time and every unit of work takes one. */
export interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

export interface BucketRule {
  readonly perSecond: number;
  readonly burst: number;
}

export type BucketDecision =
  | { readonly ok: true; readonly bucket: Bucket }
  | { readonly ok: false; readonly bucket: Bucket; readonly retryAfterSeconds: number };

export const fullBucket = (rule: BucketRule, nowMs: number): Bucket => ({ tokens: rule.burst, atMs: nowMs });

/** Takes all of `units` or none. More than the burst can never be granted at once, so it is granted when the bucket is full. */
export function takeTokens(rule: BucketRule, bucket: Bucket, units: number, nowMs: number): BucketDecision {
  const elapsedSeconds = Math.max(0, nowMs - bucket.atMs) / 1_000;
  const tokens = Math.min(rule.burst, bucket.tokens + elapsedSeconds * rule.perSecond);
  const needed = Math.min(units, rule.burst);
  if (tokens >= needed) return { ok: true, bucket: { tokens: tokens - units, atMs: nowMs } };
  const retryAfterSeconds = Math.max(1, Math.ceil((needed - tokens) / rule.perSecond));
  return { ok: false, bucket: { tokens, atMs: nowMs }, retryAfterSeconds };
}
