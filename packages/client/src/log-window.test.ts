import { describe, expect, test } from "vitest";
import type { LogEvent } from "./log-event.ts";
import { appendEvents, emptyWindow, prependEvents, restartWindow } from "./log-window.ts";

const event = (n: number): LogEvent => ({
  id: `e${n}`,
  seq: n * 10,
  sandbox_seq: n,
  event_type: "agent.message",
  event_data: {},
  source: "agent",
  created_at: "2026-01-01T00:00:00Z",
});
const events = (...numbers: number[]) => numbers.map(event);
const numbers = (list: readonly LogEvent[]) => list.map((one) => one.sandbox_seq);

describe("appending", () => {
  test("drops what is there and stops before a hole", () => {
    const start = appendEvents(emptyWindow(10), events(1, 2)).window;
    const { window, duplicates, beyondHole } = appendEvents(start, events(2, 3, 5, 6));
    expect(numbers(window.events)).toEqual([1, 2, 3]);
    expect(window).toMatchObject({ head: 3, headSeq: 30 });
    expect(duplicates).toBe(1);
    expect(numbers(beyondHole)).toEqual([5, 6]);
  });

  test("keeps the newest up to the limit, and still knows its head", () => {
    const { window } = appendEvents(emptyWindow(3), events(1, 2, 3, 4, 5));
    expect(numbers(window.events)).toEqual([3, 4, 5]);
    expect(numbers(appendEvents(window, events(2)).window.events)).toEqual([3, 4, 5]);
  });
});

test("a restart begins after what the store no longer has", () => {
  const { window } = appendEvents(emptyWindow(10), events(1, 2));
  expect(numbers(restartWindow(window, events(7, 8)).events)).toEqual([7, 8]);
});

test("older events are put in front while they continue the window and fit", () => {
  const window = restartWindow(emptyWindow(4), events(5, 6));
  expect(numbers(prependEvents(window, events(4, 3, 2, 1)).events)).toEqual([3, 4, 5, 6]);
  expect(numbers(prependEvents(window, events(3, 2)).events)).toEqual([5, 6]);
});
