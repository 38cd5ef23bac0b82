/** What a run's strip is as wide as: its time, its money or its turns. */
import type { Timeline } from "./timeline.ts";

export const TIMELINE_SCALES = ["time", "cost", "turns"] as const;
export type TimelineScale = (typeof TIMELINE_SCALES)[number];

/** Milliseconds of the film to a share of the whole, and back. */
export interface TimelineAxis {
  readonly toShare: (ms: number) => number;
  readonly toMs: (share: number) => number;
}

interface Point {
  readonly ms: number;
  readonly share: number;
}

/** Where `read` passes `value`: the last point that is not beyond it. */
function findPoint(points: readonly Point[], value: number, read: (point: Point) => number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const point = points[middle];
    if (point !== undefined && read(point) <= value) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}

function between(points: readonly Point[], value: number, from: keyof Point, to: keyof Point): number {
  const at = findPoint(points, value, (point) => point[from]);
  const [before, after] = [points[at], points[at + 1]];
  if (before === undefined) return 0;
  if (after === undefined || after[from] === before[from]) return before[to];
  return before[to] + ((value - before[from]) / (after[from] - before[from])) * (after[to] - before[to]);
}

/** A call's money is spent from the call before it to its own end: where much is paid, much is drawn. */
const POINTS: Readonly<Record<TimelineScale, (timeline: Timeline) => readonly Point[]>> = {
  time: ({ lengthMs }) => [{ ms: lengthMs, share: 1 }],
  cost: ({ cost }) => {
    const total = cost.at(-1)?.usd ?? 0;
    return total === 0 ? [] : cost.map(({ at, usd }) => ({ ms: at, share: usd / total }));
  },
  turns: ({ turns }) => turns.map((turn, n) => ({ ms: turn.from, share: n / turns.length })),
};

export const canScale = (timeline: Timeline, scale: TimelineScale): boolean => POINTS[scale](timeline).length > 0;

/** Time where the run has nothing of what is asked for. */
export function toTimelineAxis(timeline: Timeline, scale: TimelineScale): TimelineAxis {
  const own = POINTS[canScale(timeline, scale) ? scale : "time"](timeline);
  const points = [{ ms: 0, share: 0 }, ...own, { ms: timeline.lengthMs, share: 1 }];
  return {
    toShare: (ms) => between(points, ms, "ms", "share"),
    toMs: (share) => between(points, share, "share", "ms"),
  };
}

/** The part of a strip that is seen: as a share of the whole, kept inside of it. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

export function toWindow(zoom: number, middle: number): Window {
  const width = 1 / Math.max(1, zoom);
  const from = Math.max(0, Math.min(1 - width, middle - width / 2));
  return { from, to: from + width };
}
