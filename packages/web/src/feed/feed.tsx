/** The feed of a run: virtual, following its end until a person scrolls up, and never moving what is being read. */
import type { FeedRow } from "@drover/contract/views";
import { ArrowDown } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { useKeys } from "../app/keys.ts";
import { plural } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";
import { Kbd } from "../ui/kbd.tsx";
import { Row } from "./row.tsx";
import { useRunContext } from "./run-context.tsx";
import { useFollow } from "./use-follow.ts";

const Minimap = lazy(() => import("./minimap.tsx").then((module) => ({ default: module.Minimap })));

/** What is seen at one look anyway needs no map. */
const MAPPED_ROWS = 12;

interface FeedProps {
  readonly rows: readonly FeedRow[];
  /** The change to these rows was at their start. */
  readonly isPastChanged: boolean;
  /** sandbox_seq of the newest event, shown or filtered. */
  readonly head: number;
  /** sandbox_seq of the event in the address. */
  readonly selected: number | undefined;
  readonly onSelect: (seq: number) => void;
  readonly label: string;
  /** sandbox_seq of the first row that came while this person was away. */
  readonly newFrom?: number | undefined;
  /** The whole run at one look, beside it. */
  readonly hasMap?: boolean;
}

/** The last row that begins at or before the event; -1 while it is not loaded. */
function findRow(rows: readonly FeedRow[], seq: number | undefined): number {
  if (seq === undefined || rows.length === 0 || (rows[0]?.seq ?? 0) > seq) return -1;
  let low = 0;
  let high = rows.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((rows[middle]?.seq ?? 0) <= seq) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Rows with which a turn begins: their number in the log, and the turn. */
function findTurns(rows: readonly FeedRow[]): ReadonlyMap<number, number> {
  const starts = new Map<number, number>();
  let turn = 0;
  for (const row of rows) {
    if (row.turn === null || row.turn <= turn) continue;
    turn = row.turn;
    starts.set(row.seq, turn);
  }
  return starts;
}

export function Feed({ rows, isPastChanged, head, selected, onSelect, label, newFrom, hasMap = false }: FeedProps) {
  const { onCopyLink, onFullDiff, openness } = useRunContext();
  const feedId = useId();
  const list = useRef<VListHandle>(null);
  const [scroller, setScroller] = useState<HTMLElement | null>(null);
  const attach = useCallback(
    (frame: HTMLElement | null) => setScroller(frame?.querySelector<HTMLElement>("[role=feed]") ?? null),
    [],
  );
  const { isFollowing, missed, pause, resume, isOn } = useFollow(scroller, selected === undefined, head);

  useLayoutEffect(() => {
    if (isFollowing) scroller?.scrollTo({ top: scroller.scrollHeight });
  }, [isFollowing, scroller]);

  // Rows came, a row grew after it was drawn, or the view changed its size. Told after the layout that was due anyway: to scroll
  // when rows are written would ask for one of its own.
  useEffect(() => {
    if (scroller === null) return;
    const observer = new ResizeObserver(() => {
      if (isOn()) scroller.scrollTop = scroller.scrollHeight;
    });
    observer.observe(scroller);
    for (const child of scroller.children) observer.observe(child);
    return () => observer.disconnect();
  }, [scroller, isOn]);

  const selectedAt = findRow(rows, selected);
  const selectedRow = rows[selectedAt];
  // The event of the address is brought into view as soon as it is loaded; later selections only as far as needed.
  const shown = useRef<number>(undefined);
  useLayoutEffect(() => {
    if (selected === undefined || selectedAt === -1 || shown.current === selected) return;
    // Whoever goes to an event wants to stay there.
    if (shown.current !== undefined || !isOn()) pause();
    list.current?.scrollToIndex(selectedAt, { align: shown.current === undefined ? "center" : "nearest" });
    shown.current = selected;
  }, [selected, selectedAt, isOn, pause]);

  const turns = useMemo(() => findTurns(rows), [rows]);
  const goToTurn = (step: 1 | -1) => {
    const seqs = [...turns.keys()];
    const here = selectedRow?.seq ?? rows[firstVisible(list.current)]?.seq ?? 0;
    const next = step === 1 ? seqs.find((seq) => seq > here) : seqs.findLast((seq) => seq < here);
    if (next !== undefined) select(findRow(rows, next));
  };

  const select = (at: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at))];
    if (row === undefined) return;
    pause();
    onSelect(row.seq);
  };
  useKeys({
    nextEvent: () => select(selectedAt === -1 ? firstVisible(list.current) : selectedAt + 1),
    previousEvent: () => select(selectedAt === -1 ? rows.length - 1 : selectedAt - 1),
    nextTurn: () => goToTurn(1),
    previousTurn: () => goToTurn(-1),
    live: resume,
    start: () => {
      pause();
      list.current?.scrollToIndex(0, { align: "start" });
    },
    expand: () => {
      if (selectedRow === undefined) return;
      scroller?.querySelector<HTMLElement>(`[data-seq="${selectedRow.seq}"] [data-toggle]`)?.click();
    },
    expandAll: () => openness.toggleAll(),
    copyLink: () => selectedRow !== undefined && onCopyLink(selectedRow.seq),
    fullDiff: () => selectedRow?.kind === "edit" && selectedRow.edits.length > 0 && onFullDiff(selectedRow.seq, 0),
  });

  const goTo = (at: number) => {
    if (at >= rows.length) return resume();
    pause();
    list.current?.scrollToIndex(at, { align: "center" });
  };

  return (
    <div
      ref={attach}
      className="@container relative flex min-h-0 flex-1"
      data-testid="feed"
      data-rows={rows.length}
      data-head={head}
    >
      <VList
        ref={list}
        id={feedId}
        role="feed"
        aria-label={label}
        tabIndex={0}
        data={rows}
        shift={isPastChanged}
        className="h-full min-w-0 flex-1 py-3 focus-visible:-outline-offset-2"
        data-following={isFollowing}
      >
        {(row, at) => (
          <article
            key={row.seq}
            aria-posinset={at + 1}
            aria-setsize={rows.length}
            aria-label={`Event ${row.seq}, ${row.kind}`}
            data-seq={row.seq}
            data-kind={row.kind}
            className={cx(at === selectedAt && "bg-live-soft/60 shadow-[inset_2px_0_0_var(--live)]")}
          >
            {row.seq === newFrom && <NewLine />}
            {turns.has(row.seq) && <TurnLine turn={turns.get(row.seq) ?? 0} />}
            <Row row={row} />
          </article>
        )}
      </VList>
      {hasMap && scroller !== null && rows.length > MAPPED_ROWS && (
        <Suspense fallback={<div className="w-10 shrink-0 border-l border-line bg-surface max-md:hidden" />}>
          <Minimap feedId={feedId} rows={rows} selectedAt={selectedAt} list={list} scroller={scroller} onGo={goTo} />
        </Suspense>
      )}
      {!isFollowing && (
        <button
          type="button"
          onClick={resume}
          className="absolute bottom-3 left-1/2 flex h-9 -translate-x-1/2 animate-enter items-center gap-2 rounded-full bg-solid px-4 text-xs font-semibold whitespace-nowrap text-on-solid shadow-lift"
        >
          <ArrowDown size={14} aria-hidden />
          <span className="tabular-nums">
            {missed === 0 ? "Jump to live" : `${plural(missed, "new event")} · jump to live`}
          </span>
          <Kbd action="live" />
        </button>
      )}
    </div>
  );
}

const TurnLine = ({ turn }: { readonly turn: number }) => (
  <div className="flex items-center gap-3 px-3 pt-2 pb-1 text-2xs font-semibold text-ink-3 @2xl:px-5" data-turn={turn}>
    Turn {turn}
    <span aria-hidden className="h-px flex-1 bg-line" />
  </div>
);

const NewLine = () => (
  <div
    data-testid="new-from"
    className="flex items-center gap-3 px-3 pt-2 pb-1 text-2xs font-semibold text-done-ink @2xl:px-5"
  >
    New since you were here
    <span aria-hidden className="h-px flex-1 bg-done" />
  </div>
);

const firstVisible = (list: VListHandle | null): number =>
  list === null ? 0 : list.findItemIndex(list.scrollOffset + 24);
