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
}

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
  };
  records.set(name, record);
  return async (signal) => {
    record.lastStartedMs = clock.now().getTime();
    record.cycles += 1;
    try {
      const result = await pass(signal);
      record.failedInRow = 0;
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
