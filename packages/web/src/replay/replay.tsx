/** Any moment of a run: its feed, terminal, files and figures as they were, and a scrubber over all of it. */
import type { Moment, Sandbox } from "@drover/contract";
import {
  indexOfSeq,
  listStops,
  ReplayTrack,
  rowOfSeq,
  toTimeline,
  type FeedView,
  type PersonRow,
} from "@drover/contract/views";
import type { LogEvent } from "@drover/client";
import { useQuery } from "@tanstack/react-query";
import { FolderTree, GitFork, ListTree, Link2, MessageSquareText, SquareTerminal } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState, type ReactNode } from "react";
import { formatClock, formatCost, formatCount, formatDay, plural } from "../data/format.ts";
import { useRun } from "../data/use-run.ts";
import { Feed } from "../feed/feed.tsx";
import { FullDiff } from "../feed/full-diff.tsx";
import { MessageList } from "../feed/message-list.tsx";
import { Openness, RunContext } from "../feed/run-context.tsx";
import type { ReplayPane, ReplaySearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/class-names.ts";
import { copyText } from "../ui/copy.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { MomentFiles } from "./moment-files.tsx";
import { momentQuery } from "./queries.ts";
import { Scrubber } from "./scrubber.tsx";
import { usePlayer, type Speed } from "./use-player.ts";
import { useSettled } from "./use-settled.ts";

// A terminal is heavy, and few look at it.
const MomentTerminal = lazy(() =>
  import("./moment-terminal.tsx").then((module) => ({ default: module.MomentTerminal })),
);

const PANES = {
  files: { label: "Files", icon: FolderTree },
  terminal: { label: "Terminal", icon: SquareTerminal },
  messages: { label: "Messages", icon: MessageSquareText },
  feed: { label: "Feed", icon: ListTree },
} as const satisfies Record<ReplayPane, unknown>;

const NO_EVENTS: readonly LogEvent[] = [];
/** While a run goes on, its strip is drawn anew at most this often. */
const REDRAWN_EVERY_MS = 1_000;
const SETTLED_MS = 150;

interface ReplayProps {
  readonly sandbox: Sandbox;
  readonly search: ReplaySearch;
  readonly onChange: (part: { [K in keyof ReplaySearch]?: ReplaySearch[K] | undefined }) => void;
  readonly mayOperate: boolean;
}

export function Replay({ sandbox, search, onChange, mayOperate }: ReplayProps) {
  const { run } = useRun(sandbox.id);
  const events = run.log?.events ?? NO_EVENTS;
  if (run.log?.error !== undefined)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={run.log.error} what="This run could not be opened" onRetry={() => location.reload()} />
      </div>
    );
  if (events.length === 0 || run.log?.isLoading === true)
    return (
      <div className="grid h-full place-items-center p-6 text-sm text-ink-3" role="status">
        {run.log?.isLoading === false ? (
          "Nothing has happened in this run yet."
        ) : (
          <Loading count={events.length} of={sandbox.event_count} />
        )}
      </div>
    );
  return (
    <Loaded
      sandbox={sandbox}
      search={search}
      onChange={onChange}
      mayOperate={mayOperate}
      events={events}
      live={run.view}
    />
  );
}

const Loading = ({ count, of }: { readonly count: number; readonly of: number }) => (
  <span className="tabular-nums">
    Reading the run, {formatCount(count)} of {formatCount(of)} events
  </span>
);

interface LoadedProps extends ReplayProps {
  readonly events: readonly LogEvent[];
  readonly live: FeedView;
}

function Loaded({ sandbox, search, onChange, mayOperate, events, live }: LoadedProps) {
  const [track] = useState(() => new ReplayTrack());
  const [openness] = useState(() => new Openness());
  const [isForking, setForking] = useState(false);
  const [diff, setDiff] = useState<{ readonly seq: number; readonly at: number }>();
  const speed = search.speed ?? "1";
  const player = usePlayer({
    events,
    told: search.at,
    speed,
    onMove: useCallback((at: number | undefined) => onChange({ at }), [onChange]),
  });
  const slow = useSettled(events, REDRAWN_EVERY_MS);
  const stops = useMemo(() => listStops(slow), [slow]);
  const timeline = useMemo(() => toTimeline(slow), [slow]);
  const last = events.at(-1)?.sandbox_seq ?? 0;
  const { at, isPlaying } = player;
  const view = useMemo(() => (at >= last ? live : track.at(events, at)), [track, events, live, at, last]);
  const event = events[indexOfSeq(events, at)];
  const { moment, files, checkpoint } = useMoment(sandbox.id, events, at, isPlaying);
  const pane = search.pane ?? "files";

  const copyLink = useCallback(async (seq: number) => {
    const link = new URL(location.href);
    link.searchParams.set("at", String(seq));
    if (await copyText(link.href)) notify.good(`Link to event ${seq} copied`);
    else notify.bad("The browser did not allow copying.");
  }, []);
  const context = useMemo(
    () => ({
      sandboxId: sandbox.id,
      openness,
      mayAnswer: false,
      onFullDiff: (seq: number, place: number) => setDiff({ seq, at: place }),
      onCopyLink: (seq: number) => void copyLink(seq),
    }),
    [sandbox.id, openness, copyLink],
  );
  const diffRow = diff === undefined ? undefined : view.rows[rowOfSeq(view, diff.seq)];
  const edit = diffRow?.kind === "edit" ? diffRow.edits[diff?.at ?? 0] : undefined;

  return (
    <RunContext.Provider value={context}>
      <div className="flex h-full min-h-0 flex-col" data-testid="replay" data-at={at} data-playing={isPlaying}>
        <Figures view={view} moment={moment} event={event}>
          <Button size="small" onClick={() => void copyLink(at)}>
            <Link2 size={13} /> <span className="max-md:sr-only">Link to this moment</span>
          </Button>
          {mayOperate && (
            <Button size="small" look="solid" onClick={() => setForking(true)}>
              <GitFork size={13} /> Fork from here
            </Button>
          )}
        </Figures>
        <nav
          aria-label="What to look at"
          className="flex shrink-0 gap-0.5 overflow-x-auto border-b border-line px-2 md:px-4"
        >
          {(Object.keys(PANES) as ReplayPane[]).map((name) => {
            const { label, icon: Icon } = PANES[name];
            return (
              <button
                key={name}
                type="button"
                aria-current={name === pane ? "page" : undefined}
                onClick={() => onChange({ pane: name === "files" ? undefined : name })}
                className={cx(
                  "relative inline-flex h-9 shrink-0 items-center gap-1.5 px-2.5 text-xs font-medium focus-visible:-outline-offset-2 max-md:h-11",
                  name === "feed" && "lg:hidden",
                  name === pane
                    ? "text-ink after:absolute after:inset-x-1.5 after:bottom-0 after:h-0.5 after:rounded-full after:bg-live"
                    : "text-ink-3 hover:text-ink",
                )}
              >
                <Icon size={14} aria-hidden /> {label}
              </button>
            );
          })}
        </nav>
        <div className="flex min-h-0 flex-1">
          <div className={cx("flex min-h-0 min-w-0 flex-1 flex-col", pane === "feed" && "max-lg:hidden")}>
            {pane === "terminal" ? (
              <Suspense fallback={<div className="skeleton m-4 h-60" />}>
                <MomentTerminal sandboxId={sandbox.id} view={view} at={event?.created_at} />
              </Suspense>
            ) : pane === "messages" ? (
              <MessageList sandboxId={sandbox.id} view={view} onOpen={player.seek} />
            ) : (
              <MomentFiles
                sandboxId={sandbox.id}
                rows={view.rows}
                moment={files}
                seq={checkpoint}
                file={search.file}
                look={search.look ?? "diff"}
                onOpen={(file) => onChange({ file })}
                onLook={(look) => onChange({ look: look === "diff" ? undefined : look })}
              />
            )}
          </div>
          <div
            className={cx(
              "flex min-h-0 min-w-0 flex-col border-line lg:w-[27rem] lg:border-l xl:w-[34rem]",
              pane === "feed" ? "flex-1 lg:flex-none" : "max-lg:hidden",
            )}
          >
            <Feed
              rows={view.rows}
              isPastChanged={false}
              head={at}
              selected={undefined}
              onSelect={player.seek}
              label="Events up to this moment"
            />
          </div>
        </div>
        <Scrubber
          player={player}
          first={events[0]?.sandbox_seq ?? 1}
          last={last}
          stops={stops}
          timeline={timeline}
          speed={speed}
          scale={search.by ?? "seq"}
          onSpeed={(next: Speed) => onChange({ speed: next === "1" ? undefined : next })}
          onScale={(by) => onChange({ by: by === "seq" ? undefined : by })}
        />
      </div>
      {edit !== undefined && <FullDiff sandboxId={sandbox.id} edit={edit} onClose={() => setDiff(undefined)} />}
      {isForking && event !== undefined && (
        <ForkDialog sandbox={sandbox} seq={event.seq} at={at} isEnd={at >= last} onClose={() => setForking(false)} />
      )}
    </RunContext.Provider>
  );
}

/** Exact while nothing moves; files whenever another checkpoint holds them. */
function useMoment(sandboxId: string, events: readonly LogEvent[], at: number, isPlaying: boolean) {
  const checkpoints = useMemo(() => events.filter((event) => event.event_type === "workspace.checkpoint"), [events]);
  const checkpoint = useSettled(checkpoints.findLast((event) => event.sandbox_seq <= at)?.seq, SETTLED_MS);
  const here = useSettled(events[indexOfSeq(events, at)]?.seq ?? 0, SETTLED_MS);
  const exact = useQuery({ ...momentQuery(sandboxId, here), enabled: !isPlaying && here > 0 });
  const kept = useQuery({ ...momentQuery(sandboxId, checkpoint ?? 0), enabled: checkpoint !== undefined });
  return {
    moment: exact.data,
    files: checkpoint === undefined ? undefined : kept.isPlaceholderData ? undefined : kept.data,
    checkpoint,
  };
}

interface FiguresProps {
  readonly view: FeedView;
  readonly moment: Moment | undefined;
  readonly event: LogEvent | undefined;
  readonly children: ReactNode;
}

const isPerson = (row: FeedView["rows"][number]): row is PersonRow => row.kind === "person";

function Figures({ view, moment, event, children }: FiguresProps) {
  const people = view.rows.filter(isPerson);
  const waiting = people.filter((row) => !["seen", "failed", "expired"].includes(row.steps.at(-1)?.state ?? "seen"));
  const verdict = moment?.verdict ?? null;
  const done = view.todo.filter((item) => item.state === "done").length;
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5 border-b border-line px-3 py-2 text-xs text-ink-3 tabular-nums md:px-5">
      {moment !== undefined && <StateBadge state={moment.state.state} />}
      <dl
        className="flex min-w-0 flex-1 flex-wrap items-baseline gap-x-4 gap-y-1 max-md:order-last max-md:w-full max-md:flex-none"
        data-testid="figures"
      >
        {event !== undefined && (
          <Figure name="at">
            <time dateTime={event.created_at} title={formatDay(event.created_at)}>
              {formatClock(event.created_at)}
            </time>
          </Figure>
        )}
        <Figure name="turn">{view.turn}</Figure>
        <Figure name="changed">{plural(view.files.size, "file")}</Figure>
        <Figure name="cost">{formatCost(view.spent.costUsd)}</Figure>
        {view.todo.length > 0 && (
          <Figure name="plan">
            {done}/{view.todo.length}
          </Figure>
        )}
        {people.length > 0 && (
          <Figure name="messages">
            {people.length}
            {waiting.length > 0 && ` (${waiting.length} waiting)`}
          </Figure>
        )}
        {verdict !== null && (
          <Figure name="guardian">
            <span
              className={verdict.trajectory_aligned ? "text-live-ink" : "text-fail-ink"}
              title={verdict.trajectory_summary}
            >
              {verdict.trajectory_aligned ? "aligned" : "drifting"} {verdict.alignment_score.toFixed(2)}
            </span>
          </Figure>
        )}
      </dl>
      <div className="flex items-center gap-2 max-md:ml-auto">{children}</div>
    </div>
  );
}

function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-baseline gap-1">
      <dt>{name}</dt>
      <dd className="font-semibold text-ink-2">{children}</dd>
    </div>
  );
}
