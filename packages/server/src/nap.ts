/** A sleep that can be ended early. Made thousands of times beside signals that live long, so it leaves nothing at them: what
 *  `AbortSignal.any` makes is known to its sources until the whole heap is collected. */
import type { Clock } from "./ports/clock.ts";

/** Nobody reads it: without one each end would make an error with a stack. */
const ENDED = "ended";

export interface Nap {
  /** Resolves when the time is over, when the signal aborts, or at `end`. */
  readonly over: Promise<void>;
  end(): void;
}

export function startNap(clock: Clock, ms: number, signal: AbortSignal): Nap {
  const nap = new AbortController();
  const end = () => nap.abort(ENDED);
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  const over = clock.sleep(ms, nap.signal).finally(() => signal.removeEventListener("abort", end));
  return { over, end };
}
