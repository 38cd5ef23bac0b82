/** A run along time: turns, tools, waiting, changes, errors, cost and the window's fill as lanes, and the turns as a list that says the same. */
import { toTimeline, type LogEvent, type Span, type Timeline, type TurnSpan } from "@drover/contract/views";
import { useEffect, useMemo, useRef, useState } from "react";
import { VList } from "virtua";
import { formatClock, formatCost, formatDuration, formatSpan, plural } from "../data/format.ts";
import { isDark, usePreferences } from "../data/preferences.ts";
import { useSettled } from "../replay/use-settled.ts";
import { cx } from "../ui/class-names.ts";

const REDRAWN_EVERY_MS = 1_000;
const LANE = 22;
const GUTTER = 62;
const LANES = ["Turns", "Tools", "Waiting", "Changes", "Errors", "Cost", "Context"] as const;
const HEIGHT = LANES.length * LANE + 18;
const NEAR_PX = 6;

interface TimelineTabProps {
  readonly events: readonly LogEvent[];
  readonly onOpen: (seq: number) => void;
}

export function TimelineTab({ events, onOpen }: TimelineTabProps) {
  const slow = useSettled(events, REDRAWN_EVERY_MS);
  const timeline = useMemo(() => toTimeline(slow), [slow]);
  if (timeline.turns.length === 0 && timeline.tools.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        Nothing that takes time has happened in this run yet.
      </div>
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 p-3 md:p-5">
      <Lanes timeline={timeline} onOpen={onOpen} />
      <Turns turns={timeline.turns} onOpen={onOpen} />
    </div>
  );
}

interface Hover {
  readonly left: number;
  readonly text: string;
}

function draw(canvas: HTMLCanvasElement, timeline: Timeline): void {
  const width = canvas.clientWidth;
  canvas.width = width * devicePixelRatio;
  canvas.height = HEIGHT * devicePixelRatio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(devicePixelRatio, devicePixelRatio);
  const look = getComputedStyle(canvas);
  const colour = (name: string) => look.getPropertyValue(name);
  const room = width - GUTTER - 4;
  const x = (ms: number) => GUTTER + (timeline.lengthMs === 0 ? 0 : ms / timeline.lengthMs) * room;
  pen.font = `11px ${look.fontFamily}`;
  pen.textBaseline = "middle";
  LANES.forEach((name, lane) => {
    pen.fillStyle = colour("--ink-3");
    pen.fillText(name, 0, lane * LANE + LANE / 2);
    pen.fillStyle = colour("--line");
    pen.fillRect(GUTTER, lane * LANE + LANE - 1, room, 1);
  });
  const bar = (span: Pick<Span, "from" | "to">, lane: number, fill: string) => {
    pen.fillStyle = fill;
    pen.fillRect(x(span.from), lane * LANE + 5, Math.max(1.5, x(span.to) - x(span.from)), LANE - 11);
  };
  timeline.turns.forEach((turn, n) => {
    bar(turn, 0, colour(turn.isError ? "--fail" : n % 2 === 0 ? "--solid" : "--ink-3"));
    if (x(turn.to) - x(turn.from) < 26) return;
    pen.fillStyle = colour("--on-solid");
    pen.fillText(`T${turn.turn}`, x(turn.from) + 4, LANE / 2 - 0.5);
  });
  for (const tool of timeline.tools) bar(tool, 1, colour(tool.isError ? "--fail" : "--done"));
  for (const wait of timeline.waits) bar(wait, 2, colour("--wait"));
  for (const edit of timeline.edits) bar(edit, 3, colour("--live"));
  for (const error of timeline.errors) bar(error, 4, colour("--fail"));
  const endMs = timeline.lengthMs;
  const spent = timeline.cost.map(({ at, usd }) => ({ at, value: usd }));
  const filled = timeline.context.map(({ at, tokens }) => ({ at, value: tokens }));
  drawLevels(pen, spent, { lane: 5, endMs, colour: colour("--mind") }, x);
  drawLevels(pen, filled, { lane: 6, endMs, colour: colour("--wait") }, x);
  pen.fillStyle = colour("--ink-3");
  pen.fillText("0s", GUTTER, HEIGHT - 7);
  const end = formatSpan(timeline.lengthMs);
  pen.fillText(end, width - 4 - pen.measureText(end).width, HEIGHT - 7);
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

const spansOf = (timeline: Timeline, lane: number): readonly Span[] =>
  [timeline.turns, timeline.tools, timeline.waits, timeline.edits, timeline.errors, timeline.turns, timeline.turns][
    lane
  ] ?? [];

function findSpan(timeline: Timeline, box: DOMRect, clientX: number, clientY: number): Span | undefined {
  const lane = Math.floor((clientY - box.top) / LANE);
  const room = box.width - GUTTER - 4;
  const ms = ((clientX - box.left - GUTTER) / room) * timeline.lengthMs;
  const near = (NEAR_PX / room) * timeline.lengthMs;
  let best: Span | undefined;
  let distance = near;
  for (const span of spansOf(timeline, lane)) {
    const away = ms < span.from ? span.from - ms : ms > span.to ? ms - span.to : 0;
    if (away <= distance) {
      best = span;
      distance = away;
    }
  }
  return best;
}

function Lanes({ timeline, onOpen }: { readonly timeline: Timeline; readonly onOpen: (seq: number) => void }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = usePreferences((preferences) => preferences.theme);
  const [hover, setHover] = useState<Hover>();
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => draw(element, timeline));
    observer.observe(element);
    draw(element, timeline);
    return () => observer.disconnect();
  }, [timeline, theme]);
  // The list of turns below does the same by keyboard.
  return (
    <div className="relative shrink-0 rounded-xl border border-line bg-surface px-3 pt-2">
      <canvas
        ref={canvas}
        data-testid="lanes"
        data-dark={isDark(theme)}
        aria-hidden
        className="block w-full cursor-pointer font-sans"
        style={{ height: HEIGHT }}
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const span = findSpan(timeline, box, event.clientX, event.clientY);
          const text =
            span === undefined
              ? ""
              : `${span.label}${span.to > span.from ? ` · ${formatDuration(span.to - span.from)}` : ""}`;
          setHover(span === undefined ? undefined : { left: event.clientX - box.left, text });
        }}
        onPointerLeave={() => setHover(undefined)}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const span = findSpan(timeline, box, event.clientX, event.clientY);
          if (span !== undefined) onOpen(span.seq);
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

function Turns({ turns, onOpen }: { readonly turns: readonly TurnSpan[]; readonly onOpen: (seq: number) => void }) {
  const longest = turns.reduce((most, turn) => Math.max(most, turn.to - turn.from), 1);
  return (
    <VList
      role="list"
      aria-label="Turns"
      tabIndex={0}
      data={turns}
      className="min-h-0 flex-1 rounded-xl border border-line bg-surface focus-visible:-outline-offset-2"
    >
      {(turn) => (
        <div role="listitem" key={turn.turn} className="border-b border-line">
          <button
            type="button"
            onClick={() => onOpen(turn.seq)}
            className="grid w-full grid-cols-[4.5rem_1fr_auto] items-center gap-3 px-3 py-1.5 text-left text-xs tabular-nums hover:bg-hover focus-visible:-outline-offset-2 max-md:min-h-11"
          >
            <span className="font-semibold">{turn.label}</span>
            <span className="flex min-w-0 items-center gap-3">
              <span
                aria-hidden
                className={cx("h-2 shrink-0 rounded-full", turn.isError ? "bg-fail" : "bg-live")}
                style={{ width: `${Math.max(1, ((turn.to - turn.from) / longest) * 40)}%` }}
              />
              <span className="truncate text-ink-3">
                {[
                  turn.tools > 0 && plural(turn.tools, "tool"),
                  turn.edits > 0 && plural(turn.edits, "change"),
                  turn.errors > 0 && plural(turn.errors, "error"),
                ]
                  .filter((part) => part !== false)
                  .join(" · ")}
              </span>
            </span>
            <span className="text-right text-ink-2">
              <span className="max-sm:hidden">{formatClock(turn.startedAt)} · </span>
              {formatDuration(Date.parse(turn.endedAt) - Date.parse(turn.startedAt))} · {formatCost(turn.costUsd)}
            </span>
          </button>
        </div>
      )}
    </VList>
  );
}
