/** How long to wait before trying again. */

const BACK_OFF = { firstMs: 250, lastMs: 15_000 } as const;

/** Doubles from 0.25 s to 15 s; the upper half is random, so that clients of a restarted server do not come back as one. */
export function toBackOffMs(attempt: number, random: number): number {
  const ceiling = Math.min(BACK_OFF.lastMs, BACK_OFF.firstMs * 2 ** Math.min(attempt, 20));
  return ceiling * (0.5 + 0.5 * random);
}
