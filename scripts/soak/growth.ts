/** Whether a figure grew: by the slope of its second half, and by what is left at the end. */

export interface Sample {
  readonly minute: number;
  readonly value: number;
}

export interface Allowance {
  /** In the unit of the figure. */
  readonly atLeast: number;
  /** Of the median of the second half. */
  readonly share: number;
}

export interface Growth {
  /** What the slope of the second half adds over that half. */
  readonly grown: number;
  readonly allowed: number;
  readonly isGrown: boolean;
}

function toMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/** The median of the slopes of all pairs (Theil and Sen): a few outliers, of a garbage collection say, do not turn it. */
function toSlope(samples: readonly Sample[]): number {
  const slopes: number[] = [];
  for (const [index, first] of samples.entries()) {
    for (const second of samples.slice(index + 1)) {
      if (second.minute > first.minute) slopes.push((second.value - first.value) / (second.minute - first.minute));
    }
  }
  return toMedian(slopes);
}

/** The first half is warm-up: caches fill, the compiler works, the heap finds its size. */
export function toGrowth(samples: readonly Sample[], { atLeast, share }: Allowance): Growth {
  const half = samples.slice(Math.floor(samples.length / 2));
  const minutes = (half.at(-1)?.minute ?? 0) - (half[0]?.minute ?? 0);
  const grown = toSlope(half) * minutes;
  const allowed = Math.max(atLeast, share * toMedian(half.map(({ value }) => value)));
  return { grown, allowed, isGrown: grown > allowed };
}
