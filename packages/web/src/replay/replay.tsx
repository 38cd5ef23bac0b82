/** Any moment of a run: its feed, terminal, files and figures as they were, and a scrubber over all of it. */
import type { Sandbox } from "@drover/contract";
import { indexOfSeq, listStops, ReplayTrack, rowOfSeq, toTimeline, type FeedView } from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { FolderTree, GitFork, ListTree, Link2, MessageSquareText, SquareTerminal } from "lucide-react";
import { lazy, Suspense, useCallback, useMemo, useState } from "react";
import { useRun } from "../data/use-run.ts";
import { Feed } from "../feed/feed.tsx";
import { FullDiff } from "../feed/full-diff.tsx";
import { MessageList } from "../feed/message-list.tsx";
import { Openness, RunContext } from "../feed/run-context.tsx";
import type { ReplayPane, ReplaySearch } from "../search-params.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { Figures } from "./figures.tsx";
import { ForkDialog } from "./fork-dialog.tsx";
import { MomentFiles } from "./moment-files.tsx";
import { Panes } from "./panes.tsx";
import { momentQuery } from "./queries.ts";
import { Scrubber } from "./scrubber.tsx";
import { usePlayer, type Speed } from "./use-player.ts";
import { useReplayLog, type ReplayLog } from "./use-replay-log.ts";
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
  const log = useReplayLog(sandbox.id, run.log, search.at);
  if (run.log?.error !== undefined)
    return (
      <div className="grid h-full place-items-center p-6">
        <Problem error={run.log.error} what="This run could not be opened" onRetry={() => location.reload()} />
      </div>
    );
  if (log.events.length === 0)
    return (
      <div className="grid h-full place-items-center p-6 text-sm text-ink-3" role="status">
        {log.isWhole ? "Nothing has happened in this run yet." : "Reading the run"}
      </div>
    );
  return (
    <Loaded sandbox={sandbox} search={search} onChange={onChange} mayOperate={mayOperate} log={log} live={run.view} />
  );
}

interface LoadedProps extends ReplayProps {
  readonly log: ReplayLog;
  readonly live: FeedView;
}

function Loaded({ sandbox, search, onChange, mayOperate, log, live }: LoadedProps) {
  const { events, isWhole, last } = log;
  const [track] = useState(() => new ReplayTrack());
  const [openness] = useState(() => new Openness());
  const [isForking, setForking] = useState(false);
  const [diff, setDiff] = useState<{ readonly seq: number; readonly at: number }>();
  const speed = search.speed ?? "1";
  const player = usePlayer({
    log,
    told: search.at,
    speed,
    onMove: useCallback((to: number | undefined) => onChange({ at: to }), [onChange]),
  });
  const slow = useSettled(events, REDRAWN_EVERY_MS);
  const stops = useMemo(() => listStops(slow), [slow]);
  const timeline = useMemo(() => toTimeline(slow), [slow]);
  const { at, isPlaying } = player;
  const event = events[indexOfSeq(events, at)];
  const isHere = event?.sandbox_seq === at;
  const view = useMemo(() => (at >= last ? live : track.at(events, at)), [track, events, live, at, last]);
  const { moment, files, checkpoint } = useMoment(sandbox.id, log, isHere ? at : undefined, isPlaying);
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
      <div
        className="flex h-full min-h-0 flex-col overflow-y-auto [&>.flex-1]:min-h-52"
        data-testid="replay"
        data-at={at}
        data-playing={isPlaying}
      >
        <Figures view={view} moment={moment} event={isHere ? event : undefined} isWhole={isWhole}>
          <Button size="small" onClick={() => void copyLink(at)}>
            <Link2 size={13} /> <span className="max-md:sr-only">Link to this moment</span>
          </Button>
          {mayOperate && (
            <Button size="small" look="solid" onClick={() => setForking(true)}>
              <GitFork size={13} /> Fork from here
            </Button>
          )}
        </Figures>
        <Panes
          panes={PANES}
          pane={pane}
          onPane={(name) => onChange({ pane: name === "files" ? undefined : name })}
          feed={
            isHere ? (
              <Feed
                // What came before it stands above it then: another list, at its end as this one was.
                key={String(isWhole)}
                rows={view.rows}
                isPastChanged={false}
                head={at}
                selected={undefined}
                onSelect={player.seek}
                label="Events up to this moment"
              />
            ) : (
              <div className="skeleton m-4 h-60" role="status" aria-label="Reading this moment" />
            )
          }
        >
          {!isHere ? (
            <div className="skeleton m-4 h-60" />
          ) : pane === "terminal" ? (
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
        </Panes>
        <Scrubber
          player={player}
          log={log}
          stops={stops}
          timeline={timeline}
          speed={speed}
          scale={search.by ?? "seq"}
          onSpeed={(next: Speed) => onChange({ speed: next === "1" ? undefined : next })}
          onScale={(by) => onChange({ by: by === "seq" ? undefined : by })}
        />
      </div>
      {edit !== undefined && <FullDiff sandboxId={sandbox.id} edit={edit} onClose={() => setDiff(undefined)} />}
      {isForking && isHere && (
        <ForkDialog sandbox={sandbox} seq={event.seq} at={at} isEnd={at >= last} onClose={() => setForking(false)} />
      )}
    </RunContext.Provider>
  );
}

/** Exact while nothing moves; files whenever another checkpoint holds them. */
function useMoment(sandboxId: string, { events, isWhole }: ReplayLog, at: number | undefined, isPlaying: boolean) {
  const checkpoints = useMemo(() => events.filter((event) => event.event_type === "workspace.checkpoint"), [events]);
  const own = at === undefined ? undefined : events[indexOfSeq(events, at)]?.seq;
  const known = checkpoints.findLast((event) => event.sandbox_seq <= (at ?? 0))?.seq;
  // Where the checkpoint is not among what has come, the server finds it.
  const checkpoint = useSettled(known ?? (isWhole ? undefined : own), SETTLED_MS);
  const here = useSettled(own ?? 0, SETTLED_MS);
  const exact = useQuery({ ...momentQuery(sandboxId, here), enabled: !isPlaying && here > 0 });
  const kept = useQuery({ ...momentQuery(sandboxId, checkpoint ?? 0), enabled: checkpoint !== undefined });
  return {
    moment: exact.data,
    files: checkpoint === undefined ? undefined : kept.isPlaceholderData ? undefined : kept.data,
    checkpoint,
  };
}
