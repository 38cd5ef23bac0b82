/** The one runner of background passes. */
import type { Clock } from "./ports/clock.ts";

export interface LoopOptions {
  readonly everyMs: number;
  readonly pass: (signal: AbortSignal) => Promise<unknown>;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onError: (error: unknown) => void;
}

/** Runs `pass` now, on every wake, and at least every `everyMs`; never twice at once; wakes during a pass mean one more. */
export function startLoop(options: LoopOptions): { wake: () => void; done: Promise<void> } {
  let bell = Promise.withResolvers<void>();
  const run = async () => {
    while (!options.signal.aborted) {
      bell = Promise.withResolvers<void>();
      try {
        await options.pass(options.signal);
      } catch (error) {
        options.onError(error);
      }
      const nap = new AbortController();
      await Promise.race([
        bell.promise,
        options.clock.sleep(options.everyMs, AbortSignal.any([options.signal, nap.signal])),
      ]);
      nap.abort();
    }
  };
  return { wake: () => bell.resolve(), done: run() };
}
