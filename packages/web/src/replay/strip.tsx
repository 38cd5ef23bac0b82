/** What happened along a run, drawn small: turns, tools, waiting, changes, errors. A picture beside the slider that says the same. */
import { eventAtFilm, type Span, type Timeline } from "@drover/contract/views";
import { useAppearance } from "../data/preferences.ts";
import { useDrawing } from "../ui/use-drawing.ts";
import type { Scale } from "./scrubber.tsx";
import type { Player } from "./use-player.ts";

const HEIGHT = 26;

interface StripProps {
  readonly timeline: Timeline;
  /** Where somebody stands, as a share of the whole. */
  readonly share: number;
  /** sandbox_seq of the first event. */
  readonly first: number;
  readonly last: number;
  /** sandbox_seq of the first event that is there to be drawn. */
  readonly loadedFrom: number;
  readonly scale: Scale;
  readonly player: Player;
}

interface Places {
  readonly start: (span: Span) => number;
  readonly end: (span: Pick<Span, "to">) => number;
}

/** Shares of the width: by time, or by number of events, where many may lie at one time. */
function toPlaces({ scale, player: { film }, timeline: { lengthMs }, first, last, loadedFrom }: StripProps): Places {
  const byTime = (ms: number) => (lengthMs === 0 ? 0 : ms / lengthMs);
  if (scale === "time") return { start: (span) => byTime(span.from), end: (span) => byTime(span.to) };
  const length = Math.max(1, last - first);
  return {
    start: (span) => (span.seq - first) / length,
    end: (span) => (loadedFrom - first + Math.max(0, eventAtFilm(film, span.to))) / length,
  };
}

function draw(canvas: HTMLCanvasElement, props: StripProps): void {
  const { timeline, share } = props;
  const width = canvas.clientWidth;
  const ratio = devicePixelRatio;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.scale(ratio, ratio);
  const look = getComputedStyle(canvas);
  const colour = (name: string) => look.getPropertyValue(name);
  const places = toPlaces(props);
  const fill = (from: number, to: number, top: number, height: number) =>
    pen.fillRect(from * width, top, Math.max(1.5, (to - from) * width), height);
  const bar = (span: Span, top: number, height: number) => fill(places.start(span), places.end(span), top, height);
  const mark = (span: Span, top: number) => fill(places.start(span), 0, top, 4);
  timeline.turns.forEach((turn, n) => {
    pen.fillStyle = colour(n % 2 === 0 ? "--line-strong" : "--line");
    const next = timeline.turns[n + 1];
    fill(places.start(turn), next === undefined ? places.end({ to: timeline.lengthMs }) : places.start(next), 0, 6);
  });
  pen.fillStyle = colour("--done");
  for (const tool of timeline.tools) bar(tool, 9, 5);
  pen.fillStyle = colour("--wait");
  for (const wait of timeline.waits) bar(wait, 9, 5);
  pen.fillStyle = colour("--live");
  for (const edit of timeline.edits) mark(edit, 17);
  pen.fillStyle = colour("--fail");
  for (const error of timeline.errors) mark(error, 22);
  pen.fillStyle = colour("--ink");
  pen.fillRect(Math.min(width - 1.5, share * width), 0, 1.5, HEIGHT);
}

export function Strip(props: StripProps) {
  const { canvas } = useDrawing(draw, props);
  const appearance = useAppearance();
  // Slider and steps do the same by keyboard.
  return (
    <canvas
      ref={canvas}
      aria-hidden
      data-dark={appearance.isDark}
      className="block w-full cursor-pointer"
      style={{ height: HEIGHT }}
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        const share = (event.clientX - box.left) / box.width;
        const { player, scale, timeline, first, last } = props;
        if (scale === "time") player.seekFilm(share * timeline.lengthMs);
        else player.seek(first + Math.round(share * (last - first)));
      }}
    />
  );
}
