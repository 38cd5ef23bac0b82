/** Whether a failed try is repeated, and when. */

const PERMANENT = [
  "permission denied",
  "access denied",
  "authentication failed",
  "authorization failed",
  "syntax error",
  "invalid argument",
  "is not valid",
  "not found",
  "does not exist",
  "already exists",
  "duplicate key",
  "constraint violation",
  "immutable",
  "read-only",
  "quota exceeded",
  "rate limit exceeded",
];

/** Whatever is not known to last may pass. */
export const isRetryable = (error: string): boolean => {
  const text = error.toLowerCase();
  return !PERMANENT.some((pattern) => text.includes(pattern));
};

export type RetryDecision = { readonly retry: true; readonly delaySeconds: number } | { readonly retry: false };

export interface FailedTry {
  readonly error: string;
  readonly retryCount: number;
  readonly maxRetries: number;
}

const LONGEST_SECONDS = 60;

/** `random` in [0, 1) spreads the wait over 0.75 to 1.25 of itself, so that what failed together is not tried together. */
export function decideRetry(failed: FailedTry, baseSeconds: number, random: number): RetryDecision {
  if (failed.retryCount >= failed.maxRetries || !isRetryable(failed.error)) return { retry: false };
  const delay = baseSeconds * 2 ** failed.retryCount * (0.75 + random / 2);
  return { retry: true, delaySeconds: Math.min(delay, LONGEST_SECONDS) };
}
