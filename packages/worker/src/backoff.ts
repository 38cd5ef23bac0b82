/** How long to wait before the next try. The longest wait bounds how late a worker notices that the server is back. */
const FIRST_MS = 200;
const LONGEST_MS = 3_000;
const RETRY_AFTER_LIMIT_MS = 60_000;

/** `failures`: how many tries in a row failed, at least 1. What the server asked for counts more than our own rule. */
export function toDelayMs(failures: number, retryAfterSeconds: number | undefined, random: () => number): number {
  const jitter = 0.5 + random() / 2;
  if (retryAfterSeconds !== undefined) {
    return Math.min(Math.max(retryAfterSeconds, 0) * 1_000, RETRY_AFTER_LIMIT_MS) + FIRST_MS * jitter;
  }
  return Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS) * jitter;
}
