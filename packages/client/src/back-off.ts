/** How long to wait before trying again. */

const BACK_OFF = { firstMs: 250, lastMs: 3_000 } as const;

/** Doubles from 0.25 s to 3 s, so that everybody is back within 5 s of a server's return; the upper half is random, so that they do
 *  not come back as one. */
export function toBackOffMs(attempt: number, random: number): number {
  const ceiling = Math.min(BACK_OFF.lastMs, BACK_OFF.firstMs * 2 ** Math.min(attempt, 20));
  return ceiling * (0.5 + 0.5 * random);
}
