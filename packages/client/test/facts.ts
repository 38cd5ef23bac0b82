/** Waiting for facts, with time that runs faster. */
import { systemTimers, type Timers } from "../src/timers.ts";

/** Waits shrink fifty-fold; the order of things stays as it is. */
export const fastTimers: Timers = {
  now: () => systemTimers.now() * 50,
  after: (ms, run) => systemTimers.after(ms / 50, run),
};

interface Watched<T> {
  subscribe(listener: () => void): () => void;
  getSnapshot(): T;
}

/** Resolves at the first snapshot for which the fact holds. */
export function until<T>(store: Watched<T>, isFact: (snapshot: T) => boolean): Promise<T> {
  return new Promise((resolve) => {
    const check = () => {
      const snapshot = store.getSnapshot();
      if (!isFact(snapshot)) return;
      unsubscribe();
      resolve(snapshot);
    };
    const unsubscribe = store.subscribe(check);
    check();
  });
}
