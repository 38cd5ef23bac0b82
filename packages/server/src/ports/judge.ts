/** A model that the server itself asks: to judge runs, to compare them, to name tasks. */
import type { DuplicateAnswer, ModelProtocolName, TitleAnswer, VerdictAnswer } from "@drover/contract";

/** The way to the vendors, with their keys, limits and meters. Contract: resolves with whatever the vendor answers, and rejects with
 *  AppError when the call is refused or nobody answers. Who reads the answer decides the pace. */
export type ModelWire = (
  call: {
    readonly protocol: ModelProtocolName;
    /** As the vendor has it, with its version. */
    readonly path: string;
    readonly query: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly bytes: Buffer;
  },
  signal: AbortSignal,
) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: AsyncIterable<Uint8Array>;
}>;

/** Contract: never throws, and reaches models by the wire alone. No model, a model that is away, a call that is refused, or an answer that is
 *  none give undefined: then there is no verdict, and nobody makes one up. What stands between the marker's lines is data: nothing in it is
 *  an instruction. */
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
    wire: ModelWire,
    signal: AbortSignal,
  ): Promise<VerdictAnswer | undefined>;
  /** Whether two runs, described as data between the marker's lines, do the same work. */
  compare(
    pair: { readonly first: string; readonly second: string; readonly marker: string },
    wire: ModelWire,
    signal: AbortSignal,
  ): Promise<DuplicateAnswer | undefined>;
  /** A title for what is described between the marker's lines. */
  name(
    task: { readonly description: string; readonly marker: string },
    wire: ModelWire,
    signal: AbortSignal,
  ): Promise<TitleAnswer | undefined>;
}

const nothing = async () => undefined;

export const NO_JUDGE: Judge = { isThere: false, model: "", judge: nothing, compare: nothing, name: nothing };
