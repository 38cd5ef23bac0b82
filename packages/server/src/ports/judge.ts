/** A model that judges a run. */
import type { VerdictAnswer } from "@drover/contract";

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
}

export const NO_JUDGE: Judge = { isThere: false, judge: async () => undefined };
