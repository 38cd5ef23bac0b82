/** Durations as people say them. */
const STEPS = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
] as const;

/** `42s`, `7m`, `3h`, `12d`: how long before `now`. */
export function toElapsed(since: string, now: Date): string {
  const seconds = Math.max(0, Math.round((now.getTime() - Date.parse(since)) / 1_000));
  for (const [unit, size] of STEPS) if (seconds >= size) return `${Math.floor(seconds / size)}${unit}`;
  return `${seconds}s`;
}
