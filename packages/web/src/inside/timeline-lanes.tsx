/** The lanes of a run's timeline: a part of it drawn as wide as time, money or turns, to be looked at, moved and zoomed. */
import type { Span, Timeline, TimelineAxis, Window } from "@drover/contract/views";
import { useEffect, useRef, useState, type RefObject } from "react";
import { formatCost, formatDuration, formatSpan } from "../data/format.ts";
import { useAppearance } from "../data/preferences.ts";
import { useDrawing } from "../ui/use-drawing.ts";

const LANE = 22;
const GUTTER = 62;
const LANES = ["Turns", "Model", "Tools", "Tests", "Waiting", "Changes", "Errors", "Cost", "Context"] as const;
const HEIGHT = LANES.length * LANE + 18;
type Lane = (typeof LANES)[number];
const LANE_OF = Object.fromEntries(LANES.map((name, at) => [name, at])) as Readonly<Record<Lane, number>>;
const NEAR_PX = 6;
const DRAG_PX = 4;

export interface View {
  readonly timeline: Timeline;
  readonly axis: TimelineAxis;
  readonly window: Window;
  /** Milliseconds of the film where the event of the address stands. */
  readonly mark: number | undefined;
}

/** Where a moment stands on the canvas. */
const toX =
  ({ axis, window: { from, to } }: View, width: number) =>
  (ms: number) =>
    GUTTER + ((axis.toShare(ms) - from) / (to - from)) * (width - GUTTER - 4);

const toShareAt = ({ window: { from, to } }: View, box: DOMRect, clientX: number): number =>
  from + ((clientX - box.left - GUTTER) / (box.width - GUTTER - 4)) * (to - from);

function draw(canvas: HTMLCanvasElement, view: View): void {
  const { timeline, axis, window, mark } = view;
  const width = canvas.clientWidth;
  canvas.width = width * devicePixelRatio;
  canvas.height = HEIGHT * devicePixelRatio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(devicePixelRatio, devicePixelRatio);
  const look = getComputedStyle(canvas);
  const colour = (name: string) => look.getPropertyValue(name);
  const room = width - GUTTER - 4;
  const x = toX(view, width);
  pen.font = `11px ${look.fontFamily}`;
  pen.textBaseline = "middle";
  LANES.forEach((name, lane) => {
    pen.fillStyle = colour("--ink-3");
    pen.fillText(name, 0, lane * LANE + LANE / 2);
    pen.fillStyle = colour("--line");
    pen.fillRect(GUTTER, lane * LANE + LANE - 1, room, 1);
  });
  // What lies outside of the part that is seen must not run into the names.
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER, 0, room, HEIGHT - 18);
  pen.clip();
  const bar = (span: Pick<Span, "from" | "to">, lane: Lane, fill: string) => {
    const [left, right] = [x(span.from), x(span.to)];
    if (right < GUTTER || left > width) return;
    pen.fillStyle = fill;
    pen.fillRect(left, LANE_OF[lane] * LANE + 5, Math.max(1.5, right - left), LANE - 11);
  };
  // What failed in a turn has a lane of its own: the turn went on.
  timeline.turns.forEach((turn, n) => {
    bar(turn, "Turns", colour(n % 2 === 0 ? "--solid" : "--ink-3"));
    if (x(turn.to) - x(turn.from) < 26) return;
    pen.fillStyle = colour("--on-solid");
    pen.fillText(`T${turn.turn}`, Math.max(GUTTER, x(turn.from)) + 4, LANE / 2);
  });
  for (const span of timeline.model) bar(span, "Model", colour("--mind"));
  for (const tool of timeline.tools) bar(tool, "Tools", colour(tool.isError ? "--fail" : "--done"));
  for (const run of timeline.tests) bar(run, "Tests", colour(run.isError ? "--fail" : "--live"));
  for (const wait of timeline.waits) bar(wait, "Waiting", colour("--wait"));
  for (const edit of timeline.edits) bar(edit, "Changes", colour("--live"));
  for (const error of timeline.errors) bar(error, "Errors", colour("--fail"));
  const endMs = timeline.lengthMs;
  const spent = timeline.cost.map(({ at, usd }) => ({ at, value: usd }));
  const filled = timeline.context.map(({ at, tokens }) => ({ at, value: tokens }));
  drawLevels(pen, spent, { lane: LANE_OF.Cost, endMs, colour: colour("--mind") }, x);
  drawLevels(pen, filled, { lane: LANE_OF.Context, endMs, colour: colour("--wait") }, x);
  if (mark !== undefined) {
    pen.fillStyle = colour("--ink");
    pen.fillRect(x(mark), 0, 1.5, HEIGHT - 18);
  }
  pen.restore();
  pen.fillStyle = colour("--ink-3");
  const name = (share: number) => toMoment(timeline, axis.toMs(share));
  pen.fillText(name(window.from), GUTTER, HEIGHT - 7);
  const end = name(window.to);
  pen.fillText(end, width - 4 - pen.measureText(end).width, HEIGHT - 7);
}

/** `2m 04s`, and what was spent by then. */
function toMoment({ cost }: Timeline, ms: number): string {
  const usd = cost.findLast(({ at }) => at <= ms)?.usd ?? 0;
  return usd === 0 ? formatSpan(ms) : `${formatSpan(ms)} · ${formatCost(usd)}`;
}

interface Level {
  readonly at: number;
  readonly value: number;
}

/** A value that stays until the next one, up to the highest of them. */
function drawLevels(
  pen: CanvasRenderingContext2D,
  levels: readonly Level[],
  { lane, endMs, colour }: { readonly lane: number; readonly endMs: number; readonly colour: string },
  x: (ms: number) => number,
): void {
  const most = levels.reduce((highest, { value }) => Math.max(highest, value), 0);
  if (most === 0) return;
  const bottom = (lane + 1) * LANE - 2;
  const y = (value: number) => bottom - (value / most) * (LANE - 6);
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.beginPath();
  pen.moveTo(x(0), bottom);
  let before = 0;
  for (const { at, value } of levels) {
    pen.lineTo(x(at), y(before));
    pen.lineTo(x(at), y(value));
    before = value;
  }
  pen.lineTo(x(endMs), y(before));
  pen.stroke();
}

/** What stands in each lane to be found; below cost and context that is their turn. */
const SPANS: Readonly<Record<Lane, (timeline: Timeline) => readonly Span[]>> = {
  Turns: ({ turns }) => turns,
  Model: ({ model }) => model,
  Tools: ({ tools }) => tools,
  Tests: ({ tests }) => tests,
  Waiting: ({ waits }) => waits,
  Changes: ({ edits }) => edits,
  Errors: ({ errors }) => errors,
  Cost: ({ turns }) => turns,
  Context: ({ turns }) => turns,
};

function findSpan(view: View, box: DOMRect, clientX: number, clientY: number): Span | undefined {
  const lane = LANES[Math.floor((clientY - box.top) / LANE)];
  if (lane === undefined) return undefined;
  const x = toX(view, box.width);
  const here = clientX - box.left;
  let best: Span | undefined;
  let distance = NEAR_PX;
  for (const span of SPANS[lane](view.timeline)) {
    const [left, right] = [x(span.from), x(span.to)];
    const away = here < left ? left - here : here > right ? here - right : 0;
    if (away <= distance) {
      best = span;
      distance = away;
    }
  }
  return best;
}

interface Hover {
  readonly left: number;
  readonly text: string;
}

interface LanesProps extends View {
  readonly onOpen: (seq: number) => void;
  /** The middle of what is seen, as a share of the whole. */
  readonly onMove: (middle: number) => void;
  /** Towards a place that stays where it is. */
  readonly onZoom: (factor: number, share: number) => void;
}

export function Lanes({ onOpen, onMove, onZoom, ...view }: LanesProps) {
  const { canvas, latest } = useDrawing(draw, view);
  const appearance = useAppearance();
  const [hover, setHover] = useState<Hover>();
  const drag = useRef<{ readonly x: number; readonly middle: number; isMoved: boolean }>(undefined);
  useWheelZoom(canvas, latest, onZoom);
  const { window: shown } = view;
  // The sliders above move and zoom by keyboard, and the list of turns below leads to the events.
  return (
    <div className="relative shrink-0 rounded-xl border border-line bg-surface px-3 pt-2">
      <canvas
        ref={canvas}
        data-testid="lanes"
        data-dark={appearance.isDark}
        data-from={shown.from.toFixed(3)}
        data-to={shown.to.toFixed(3)}
        aria-hidden
        className="block w-full cursor-pointer touch-pan-y font-sans"
        style={{ height: HEIGHT }}
        onPointerDown={(event) => {
          drag.current = { x: event.clientX, middle: (shown.from + shown.to) / 2, isMoved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const held = drag.current;
          if (held !== undefined && (held.isMoved || Math.abs(event.clientX - held.x) > DRAG_PX)) {
            held.isMoved = true;
            onMove(held.middle - ((event.clientX - held.x) / (box.width - GUTTER - 4)) * (shown.to - shown.from));
            return;
          }
          const span = findSpan(view, box, event.clientX, event.clientY);
          const text =
            span === undefined
              ? ""
              : `${span.label}${span.to > span.from ? ` · ${formatDuration(span.to - span.from)}` : ""}`;
          setHover(span === undefined ? undefined : { left: event.clientX - box.left, text });
        }}
        onPointerLeave={() => setHover(undefined)}
        onPointerUp={(event) => {
          const wasMoved = drag.current?.isMoved ?? false;
          drag.current = undefined;
          if (wasMoved) return;
          const span = findSpan(view, event.currentTarget.getBoundingClientRect(), event.clientX, event.clientY);
          if (span !== undefined) onOpen(span.seq);
        }}
        onPointerCancel={() => {
          drag.current = undefined;
        }}
      />
      {hover !== undefined && (
        <p
          aria-hidden
          style={{ left: hover.left }}
          className="pointer-events-none absolute -top-2 z-10 max-w-72 -translate-x-1/2 -translate-y-full truncate rounded-md bg-solid px-2 py-1 text-xs text-on-solid shadow-lift"
        >
          {hover.text}
        </p>
      )}
    </div>
  );
}

/** With Control, as everywhere; without it the page scrolls. React's own listeners cannot keep the browser from zooming the page. */
function useWheelZoom(
  canvas: RefObject<HTMLCanvasElement | null>,
  latest: RefObject<View>,
  onZoom: LanesProps["onZoom"],
): void {
  const zoom = useRef(onZoom);
  useEffect(() => {
    zoom.current = onZoom;
  });
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom.current(
        event.deltaY < 0 ? 1.25 : 0.8,
        toShareAt(latest.current, element.getBoundingClientRect(), event.clientX),
      );
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, [canvas, latest]);
}
