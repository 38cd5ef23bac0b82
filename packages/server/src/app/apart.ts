/** Several pieces of work apart from each other: what takes long, because it waits for somebody else, holds up nothing behind it. */
import { startNap } from "../nap.ts";
import type { Clock } from "../ports/clock.ts";

/** What has just begun may take this long before others are looked at. */
const PATIENCE_MS = 5_000;
const NEXT_LOOK_MS = 1_000;
const AT_ONCE = 8;

export interface Apart {
  isUnderWay(key: string): boolean;
  /** By one key one after the other. */
  start(key: string, work: () => Promise<unknown>): void;
  /** Until all of it is done, but no longer than one waits for what is slow. True when nothing is under way any more. */
  wait(signal: AbortSignal): Promise<boolean>;
}

export function openApart(clock: Clock, onError: (key: string, error: unknown) => void): Apart {
  const underWay = new Map<string, Promise<void>>();
  let hasNew = false;
  return {
    isUnderWay: (key) => underWay.has(key),
    start: (key, work) => {
      hasNew = true;
      const done: Promise<void> = (underWay.get(key) ?? Promise.resolve())
        .then(work)
        // Expected: whatever may fail. It is told, and holds up nobody else.
        .then(
          () => undefined,
          (error: unknown) => onError(key, error),
        )
        .then(() => {
          if (underWay.get(key) === done) underWay.delete(key);
        });
      underWay.set(key, done);
    },
    wait: async (signal) => {
      const all = Promise.all(underWay.values());
      const nap = startNap(clock, hasNew ? PATIENCE_MS : NEXT_LOOK_MS, signal);
      await Promise.race([all, nap.over]);
      nap.end();
      hasNew = false;
      // Whoever stops takes nothing with it: all of it hears the signal too.
      if (signal.aborted) await all;
      return underWay.size === 0;
    },
  };
}

/** Some of them at once, until all have had their turn; whoever is slow keeps none from it, and has its own already. True when nothing is
 *  under way any more. */
export async function startEach<K extends string>(
  apart: Apart,
  keys: readonly K[],
  work: (key: K) => Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  let isIdle = await apart.wait(signal);
  for (let at = 0; at < keys.length && !signal.aborted; at += AT_ONCE) {
    for (const key of keys.slice(at, at + AT_ONCE)) if (!apart.isUnderWay(key)) apart.start(key, () => work(key));
    isIdle = await apart.wait(signal);
  }
  return isIdle;
}
