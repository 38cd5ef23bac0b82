/** How the background passes of this process did. */
import type { Clock } from "../ports/clock.ts";

export interface PassRecord {
  readonly everyMs: number;
  cycles: number;
  failed: number;
  /** Since the last one that did not fail. */
  failedInRow: number;
  lastStartedMs: number | null;
  lastDurationMs: number | null;
  lastError: string | null;
  /** Since when it has run without a gap: the machine did not sleep, and what it needs was there. */
  unbrokenSinceMs: number;
}

/** Beside the time between two: that much is no gap. */
const LONGEST_GAP_MS = 30_000;

export type PassRecords = Map<string, PassRecord>;

/** Counts what `pass` does; what it throws is thrown on. */
export function recordPass(
  records: PassRecords,
  clock: Clock,
  { name, everyMs }: { readonly name: string; readonly everyMs: number },
  pass: (signal: AbortSignal) => Promise<unknown>,
): (signal: AbortSignal) => Promise<unknown> {
  const record: PassRecord = {
    everyMs,
    cycles: 0,
    failed: 0,
    failedInRow: 0,
    lastStartedMs: null,
    lastDurationMs: null,
    lastError: null,
    unbrokenSinceMs: clock.now().getTime(),
  };
  let endedWellMs = record.unbrokenSinceMs;
  records.set(name, record);
  return async (signal) => {
    record.lastStartedMs = clock.now().getTime();
    if (record.lastStartedMs - endedWellMs > everyMs + LONGEST_GAP_MS) record.unbrokenSinceMs = record.lastStartedMs;
    record.cycles += 1;
    try {
      const result = await pass(signal);
      record.failedInRow = 0;
      endedWellMs = clock.now().getTime();
      return result;
    } catch (error) {
      record.failed += 1;
      record.failedInRow += 1;
      record.lastError = error instanceof Error ? error.message : String(error);
      throw error;
    } finally {
      record.lastDurationMs = clock.now().getTime() - record.lastStartedMs;
    }
  };
}
