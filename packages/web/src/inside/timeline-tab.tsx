/** A run along its time, money or turns: lanes that can be zoomed, and the turns as a list that says the same. */
import {
  canScale,
  indexOfSeq,
  TIMELINE_SCALES,
  toFilm,
  toSpending,
  toTimeline,
  toTimelineAxis,
  toWindow,
  type LogEvent,
  type Timeline,
  type TimelineScale,
  type TurnSpan,
} from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { VList } from "virtua";
import { formatClock, formatCost, formatCount, formatDuration, plural } from "../data/format.ts";
import { useSettled } from "../replay/use-settled.ts";
import type { RunSearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { Choice } from "../ui/field.tsx";
import { Lanes } from "./timeline-lanes.tsx";

const LISTS = [
  { value: "turns", label: "By turn" },
  { value: "tools", label: "By tool" },
  { value: "files", label: "By file" },
] as const;
const REDRAWN_EVERY_MS = 1_000;
const NAMES: Readonly<Record<TimelineScale, string>> = { time: "Time", cost: "Cost", turns: "Turns" };
/** Each step of the slider doubles. */
const ZOOM_STEPS = 8;
const FINENESS = 4;
const TOLD_AFTER_MS = 300;

interface TimelineTabProps {
  readonly sandboxId: string;
  readonly events: readonly LogEvent[];
  readonly search: Pick<RunSearch, "e" | "by" | "zoom" | "mid" | "list">;
  readonly onOpen: (seq: number) => void;
  readonly onLook: (look: { [K in "by" | "zoom" | "mid" | "list"]?: RunSearch[K] | undefined }) => void;
}

export function TimelineTab({ sandboxId, events, search, onOpen, onLook }: TimelineTabProps) {
  const slow = useSettled(events, REDRAWN_EVERY_MS);
  const timeline = useMemo(() => toTimeline(slow), [slow]);
  const mark = useMemo(
    () => (search.e === undefined ? undefined : toFilm(slow)[indexOfSeq(slow, search.e)]),
    [slow, search.e],
  );
  const by = search.by ?? "time";
  const axis = useMemo(() => toTimelineAxis(timeline, by), [timeline, by]);
  const [look, setLook] = useState({ zoom: search.zoom ?? 1, middle: (search.mid ?? 50) / 100 });
  const shown = toWindow(look.zoom, look.middle);
  useTold(look, onLook);
  if (timeline.turns.length === 0 && timeline.tools.length === 0)
    return (
      <div className="grid min-h-0 flex-1 place-items-center p-6 text-sm text-ink-3">
        Nothing that takes time has happened in this run yet.
      </div>
    );
  const go = (zoom: number, middle: number) => {
    const kept = Math.max(1, Math.min(2 ** ZOOM_STEPS, zoom));
    const { from, to } = toWindow(kept, middle);
    setLook({ zoom: kept, middle: (from + to) / 2 });
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-3 overflow-y-auto p-3 md:p-5">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-xs text-ink-3">
        <Choice
          label="As wide as"
          value={by}
          options={TIMELINE_SCALES.filter((scale) => canScale(timeline, scale)).map((value) => ({
            value,
            label: NAMES[value],
          }))}
          onChange={(scale) => onLook({ by: scale === "time" ? undefined : scale })}
        />
        <span className="flex-1 max-md:hidden" />
        {look.zoom > 1 && (
          <label className="flex items-center gap-2">
            Part
            <input
              type="range"
              aria-label="Part of the run that is shown"
              aria-valuetext={`${Math.round(shown.from * 100)} to ${Math.round(shown.to * 100)} percent of the run`}
              min={0}
              max={1_000}
              value={Math.round(look.middle * 1_000)}
              onChange={({ target }) => go(look.zoom, Number(target.value) / 1_000)}
              className="h-6 w-36 accent-live"
            />
          </label>
        )}
        <span className="flex items-center gap-1">
          <Button look="ghost" size="icon" aria-label="Zoom out" onClick={() => go(look.zoom / 2, look.middle)}>
            <ZoomOut size={15} />
          </Button>
          <input
            type="range"
            aria-label="Zoom"
            aria-valuetext={`${look.zoom.toFixed(1)} times`}
            min={0}
            max={ZOOM_STEPS * FINENESS}
            value={Math.round(Math.log2(look.zoom) * FINENESS)}
            onChange={({ target }) => go(2 ** (Number(target.value) / FINENESS), look.middle)}
            className="h-6 w-28 accent-live"
          />
          <Button look="ghost" size="icon" aria-label="Zoom in" onClick={() => go(look.zoom * 2, look.middle)}>
            <ZoomIn size={15} />
          </Button>
        </span>
      </div>
      <Lanes
        timeline={timeline}
        axis={axis}
        window={shown}
        mark={mark}
        onOpen={onOpen}
        onMove={(middle) => go(look.zoom, middle)}
        onZoom={(factor, share) => {
          const zoom = Math.max(1, Math.min(2 ** ZOOM_STEPS, look.zoom * factor));
          go(zoom, share + (look.middle - share) * (look.zoom / zoom));
        }}
      />
      {search.e !== undefined && mark !== undefined && (
        <Playhead sandboxId={sandboxId} event={slow[indexOfSeq(slow, search.e)]} ms={mark} timeline={timeline} />
      )}
      {timeline.cost.length > 0 && (
        <Choice
          label="Where the money went"
          value={search.list ?? "turns"}
          options={LISTS}
          onChange={(list) => onLook({ list: list === "turns" ? undefined : list })}
        />
      )}
      {search.list === undefined || timeline.cost.length === 0 ? (
        <Turns turns={timeline.turns} onOpen={onOpen} />
      ) : (
        <Spent events={slow} of={search.list} />
      )}
    </div>
  );
}

interface PlayheadProps {
  readonly sandboxId: string;
  readonly event: LogEvent | undefined;
  /** Where in the film it stands. */
  readonly ms: number;
  readonly timeline: Timeline;
}

/** How far the run was at the selected event, and the ways on from there. */
function Playhead({ sandboxId, event, ms, timeline: { turns, cost, edits } }: PlayheadProps) {
  if (event === undefined) return null;
  const turn = turns.findLast(({ from }) => from <= ms)?.turn;
  const usd = cost.findLast(({ at }) => at <= ms)?.usd ?? 0;
  const files = new Set(edits.filter(({ from }) => from <= ms).map(({ label }) => label)).size;
  return (
    <p
      data-testid="playhead"
      className="flex flex-wrap items-center gap-x-4 gap-y-1 px-1 text-xs text-ink-2 tabular-nums"
    >
      <span className="font-semibold text-ink">
        <time dateTime={event.created_at}>{formatClock(event.created_at)}</time>
      </span>
      {turn !== undefined && <span>turn {turn}</span>}
      <span>{formatCost(usd)}</span>
      <span>{plural(files, "file")} changed</span>
      <span className="flex-1" />
      <Link
        to="/sandboxes/$sandboxId"
        params={{ sandboxId }}
        search={{ e: event.sandbox_seq }}
        className="rounded text-live-ink underline underline-offset-2"
      >
        Event {formatCount(event.sandbox_seq)}
      </Link>
      <Link
        to="/sandboxes/$sandboxId/replay"
        params={{ sandboxId }}
        search={{ at: event.sandbox_seq }}
        className="rounded text-live-ink underline underline-offset-2"
      >
        Replay from here
      </Link>
    </p>
  );
}

/** The address follows when a look has come to rest. */
function useTold({ zoom, middle }: { zoom: number; middle: number }, onLook: TimelineTabProps["onLook"]): void {
  const told = useRef({ zoom, middle });
  useEffect(() => {
    if (told.current.zoom === zoom && told.current.middle === middle) return;
    const timer = setTimeout(() => {
      told.current = { zoom, middle };
      onLook({
        zoom: zoom === 1 ? undefined : Number(zoom.toFixed(2)),
        mid: zoom === 1 ? undefined : Number((middle * 100).toFixed(2)),
      });
    }, TOLD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [zoom, middle, onLook]);
}

function Turns({ turns, onOpen }: { readonly turns: readonly TurnSpan[]; readonly onOpen: (seq: number) => void }) {
  const longest = turns.reduce((most, turn) => Math.max(most, turn.to - turn.from), 1);
  return (
    <VList
      role="list"
      aria-label="Turns"
      tabIndex={0}
      data={turns}
      className="min-h-40 flex-1 rounded-xl border border-line bg-surface focus-visible:-outline-offset-2"
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
                className="h-2 shrink-0 rounded-full bg-live"
                style={{ width: `${Math.max(1, ((turn.to - turn.from) / longest) * 40)}%` }}
              />
              <span className="truncate text-ink-3">
                {[turn.tools > 0 && plural(turn.tools, "tool"), turn.edits > 0 && plural(turn.edits, "change")]
                  .filter((part) => part !== false)
                  .join(" · ")}
                {turn.errors > 0 && (
                  <span className="text-fail-ink">
                    {turn.tools + turn.edits > 0 && " · "}
                    {plural(turn.errors, "error")}
                  </span>
                )}
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

const SPENT_SHOWN = 100;

/** What the calls of models led to, and what they cost. */
function Spent({ events, of }: { readonly events: readonly LogEvent[]; readonly of: "tools" | "files" }) {
  const items = useMemo(() => toSpending(events)[of], [events, of]);
  const most = items[0]?.usd ?? 0;
  return (
    <div
      role="region"
      aria-label="Where the money went"
      tabIndex={0}
      className="min-h-40 flex-1 overflow-y-auto rounded-xl border border-line bg-surface focus-visible:-outline-offset-2"
    >
      <ol className="divide-y divide-line">
        {items.slice(0, SPENT_SHOWN).map(({ name, usd, calls }) => (
          <li
            key={name}
            className="grid grid-cols-[minmax(0,1fr)_6rem_auto] items-center gap-3 px-3 py-1.5 text-xs tabular-nums"
          >
            <span className="truncate font-mono" title={name}>
              {name}
            </span>
            <span aria-hidden className="h-2 rounded-full bg-sunken">
              <span
                className="block h-full rounded-full bg-mind"
                style={{ width: `${most === 0 ? 0 : (usd / most) * 100}%` }}
              />
            </span>
            <span className="text-right text-ink-2">
              {formatCost(usd)} · {plural(calls, "call")}
            </span>
          </li>
        ))}
      </ol>
      {items.length === 0 && <p className="p-4 text-xs text-ink-3">No call led to one yet.</p>}
      <p className="border-t border-line px-3 py-2 text-2xs text-ink-3">
        Each call of a model counts for what it led to, until the next call; in equal parts where that was more than
        one.
      </p>
    </div>
  );
}
