/** A whole run at one look, beside its feed: what happened where, and which part is seen. A click or a drag goes there, as the keys do. */
import { isFailedRow, type FeedRow } from "@drover/contract/views";
import { useEffect, useMemo, useRef, type KeyboardEvent, type RefObject } from "react";
import type { VListHandle } from "virtua";
import { formatClock } from "../data/format.ts";
import { useAppearance } from "../data/preferences.ts";
import { useSettled } from "../replay/use-settled.ts";

const REDRAWN_EVERY_MS = 500;
/** A short run is not stretched to the height of a long one. */
const ROW_PX = 5;
const LEAST_FRAME_PX = 10;

type Look = readonly [colour: string, width: number];
const PLAIN: Look = ["--line-strong", 0.5];
const FAILED: Look = ["--fail", 1];
/** By what a person looks for: their own words, changes, what needed them. */
const LOOKS: Readonly<Record<FeedRow["kind"], Look>> = {
  message: ["--ink-3", 0.7],
  thinking: ["--line-strong", 0.6],
  person: ["--done", 1],
  tool: PLAIN,
  command: PLAIN,
  reads: ["--line-strong", 0.35],
  edit: ["--live", 0.9],
  todo: ["--line-strong", 0.35],
  permission: ["--wait", 1],
  guardian: ["--mind", 1],
  lifecycle: ["--line-strong", 0.25],
  error: FAILED,
  heartbeats: ["--line", 0.2],
  usage: ["--line", 0.2],
  unknown: ["--line-strong", 0.25],
};
/** What must not vanish where many rows share a pixel is drawn last. */
const LAST: ReadonlySet<Look> = new Set([LOOKS.edit, LOOKS.person, LOOKS.permission, LOOKS.guardian, FAILED]);

const toLook = (row: FeedRow): Look => (isFailedRow(row) ? FAILED : LOOKS[row.kind]);
const toHeight = (rows: number, room: number): number => Math.min(room, rows * ROW_PX);

function draw(canvas: HTMLCanvasElement, rows: readonly FeedRow[], selectedAt: number): void {
  const { clientWidth: width, clientHeight: room } = canvas;
  canvas.width = width * devicePixelRatio;
  canvas.height = room * devicePixelRatio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(devicePixelRatio, devicePixelRatio);
  const style = getComputedStyle(canvas);
  const height = toHeight(rows.length, room);
  const step = height / Math.max(1, rows.length);
  const bar = (at: number, [colour, share]: Look) => {
    pen.fillStyle = style.getPropertyValue(colour);
    pen.fillRect(4, at * step, (width - 8) * share, Math.max(1, step - 1));
  };
  const last: [number, Look][] = [];
  rows.forEach((row, at) => {
    const look = toLook(row);
    if (LAST.has(look)) last.push([at, look]);
    else bar(at, look);
  });
  for (const [at, look] of last) bar(at, look);
  if (selectedAt === -1) return;
  pen.fillStyle = style.getPropertyValue("--ink");
  pen.fillRect(0, selectedAt * step, width, 1.5);
}

interface MinimapProps {
  readonly feedId: string;
  readonly rows: readonly FeedRow[];
  readonly selectedAt: number;
  readonly list: RefObject<VListHandle | null>;
  readonly scroller: HTMLElement;
  /** A person wants to be at this row; past the last one is where the run goes on. */
  readonly onGo: (at: number) => void;
}

export function Minimap({ feedId, rows, selectedAt, list, scroller, onGo }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const bar = useRef<HTMLDivElement>(null);
  const appearance = useAppearance();
  const slow = useSettled(rows, REDRAWN_EVERY_MS);
  const looks = useMemo(() => ({ rows: slow, selectedAt }), [slow, selectedAt]);

  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const again = () => draw(element, looks.rows, looks.selectedAt);
    const observer = new ResizeObserver(again);
    observer.observe(element);
    again();
    return () => observer.disconnect();
  }, [looks, appearance]);

  // Told to the elements themselves: to render for every scrolled pixel would cost what the map is to save.
  useEffect(() => {
    const place = () => {
      const handle = list.current;
      const [box, rail] = [frame.current, bar.current];
      if (handle === null || box === null || rail === null || slow.length === 0) return;
      const first = handle.findItemIndex(handle.scrollOffset);
      const last = handle.findItemIndex(handle.scrollOffset + handle.viewportSize);
      const height = toHeight(slow.length, rail.clientHeight);
      const top = (first / slow.length) * height;
      const tall = Math.max(LEAST_FRAME_PX, ((last + 1 - first) / slow.length) * height);
      box.style.transform = `translateY(${Math.min(top, Math.max(0, height - tall))}px)`;
      box.style.height = `${tall}px`;
      const row = slow[first];
      rail.setAttribute("aria-valuenow", String(first + 1));
      if (row === undefined) return;
      const turn = row.turn === null ? "" : `turn ${row.turn}, `;
      rail.setAttribute("aria-valuetext", `row ${first + 1} of ${slow.length}, ${turn}${formatClock(row.at)}`);
    };
    let asked = 0;
    const onScroll = () => {
      cancelAnimationFrame(asked);
      asked = requestAnimationFrame(place);
    };
    onScroll();
    scroller.addEventListener("scroll", onScroll, { passive: true });
    const observer = new ResizeObserver(onScroll);
    observer.observe(scroller);
    return () => {
      cancelAnimationFrame(asked);
      scroller.removeEventListener("scroll", onScroll);
      observer.disconnect();
    };
  }, [scroller, list, slow]);

  const goTo = (clientY: number) => {
    const rail = bar.current;
    if (rail === null) return;
    const share = (clientY - rail.getBoundingClientRect().top) / toHeight(slow.length, rail.clientHeight);
    onGo(Math.max(0, Math.floor(share * slow.length)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const handle = list.current;
    if (handle === null) return;
    const first = handle.findItemIndex(handle.scrollOffset);
    const page = Math.max(1, handle.findItemIndex(handle.scrollOffset + handle.viewportSize) - first);
    const middle = first + Math.round(page / 2);
    const tenth = Math.max(page, Math.round(rows.length / 10));
    const places: Readonly<Record<string, number>> = {
      ArrowUp: middle - page,
      ArrowDown: middle + page,
      PageUp: middle - tenth,
      PageDown: middle + tenth,
      Home: 0,
      End: rows.length,
    };
    const next = places[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    onGo(Math.max(0, next));
  };

  return (
    <div
      ref={bar}
      role="scrollbar"
      aria-label="Map of the run"
      aria-controls={feedId}
      aria-orientation="vertical"
      aria-valuemin={1}
      aria-valuemax={Math.max(1, slow.length)}
      aria-valuenow={1}
      tabIndex={0}
      data-testid="minimap"
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        goTo(event.clientY);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) goTo(event.clientY);
      }}
      className="relative w-10 shrink-0 cursor-pointer touch-none border-l border-line bg-surface focus-visible:-outline-offset-2 max-md:hidden"
    >
      <canvas ref={canvas} aria-hidden data-dark={appearance.isDark} className="block size-full" />
      <div
        ref={frame}
        aria-hidden
        className="pointer-events-none absolute inset-x-0.5 top-0 rounded-sm border border-ink-3 bg-ink/8"
      />
    </div>
  );
}
