/** Counts what happened, for the report at the end. */
export interface Tally {
  count(what: string, times?: number): void;
  toObject(): Readonly<Record<string, number>>;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  return {
    count: (what, times = 1) => void counts.set(what, (counts.get(what) ?? 0) + times),
    toObject: () => Object.fromEntries([...counts].toSorted(([a], [b]) => a.localeCompare(b))),
  };
}
