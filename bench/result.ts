/** What a benchmark prints, one line of JSON per figure, and how it is read back. */
import { z } from "zod";

export const Result = z.strictObject({
  /** The row of the targets: `P1`. */
  id: z.string().regex(/^P\d+[a-z]?$/),
  title: z.string().min(1),
  /** The figure, in `unit`. */
  ours: z.number(),
  /** The floor or peer, measured in the same run, in `unit`; `null` where the target is absolute. */
  floor: z.number().nullable(),
  /** `ours / floor`; `null` without a floor. */
  ratio: z.number().nullable(),
  /** In words: `>= 0.6 of the floor`. */
  target: z.string().min(1),
  met: z.boolean(),
  /** How many samples the percentiles come from. */
  n: z.int().positive(),
  p50: z.number(),
  p95: z.number(),
  p99: z.number(),
  unit: z.string().min(1),
  /** What a reader must know: sizes, rounds, what was left out. */
  note: z.string().default(""),
});
export type Result = z.infer<typeof Result>;

const MARK = "bench-result ";

export function report(result: z.input<typeof Result>): void {
  console.log(MARK + JSON.stringify(Result.parse(result)));
}

export const parseResults = (output: string): readonly Result[] =>
  output
    .split("\n")
    .filter((line) => line.startsWith(MARK))
    .map((line) => Result.parse(JSON.parse(line.slice(MARK.length))));

/** By nearest rank, so that each figure is one that was measured. */
export function toPercentiles(samples: readonly number[]): { p50: number; p95: number; p99: number } {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
