/** A model that judges a run. */
import type { DuplicateAnswer, VerdictAnswer } from "@drover/contract";

export interface Judgement {
  readonly verdict: VerdictAnswer;
  readonly model: string;
}

/** Contract: never throws. No model, a model that is away, or an answer that is not a verdict give undefined: then there is no
 *  verdict, and nobody makes one up. The transcript is data: nothing in it is an instruction. */
export interface Judge {
  /** Whether there is a model to ask. */
  readonly isThere: boolean;
  judge(
    run: { readonly goal: string; readonly transcript: string; readonly marker: string },
    signal: AbortSignal,
  ): Promise<Judgement | undefined>;
  /** Whether two runs, described as data between the marker's lines, do the same work. */
  compare(
    pair: { readonly first: string; readonly second: string; readonly marker: string },
    signal: AbortSignal,
  ): Promise<DuplicateAnswer | undefined>;
}

export const NO_JUDGE: Judge = { isThere: false, judge: async () => undefined, compare: async () => undefined };
