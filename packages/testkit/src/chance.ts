/** Chance that can be repeated: the same seed gives the same plan. */
export interface Chance {
  /** At least `min`, at most `max`. */
  int(min: number, max: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  isIn(percent: number): boolean;
}

/** `mulberry32`: small, and good enough to spread kills. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return {
    int,
    pick: (list) => list[int(0, list.length - 1)] ?? list[0],
    isIn: (percent) => next() * 100 < percent,
  };
}
