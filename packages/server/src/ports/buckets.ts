/** How much each caller has taken lately, counted together by all processes that can. */

export interface BucketKind {
  /** Of callers: their keys are apart from those of other kinds. */
  readonly name: string;
  readonly perSecond: number;
  readonly burst: number;
}

export type BucketAnswer = { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** Contract: `take` takes all of `units` or none, never fails, and never waits long: what cannot be counted together is counted by this process
 *  alone, by the same rule. Negative units give back. How many keys are remembered is bounded; keys are not kept as they are. */
export interface Buckets {
  take(kind: BucketKind, key: string, units: number): Promise<BucketAnswer>;
  close(): Promise<void>;
}

/** Those of one process: they answer at once. */
export interface OwnBuckets extends Buckets {
  takeNow(kind: BucketKind, key: string, units: number): BucketAnswer;
}
