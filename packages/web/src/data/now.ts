/** A clock for ages on the page: one timer for all of them. */
import { useSyncExternalStore } from "react";

const EVERY_MS = 1_000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const tell of listeners) tell();
  }, EVERY_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

const MINUTE_MS = 60_000;

/** For what changes places with time, and not every second. */
export const useMinute = (): number => useSyncExternalStore(subscribe, () => Math.floor(now / MINUTE_MS) * MINUTE_MS);
