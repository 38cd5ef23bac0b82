/** The newest part of a sandbox's log: always contiguous by `sandbox_seq`, never longer than its limit. */
import type { LogEvent } from "./log-event.ts";

export interface LogWindow {
  readonly events: readonly LogEvent[];
  /** `sandbox_seq` of the last event ever held; 0 before the first. */
  readonly head: number;
  /** `seq` of the same event: where reading on starts. */
  readonly headSeq: number;
  readonly limit: number;
}

export const emptyWindow = (limit: number): LogWindow => ({ events: [], head: 0, headSeq: 0, limit });

export interface Appended {
  readonly window: LogWindow;
  readonly duplicates: number;
  /** What stands behind a hole; nothing of it was appended. */
  readonly beyondHole: readonly LogEvent[];
}

/** Appends what continues the window, drops what it has, and stops before the first hole. */
export function appendEvents(window: LogWindow, given: readonly LogEvent[]): Appended {
  const fresh: LogEvent[] = [];
  let { head, headSeq } = window;
  let duplicates = 0;
  let beyondHole: readonly LogEvent[] = [];
  for (const [index, event] of given.entries()) {
    if (event.sandbox_seq <= head) {
      duplicates += 1;
      continue;
    }
    if (event.sandbox_seq !== head + 1) {
      beyondHole = given.slice(index);
      break;
    }
    fresh.push(event);
    head = event.sandbox_seq;
    headSeq = event.seq;
  }
  if (fresh.length === 0) return { window, duplicates, beyondHole };
  const events = [...window.events, ...fresh].slice(-window.limit);
  return { window: { ...window, events, head, headSeq }, duplicates, beyondHole };
}

/** Begins anew with these: the store itself no longer has what would have come before. */
export function restartWindow(window: LogWindow, given: readonly LogEvent[]): LogWindow {
  const [first] = given;
  if (first === undefined) return window;
  return appendEvents({ ...window, events: [], head: first.sandbox_seq - 1 }, given).window;
}

/** Puts older events in front, newest of them first, as long as they continue the window and fit. */
export function prependEvents(window: LogWindow, newestFirst: readonly LogEvent[]): LogWindow {
  const older: LogEvent[] = [];
  let first = window.events[0]?.sandbox_seq ?? window.head + 1;
  for (const event of newestFirst) {
    if (event.sandbox_seq >= first) continue;
    if (event.sandbox_seq !== first - 1 || window.events.length + older.length >= window.limit) break;
    older.push(event);
    first = event.sandbox_seq;
  }
  return older.length === 0 ? window : { ...window, events: [...older.reverse(), ...window.events] };
}
