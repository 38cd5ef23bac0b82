/** A database that comes up at the same moment as this server is waited for; one that is not there is still said to be so in the end. */
import { AppError } from "@drover/contract";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

const EVERY_MS = 1_000;

interface Patience {
  readonly clock: Clock;
  readonly log: Log;
  readonly seconds: number;
}

/** Does the same again while nobody answers. */
export async function awaitDatabase<T>(
  work: () => Promise<T>,
  { clock, log, seconds }: Patience,
  signal: AbortSignal,
): Promise<T> {
  const untilMs = clock.now().getTime() + seconds * 1_000;
  for (let isTold = false; ; isTold = true) {
    try {
      return await work();
    } catch (error) {
      // Expected: it is not there yet.
      const isAway = error instanceof AppError && error.code === "database.unavailable";
      if (!isAway || signal.aborted || clock.now().getTime() >= untilMs) throw error;
      if (!isTold)
        log.warn("database.awaited", {
          seconds,
          reason: error.cause instanceof Error ? error.cause.message : error.message,
        });
    }
    await clock.sleep(EVERY_MS, signal);
  }
}
