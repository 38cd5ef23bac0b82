import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { systemClock } from "./adapters/clock-system.ts";
import { startNap } from "./nap.ts";

const LONG_MS = 3_600_000;

test("a nap is over when its time is, when it is ended, and when its signal aborts, also before it began", async () => {
  const long = new AbortController();
  await startNap(systemClock, 1, long.signal).over;
  const ended = startNap(systemClock, LONG_MS, long.signal);
  ended.end();
  await ended.over;
  const aborted = startNap(systemClock, LONG_MS, long.signal);
  long.abort();
  await aborted.over;
  await startNap(systemClock, LONG_MS, long.signal).over;
});

test("naps leave nothing at the signal they were beside", async () => {
  const long = new AbortController();
  for (let n = 0; n < 100; n += 1) {
    const nap = startNap(systemClock, LONG_MS, long.signal);
    nap.end();
    await nap.over;
  }
  expect(getEventListeners(long.signal, "abort")).toEqual([]);
});
