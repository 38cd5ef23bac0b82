import { expect, test } from "vitest";
import { canScale, toTimelineAxis, toWindow } from "./timeline-axis.ts";
import { toTimeline, type Timeline } from "./timeline.ts";

const turn = (at: number, from: number) => ({
  seq: at,
  from,
  to: from + 1_000,
  label: `Turn ${at}`,
  isError: false,
  turn: at,
  startedAt: "",
  endedAt: "",
  costUsd: 0,
  tools: 0,
  edits: 0,
  errors: 0,
});

const timeline: Timeline = {
  ...toTimeline([]),
  lengthMs: 10_000,
  turns: [turn(1, 0), turn(2, 8_000)],
  cost: [
    { at: 1_000, usd: 3 },
    { at: 9_000, usd: 4 },
  ],
};

test("time is even, money is wide where it was spent, and turns are as wide as each other", () => {
  const time = toTimelineAxis(timeline, "time");
  expect([0, 5_000, 10_000].map(time.toShare)).toEqual([0, 0.5, 1]);
  const cost = toTimelineAxis(timeline, "cost");
  // Three of four dollars went in the first second.
  expect([0, 500, 1_000, 5_000, 9_000].map(cost.toShare)).toEqual([0, 0.375, 0.75, 0.875, 1]);
  const turns = toTimelineAxis(timeline, "turns");
  expect([0, 4_000, 8_000, 9_000, 10_000].map(turns.toShare)).toEqual([0, 0.25, 0.5, 0.75, 1]);
});

test("every share leads back to its moment", () => {
  for (const scale of ["time", "cost", "turns"] as const) {
    const axis = toTimelineAxis(timeline, scale);
    for (const ms of [0, 250, 1_000, 4_000, 8_500]) expect(axis.toMs(axis.toShare(ms)), scale).toBeCloseTo(ms, 6);
  }
});

test("a run that cost nothing is drawn by time", () => {
  const free = { ...timeline, cost: [] };
  expect(canScale(free, "cost")).toBe(false);
  expect(toTimelineAxis(free, "cost").toShare(5_000)).toBe(0.5);
});

test("a window stays inside of the whole", () => {
  expect(toWindow(1, 0.3)).toEqual({ from: 0, to: 1 });
  expect(toWindow(4, 0.5)).toEqual({ from: 0.375, to: 0.625 });
  expect(toWindow(4, 0)).toEqual({ from: 0, to: 0.25 });
  expect(toWindow(4, 1)).toEqual({ from: 0.75, to: 1 });
});
