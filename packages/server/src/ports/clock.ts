/** Time comes in through here, so that tests can move it. */
export interface Clock {
  now(): Date;
  /** Resolves after `ms`, or at once (without an error) when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
