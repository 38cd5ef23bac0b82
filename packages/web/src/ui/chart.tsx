/** Lines over time as SVG: a gap where nothing is known, a crosshair that all charts of a page share, and the same as a table for ears. */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type PointerEvent } from "react";
import { create } from "zustand";
import { formatAxis, formatDay } from "../data/format.ts";

export interface ChartPoint {
  readonly at: string;
  readonly value: number | null;
}

interface ChartProps {
  readonly title: string;
  readonly points: readonly ChartPoint[];
  readonly format: (value: number) => string;
  readonly tone?: "live" | "done" | "wait" | "fail" | "mind";
  /** A scale that does not depend on what was measured, such as 0 to 1 for a score. */
  readonly most?: number;
  /** Bars for what is counted per step, a line for what is there at a moment. */
  readonly isCount?: boolean;
}

const HEIGHT = 96;
const TONES = {
  live: { line: "stroke-live", area: "fill-live/12", bar: "fill-live" },
  done: { line: "stroke-done", area: "fill-done/12", bar: "fill-done" },
  wait: { line: "stroke-wait", area: "fill-wait/12", bar: "fill-wait" },
  fail: { line: "stroke-fail", area: "fill-fail/12", bar: "fill-fail" },
  mind: { line: "stroke-mind", area: "fill-mind/12", bar: "fill-mind" },
} as const;

/** The share of the width at which somebody looks: one crosshair for all. */
const useCrosshair = create<{ readonly share: number | undefined }>()(() => ({ share: undefined }));

function useWidth() {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { box, width };
}

interface Placed {
  readonly x: number;
  readonly y: number;
}

/** Runs of known points: a line is drawn through each, and none between them. */
function toRuns(points: readonly ChartPoint[], place: (point: ChartPoint, at: number) => Placed): Placed[][] {
  const runs: Placed[][] = [];
  let isOpen = false;
  for (const [at, point] of points.entries()) {
    if (point.value === null) {
      isOpen = false;
      continue;
    }
    if (!isOpen) runs.push([]);
    runs.at(-1)?.push(place(point, at));
    isOpen = true;
  }
  return runs;
}

const toPath = (run: readonly Placed[]): string =>
  run.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** When it begins and ends. */
function toEnds(points: readonly ChartPoint[]): readonly [string, string] {
  const [first, final] = [points[0]?.at, points.at(-1)?.at];
  if (first === undefined || final === undefined) return ["", ""];
  const lengthMs = Date.parse(final) - Date.parse(first);
  return [formatAxis(first, lengthMs), formatAxis(final, lengthMs)];
}

export function Chart({ title, points, format, tone = "live", most, isCount = false }: ChartProps) {
  const id = useId();
  const { box, width } = useWidth();
  const share = useCrosshair((crosshair) => crosshair.share);
  const looks = TONES[tone];
  const known = points.flatMap(({ value }) => value ?? []);
  const highest = most ?? Math.max(0, ...known);
  const scale = highest === 0 ? 1 : highest * (most === undefined ? 1.08 : 1);
  const last = Math.max(1, points.length - 1);
  const place = ({ value }: ChartPoint, at: number): Placed => ({
    x: (at / last) * width,
    y: HEIGHT - 2 - ((value ?? 0) / scale) * (HEIGHT - 6),
  });
  const runs = isCount ? [] : toRuns(points, place);
  const pointed = share === undefined ? undefined : points[Math.round(share * last)];
  const shown = pointed ?? points.findLast(({ value }) => value !== null);
  const ends = toEnds(points);
  const total = known.reduce((sum, value) => sum + value, 0);
  const pointTo = (next: number) => useCrosshair.setState({ share: Math.min(1, Math.max(0, next)) });
  const onPointer = (event: PointerEvent) => {
    const frame = event.currentTarget.getBoundingClientRect();
    pointTo((event.clientX - frame.left) / Math.max(1, frame.width));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    pointTo((share ?? 1) + step / last);
  };
  const clear = () => useCrosshair.setState({ share: undefined });
  const said =
    known.length === 0
      ? "nothing measured yet"
      : `now ${format(known.at(-1) ?? 0)}, at most ${format(Math.max(...known))}`;
  return (
    <figure className="min-w-0 rounded-2xl border border-line bg-surface p-4" data-chart={title}>
      <figcaption id={id} className="flex items-baseline justify-between gap-3">
        <span className="truncate text-xs font-medium text-ink-2">{title}</span>
        <span className="text-lg font-semibold tracking-tight whitespace-nowrap tabular-nums">
          {shown === undefined || shown.value === null
            ? "—"
            : format(isCount && pointed === undefined ? total : shown.value)}
        </span>
      </figcaption>
      <div
        ref={box}
        role="img"
        tabIndex={0}
        aria-label={`${title}: ${said}`}
        className="relative mt-2 rounded"
        onPointerMove={onPointer}
        onPointerLeave={clear}
        onBlur={clear}
        onKeyDown={onKeyDown}
      >
        <svg width={width} height={HEIGHT} className="block overflow-visible" aria-hidden>
          <line x1={0} x2={width} y1={HEIGHT - 1.5} y2={HEIGHT - 1.5} className="stroke-line" />
          {isCount &&
            points.map((point, at) => {
              const { x, y } = place(point, at);
              const wide = Math.max(1, (width / points.length) * 0.72);
              return point.value === null || point.value === 0 ? null : (
                <rect
                  key={point.at}
                  x={Math.min(width - wide, Math.max(0, x - wide / 2))}
                  y={Math.min(y, HEIGHT - 4)}
                  width={wide}
                  height={Math.max(2, HEIGHT - 2 - y)}
                  rx={1}
                  className={looks.bar}
                />
              );
            })}
          {runs.map((run) => (
            <g key={run[0]?.x}>
              <path
                d={`${toPath(run)}L${run.at(-1)?.x ?? 0} ${HEIGHT - 2}L${run[0]?.x ?? 0} ${HEIGHT - 2}Z`}
                className={looks.area}
              />
              <path d={toPath(run)} fill="none" strokeWidth={1.6} strokeLinejoin="round" className={looks.line} />
              {run.length === 1 && <circle cx={run[0]?.x} cy={run[0]?.y} r={2} className={looks.bar} />}
            </g>
          ))}
          {share !== undefined && (
            <line x1={share * width} x2={share * width} y1={0} y2={HEIGHT} className="stroke-line-strong" />
          )}
        </svg>
        {known.length === 0 && (
          <p className="absolute inset-0 grid place-items-center text-xs text-ink-3">Nothing measured yet</p>
        )}
      </div>
      <p className="mt-1 flex h-4 justify-between gap-2 text-2xs whitespace-nowrap text-ink-3 tabular-nums">
        {pointed === undefined ? (
          known.length > 0 && (
            <>
              <span>{ends[0]}</span>
              <span>highest {format(Math.max(...known))}</span>
              <span>{ends[1]}</span>
            </>
          )
        ) : (
          <span>
            {formatDay(pointed.at)}: {pointed.value === null ? "unknown" : format(pointed.value)}
          </span>
        )}
      </p>
    </figure>
  );
}
