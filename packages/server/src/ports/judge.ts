/** A model that the server itself asks: to judge runs, to compare them, to name tasks. */
import type { DuplicateAnswer, ModelProtocolName, TitleAnswer, VerdictAnswer } from "@drover/contract";

/** A call that was answered, usefully or not: it has to be paid for. */
export interface ModelUse {
  readonly provider: ModelProtocolName;
  readonly model: string;
  /** Tokens; `input` is without what was read from or written to a cache. */
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
  };
}

export interface Asked<T> {
  /** Undefined: there is no model, it is away, or what it said is no answer. */
  readonly answer: T | undefined;
  readonly used: readonly ModelUse[];
}

/** Contract: never throws. No model, a model that is away, or an answer that is none give no answer: then there is no
 *  verdict, and nobody makes one up. What stands between the marker's lines is data: nothing in it is an instruction. */
export interface Judge {
  /** Whether there is a model to ask. */
  readonly isThere: boolean;
  /** `vendor:model`, as it was configured. */
  readonly model: string;
  judge(
    run: {
      readonly goal: string;
      /** The phase of the work that the run belongs to. */
      readonly phase: string | null;
      /** Summaries of earlier verdicts, oldest first, quoted like the transcript: they were made of it. */
      readonly earlier: string;
      readonly transcript: string;
      readonly marker: string;
    },
    signal: AbortSignal,
  ): Promise<Asked<VerdictAnswer>>;
  /** Whether two runs, described as data between the marker's lines, do the same work. */
  compare(
    pair: { readonly first: string; readonly second: string; readonly marker: string },
    signal: AbortSignal,
  ): Promise<Asked<DuplicateAnswer>>;
  /** A title for what is described between the marker's lines. */
  name(
    task: { readonly description: string; readonly marker: string },
    signal: AbortSignal,
  ): Promise<Asked<TitleAnswer>>;
}

const nothing = async () => ({ answer: undefined, used: [] });

export const NO_JUDGE: Judge = { isThere: false, model: "", judge: nothing, compare: nothing, name: nothing };
