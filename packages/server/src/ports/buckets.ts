/** How much each caller has taken lately, counted together by all processes that can. */
import type { BucketDecision, BucketRule } from "@drover/core";

export interface BucketKind extends BucketRule {
  /** Of callers: their keys are apart from those of other kinds. */
  readonly name: string;
}

/** Contract: `take` takes all of `units` or none, never fails, and never waits long: what cannot be counted together is counted by this process
 *  alone, by the same rule. Negative units give back. How many keys are remembered is bounded; keys are not kept as they are. */
export interface Buckets {
  take(kind: BucketKind, key: string, units: number): Promise<BucketDecision>;
  close(): Promise<void>;
}
