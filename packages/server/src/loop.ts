/** The one runner of background passes. */
import { startNap } from "./nap.ts";
import type { Clock } from "./ports/clock.ts";

export interface LoopOptions {
  readonly everyMs: number;
  /** Until the second pass, at most as long as until any other. */
  readonly firstMs?: number;
  readonly pass: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Runs `pass` now, on every wake, and at least every `everyMs`; never twice at once; wakes during a pass mean one more. */
export function startLoop(options: LoopOptions): { wake: () => void; done: Promise<void> } {
  let bell = Promise.withResolvers<void>();
  let napMs = Math.min(options.firstMs ?? options.everyMs, options.everyMs);
  const run = async () => {
    while (!options.signal.aborted) {
      bell = Promise.withResolvers<void>();
      try {
        await options.pass(options.signal);
      } catch (error) {
        options.onError(error);
      }
      const nap = startNap(options.clock, napMs, options.signal);
      await Promise.race([bell.promise, nap.over]);
      nap.end();
      napMs = options.everyMs;
    }
  };
  return { wake: () => bell.resolve(), done: run() };
}
