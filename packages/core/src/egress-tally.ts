/** Decisions about egress on their way into a log: every one is counted, few are written, however many there are. */
import { fullBucket, takeTokens, type Bucket } from "./token-bucket.ts";

export interface EgressFact {
  readonly host: string;
  readonly port: number;
  readonly decision: "allowed" | "refused" | "failed";
  readonly reason: string | null;
}

export type CountedEgress = EgressFact & { readonly count: number };

export interface EgressTally {
  readonly bucket: Bucket;
  readonly waiting: readonly CountedEgress[];
}

/** A flood of a whole day writes 2,880 events and these forty. */
const RULE = { perSecond: 1 / 30, burst: 40 };
const TOLD_APART = 50;
/** Stands for all hosts that there were too many of to tell apart. */
const OTHERS = { host: "*", port: 0, reason: "more_than_are_told_apart" };

export const emptyTally = (nowMs: number): EgressTally => ({ bucket: fullBucket(RULE, nowMs), waiting: [] });

const isSame = (one: EgressFact, other: EgressFact) =>
  one.host === other.host && one.port === other.port && one.decision === other.decision && one.reason === other.reason;

const add = (waiting: readonly CountedEgress[], fact: EgressFact): readonly CountedEgress[] =>
  waiting.some((one) => isSame(one, fact))
    ? waiting.map((one) => (isSame(one, fact) ? { ...one, count: one.count + 1 } : one))
    : [...waiting, { ...fact, count: 1 }];

const count = (waiting: readonly CountedEgress[], fact: EgressFact): readonly CountedEgress[] =>
  waiting.length < TOLD_APART || waiting.some((one) => isSame(one, fact))
    ? add(waiting, fact)
    : add(waiting, { ...OTHERS, decision: fact.decision });

export const foldEgress = (tally: EgressTally, fact: EgressFact): EgressTally => ({
  ...tally,
  waiting: count(tally.waiting, fact),
});

/** What may be written now, oldest first, and what goes on waiting. */
export function pickTold(
  tally: EgressTally,
  nowMs: number,
): { readonly tally: EgressTally; readonly told: readonly CountedEgress[] } {
  let bucket = tally.bucket;
  const told: CountedEgress[] = [];
  for (const one of tally.waiting) {
    const taken = takeTokens(RULE, bucket, 1, nowMs);
    bucket = taken.bucket;
    if (!taken.ok) break;
    told.push(one);
  }
  return { tally: { bucket, waiting: tally.waiting.slice(told.length) }, told };
}
