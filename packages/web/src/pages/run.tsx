/** One run: its feed, live; what it is about; and the message box. */
import type { LogEvent } from "@drover/client";
import { TERMINAL_SANDBOX_STATES, VERBS_OF_ROLE, type Sandbox } from "@drover/contract";
import {
  createFinder,
  FEED_GROUPS,
  isFailedRow,
  rowOfSeq,
  toGroup,
  type FeedGroup,
  type FeedView,
  type PersonRow,
} from "@drover/contract/views";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useState } from "react";
import { useKeys } from "../app/keys.ts";
import { TopBar } from "../app/top-bar-slot.tsx";
import { isEchoed, keepDraft, readDraft, useOutbox } from "../data/outbox.ts";
import { queryClient, sandboxesQuery, sandboxQuery, whoamiQuery } from "../data/queries.ts";
import { useRun } from "../data/use-run.ts";
import { Announcer } from "../feed/announcer.tsx";
import { Composer } from "../feed/composer.tsx";
import { ContextPanel } from "../feed/context-panel.tsx";
import { Feed } from "../feed/feed.tsx";
import { FilterBar, type Landmark } from "../feed/filter-bar.tsx";
import { OutgoingMessages } from "../feed/outgoing.tsx";
import { FullDiff } from "../feed/full-diff.tsx";
import { Openness, RunContext } from "../feed/run-context.tsx";
import { parseKinds, parseRunSearch, toTabSearch, type RunSearch, type RunTab } from "../search-params.ts";
import { copyText } from "../ui/copy.tsx";
import { Problem } from "../ui/problem.tsx";
import { useConnectionOf, useKeptTrue, useLookAtSteps } from "./follow-run.ts";
import { RunHeader } from "./run-header.tsx";
import { notify } from "../ui/notify.ts";
import { Provisioning } from "./provisioning.tsx";
import { useMoment } from "./use-moment.ts";
import { RunTabs } from "./run-tabs.tsx";

// Few look into them, and a terminal is heavy: each comes when it is opened.
const ChangesTab = lazy(() => import("../inside/changes-tab.tsx").then((module) => ({ default: module.ChangesTab })));
const TerminalTab = lazy(() =>
  import("../inside/terminal-tab.tsx").then((module) => ({ default: module.TerminalTab })),
);
const WhileAway = lazy(() => import("../feed/while-away.tsx").then((module) => ({ default: module.WhileAway })));
const RawEvents = lazy(() => import("../feed/raw-events.tsx").then((module) => ({ default: module.RawEvents })));
const FilesTab = lazy(() => import("../inside/files-tab.tsx").then((module) => ({ default: module.FilesTab })));
const MessageList = lazy(() => import("../feed/message-list.tsx").then((module) => ({ default: module.MessageList })));
const TimelineTab = lazy(() =>
  import("../inside/timeline-tab.tsx").then((module) => ({ default: module.TimelineTab })),
);
const DetailsTab = lazy(() => import("../inside/details-tab.tsx").then((module) => ({ default: module.DetailsTab })));
const HowItEnded = lazy(() => import("./how-it-ended.tsx").then((module) => ({ default: module.HowItEnded })));
const GitTab = lazy(() => import("../inside/git-tab.tsx").then((module) => ({ default: module.GitTab })));

const NO_EVENTS: readonly LogEvent[] = [];
const isOver = ({ state }: Sandbox): boolean => TERMINAL_SANDBOX_STATES.has(state) || state === "completed";
const WORKSPACE = "/workspace";
/** Its health and its pull request stand in no event of its log. */
const STANDING_EVERY_MS = 15_000;

export function RunPage() {
  const { sandboxId } = useParams({ from: "/inside/sandboxes/$sandboxId" });
  // Another run is another page: nothing of the old one may stay.
  return <Run key={sandboxId} sandboxId={sandboxId} />;
}

function Run({ sandboxId }: { readonly sandboxId: string }) {
  const search = parseRunSearch(useSearch({ from: "/inside/sandboxes/$sandboxId" }));
  const navigate = useNavigate({ from: "/sandboxes/$sandboxId" });
  const sandbox = useQuery({
    ...sandboxQuery(sandboxId),
    refetchInterval: ({ state: { data } }) =>
      data === undefined || TERMINAL_SANDBOX_STATES.has(data.state) ? false : STANDING_EVERY_MS,
  });
  const whoami = useQuery(whoamiQuery);
  const { run, store } = useRun(sandboxId);
  const { view, log } = run;
  const [diff, setDiff] = useState<{ readonly seq: number; readonly at: number }>();
  const [isRaw, setRaw] = useState(false);
  const [isAbout, setAbout] = useState(false);
  const [newFrom, setNewFrom] = useState<number>();
  const [openness] = useState(() => new Openness());
  // The message box reads its draft when it is made: another draft is another box.
  const [draft, setDraft] = useState(0);
  const [first, setFirst] = useState<"steer" | "interrupt">("steer");

  useKeptTrue(sandboxId, run);
  useLookAtSteps(sandboxId, run);
  useConnectionOf(sandboxId, run, store.wake);
  useEffect(() => {
    document.title = `${sandbox.data?.prompt?.split("\n", 1)[0] ?? sandboxId} · Drover`;
  }, [sandbox.data?.prompt, sandboxId]);

  const change = useCallback(
    (part: { [K in keyof RunSearch]?: RunSearch[K] | undefined }) =>
      void navigate({ search: (old) => parseRunSearch({ ...old, ...part }), replace: true }),
    [navigate],
  );
  const openReplay = useCallback(
    (at: number | undefined) =>
      void navigate({
        to: "/sandboxes/$sandboxId/replay",
        params: { sandboxId },
        search: at === undefined ? {} : { at },
      }),
    [navigate, sandboxId],
  );
  useMoment(sandboxId, search.seq, (e) => change({ seq: undefined, e }));
  const openBeside = async (step: 1 | -1) => {
    const { pages } = await queryClient.fetchInfiniteQuery(sandboxesQuery({}));
    const ids = pages.flatMap((page) => page.items.map(({ id }) => id as string));
    const next = ids[ids.indexOf(sandboxId) + step];
    if (next !== undefined) void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: next } });
  };
  // Whoever comes back to the feed later did not come to write.
  const [lastTab, setLastTab] = useState(search.tab);
  if (lastTab !== search.tab) {
    setLastTab(search.tab);
    if (search.tab !== undefined) setDraft(0);
  }
  const writeFirst = (mode: typeof first) => {
    setFirst(mode);
    setDraft((old) => old + 1);
    goTo("activity");
  };
  const goTo = (tab: RunTab) => void navigate({ search: toTabSearch(tab, search.e), replace: true });
  useKeys({
    tabActivity: () => goTo("activity"),
    tabChanges: () => goTo("changes"),
    tabTerminal: () => goTo("terminal"),
    tabFiles: () => goTo("files"),
    tabMessages: () => goTo("messages"),
    tabTimeline: () => goTo("timeline"),
    tabDetails: () => goTo("details"),
    tabGit: () => goTo("git"),
    replay: () => openReplay(search.e),
    look: ({ target }) => {
      // A button has a use for this key itself.
      if (search.e === undefined || (target instanceof Element && target.closest("button, a, input") !== null))
        return false;
      setRaw(true);
      return true;
    },
    // Where the message box stands it hears these itself.
    ...(search.tab === undefined
      ? {}
      : { message: () => writeFirst("steer"), interrupt: () => writeFirst("interrupt") }),
    about: () => setAbout(true),
    before: () => void openBeside(-1),
    after: () => void openBeside(1),
    nextError: () => jump("errors", 1),
    previousError: () => jump("errors", -1),
    nextEdit: () => jump("edits", 1),
    previousEdit: () => jump("edits", -1),
  });
  const kinds = useMemo(() => parseKinds(search.kinds), [search.kinds]);
  const q = useDeferredValue(search.q ?? "");
  const rows = useShownRows(view.rows, kinds, q);
  const counts = useCounts(view.rows);
  const landmarks = useMemo(() => ({ errors: rows.filter(isFailedRow), edits: rows.filter(isEdit) }), [rows]);
  const jump = (to: Landmark, step: 1 | -1) => {
    const places = landmarks[to];
    const here = search.e ?? (step === 1 ? 0 : Number.POSITIVE_INFINITY);
    const next = step === 1 ? places.find((row) => row.seq > here) : places.findLast((row) => row.seq < here);
    if (next !== undefined) change({ e: next.seq });
  };
  const outgoing = useOutgoing(sandboxId, view);

  const onCopyLink = useCallback(async (seq: number) => {
    const link = new URL(location.href);
    link.search = `?e=${seq}`;
    if (await copyText(link.href)) notify.good(`Link to event ${seq} copied`);
    else notify.bad("The browser did not allow copying.");
  }, []);
  const select = useCallback((seq: number) => change({ e: seq }), [change]);
  const closeAbout = useCallback(() => {
    setAbout(false);
    document.querySelector<HTMLElement>("[data-about]")?.focus();
  }, []);
  const selectBeside = useCallback(
    (seq: number) => {
      closeAbout();
      select(seq);
    },
    [closeAbout, select],
  );
  const mayOperate = whoami.data === undefined || VERBS_OF_ROLE[whoami.data.role].includes("operate");
  const mayAnswer = mayOperate && sandbox.data !== undefined && !TERMINAL_SANDBOX_STATES.has(sandbox.data.state);
  const context = useMemo(
    () => ({
      sandboxId,
      openness,
      mayAnswer,
      onFullDiff: (seq: number, at: number) => setDiff({ seq, at }),
      onCopyLink: (seq: number) => void onCopyLink(seq),
      onReplay: openReplay,
      onOpenFile: (path: string) => change({ tab: "files", file: `${WORKSPACE}/${path}` }),
      onAsk: (text: string) => {
        keepDraft(sandboxId, [readDraft(sandboxId), text].filter((part) => part !== "").join("\n\n"));
        setFirst("steer");
        setDraft((old) => old + 1);
      },
    }),
    [sandboxId, openness, mayAnswer, onCopyLink, openReplay, change],
  );
  const diffRow = diff === undefined ? undefined : view.rows[rowOfSeq(view, diff.seq)];
  const edit = diffRow?.kind === "edit" ? diffRow.edits[diff?.at ?? 0] : undefined;
  const error = sandbox.error ?? log?.error;
  const checkpoint = useLastCheckpoint(log?.events, search.tab === "changes" || search.tab === "files");

  if (error !== undefined && error !== null) {
    return (
      <div className="grid h-full place-items-center p-6">
        <RunTopBar sandboxId={sandboxId} />
        <Problem error={error} what="This run could not be opened" onRetry={() => location.reload()} />
      </div>
    );
  }
  return (
    <RunContext.Provider value={context}>
      <RunTopBar sandboxId={sandboxId} />
      <div className="flex h-full min-h-0">
        {/* In a low window the column is scrolled, so that what it is about keeps a height. */}
        <div className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto [&>.flex-1]:min-h-52">
          {sandbox.data === undefined ? (
            <div className="border-b border-line px-5 py-3.5">
              <div className="skeleton h-5 w-72" />
            </div>
          ) : (
            <RunHeader
              sandbox={sandbox.data}
              spent={view.spent}
              load={view.load}
              events={log?.events ?? NO_EVENTS}
              mayOperate={mayOperate}
              isLoadingHistory={log?.isLoading ?? true}
              loaded={view.lastSeq === 0 ? 0 : view.lastSeq - view.firstSeq + 1}
            />
          )}
          <RunTabs sandboxId={sandboxId} tab={search.tab ?? "activity"} selected={search.e} changed={view.files.size} />
          {search.tab === undefined ? (
            <>
              {sandbox.data !== undefined && <Provisioning sandbox={sandbox.data} events={log?.events ?? []} />}
              <Suspense>
                <WhileAway
                  sandboxId={sandboxId}
                  rows={view.rows}
                  head={view.lastSeq}
                  isLoading={log?.isLoading ?? true}
                  onSelect={select}
                  onFirst={setNewFrom}
                />
              </Suspense>
              <FilterBar
                kinds={kinds}
                counts={counts}
                q={search.q ?? ""}
                found={q === "" && kinds.length === 0 ? undefined : rows.length}
                onKinds={(next) => change({ kinds: next.length === 0 ? undefined : next.join(",") })}
                onSearch={(text) => change({ q: text === "" ? undefined : text })}
                landmarks={{ errors: landmarks.errors.length, edits: landmarks.edits.length }}
                onJump={jump}
                onAbout={() => setAbout(true)}
              />
              {view.lastSeq === 0 ? (
                <Waiting isRead={log !== undefined && !log.isLoading} />
              ) : (
                <Feed
                  key={`${search.kinds ?? ""}/${q}`}
                  isPastChanged={run.isPastChanged}
                  rows={rows}
                  head={view.lastSeq}
                  selected={search.e}
                  onSelect={select}
                  label="Events of this run"
                  newFrom={newFrom}
                  hasMap
                />
              )}
              <Suspense>
                {sandbox.data !== undefined && isOver(sandbox.data) && log?.isLoading === false && (
                  <HowItEnded sandbox={sandbox.data} view={view} mayOperate={mayOperate} />
                )}
              </Suspense>
              <OutgoingMessages messages={outgoing} />
              {sandbox.data !== undefined && (
                <Composer
                  key={draft}
                  sandbox={sandbox.data}
                  mayOperate={mayOperate}
                  head={view.lastSeq}
                  hasFocus={draft > 0}
                  first={draft > 0 ? first : "steer"}
                />
              )}
            </>
          ) : (
            <Suspense fallback={<div className="skeleton m-4 h-60" />}>
              {search.tab === "changes" && (
                <ChangesTab
                  sandboxId={sandboxId}
                  view={view}
                  file={search.file}
                  chosen={search}
                  checkpoint={checkpoint}
                  reason={mayAnswer ? undefined : "Nobody is there to read a message."}
                  onOpen={({ file, turn, scope, from, to }) => change({ file, turn, scope, from, to })}
                />
              )}
              {sandbox.data !== undefined && search.tab === "terminal" && (
                <TerminalTab
                  sandbox={sandbox.data}
                  mayOperate={mayOperate}
                  rows={view.rows}
                  cast={search.cast}
                  command={search.command}
                  onOpen={({ cast, command }) => change({ cast, command })}
                />
              )}
              {sandbox.data !== undefined && search.tab === "files" && (
                <FilesTab
                  sandbox={sandbox.data}
                  view={view}
                  path={search.path}
                  file={search.file}
                  line={search.line}
                  checkpoint={checkpoint}
                  onOpen={({ path, file, line }) => change({ path, file, line })}
                />
              )}
              {search.tab === "messages" && (
                <MessageList
                  sandboxId={sandboxId}
                  view={view}
                  onOpen={(seq) => void navigate({ search: { e: seq }, replace: true })}
                />
              )}
              {search.tab === "timeline" && (
                <TimelineTab
                  sandboxId={sandboxId}
                  events={log?.events ?? NO_EVENTS}
                  search={search}
                  onOpen={(seq) => void navigate({ search: { e: seq }, replace: true })}
                  onLook={change}
                />
              )}
              {sandbox.data !== undefined && search.tab === "details" && (
                <DetailsTab sandbox={sandbox.data} events={log?.events ?? []} />
              )}
              {sandbox.data !== undefined && search.tab === "git" && <GitTab sandbox={sandbox.data} />}
            </Suspense>
          )}
        </div>
        {sandbox.data !== undefined && search.tab === undefined && (
          <ContextPanel
            sandbox={sandbox.data}
            view={view}
            events={log?.events ?? NO_EVENTS}
            selected={search.e}
            onSelect={selectBeside}
            isOpen={isAbout}
            onClose={closeAbout}
          />
        )}
      </div>
      {sandbox.data !== undefined && <Announcer view={view} state={sandbox.data.state} />}
      <Suspense>
        {isRaw && search.e !== undefined && (
          <RawEvents view={view} events={log?.events ?? NO_EVENTS} seq={search.e} onClose={() => setRaw(false)} />
        )}
      </Suspense>
      {edit !== undefined && <FullDiff sandboxId={sandboxId} edit={edit} onClose={() => setDiff(undefined)} />}
    </RunContext.Provider>
  );
}

function RunTopBar({ sandboxId }: { readonly sandboxId: string }) {
  return (
    <TopBar>
      <Link
        to="/sandboxes"
        className="-ml-2 inline-flex h-8 items-center gap-1 rounded-lg px-2 text-sm text-ink-2 hover:bg-hover hover:text-ink"
      >
        <ChevronLeft size={16} aria-hidden /> Sandboxes
      </Link>
      <span className="hidden truncate font-mono text-xs text-ink-3 sm:inline">{sandboxId}</span>
      <span className="flex-1" />
    </TopBar>
  );
}

function Waiting({ isRead }: { readonly isRead: boolean }) {
  return (
    <div className="grid min-h-0 flex-1 place-items-center p-8 text-center">
      {isRead ? (
        <div>
          <p className="text-lg font-semibold tracking-tight">Waiting for the agent</p>
          <p className="mt-1 text-sm text-ink-2">Its first event appears here the moment it happens.</p>
        </div>
      ) : (
        <div className="flex w-full max-w-2xl flex-col gap-3" role="status" aria-label="Loading events">
          {Array.from({ length: 6 }, (_, n) => (
            <div key={n} className="skeleton h-7" style={{ width: `${92 - ((n * 17) % 40)}%` }} />
          ))}
        </div>
      )}
    </div>
  );
}

function useLastCheckpoint(events: readonly LogEvent[] | undefined, isWanted: boolean): LogEvent | undefined {
  return useMemo(
    () => (isWanted ? events?.findLast((event) => event.event_type === "workspace.checkpoint") : undefined),
    [events, isWanted],
  );
}

function useShownRows(rows: FeedView["rows"], kinds: readonly FeedGroup[], q: string): FeedView["rows"] {
  const find = useMemo(() => (q === "" ? undefined : createFinder(q)), [q]);
  return useMemo(() => {
    if (kinds.length === 0 && find === undefined) return rows;
    const wanted = new Set(kinds);
    return rows.filter((row) => (wanted.size === 0 || wanted.has(toGroup(row))) && (find === undefined || find(row)));
  }, [rows, kinds, find]);
}

function useCounts(rows: FeedView["rows"]): Readonly<Record<FeedGroup, number>> {
  return useMemo(() => {
    const counts = Object.fromEntries(FEED_GROUPS.map((group) => [group, 0])) as Record<FeedGroup, number>;
    for (const row of rows) counts[toGroup(row)] += 1;
    return counts;
  }, [rows]);
}

const isEdit = (row: FeedView["rows"][number]): boolean => row.kind === "edit";

const isPerson = (row: FeedView["rows"][number]): row is PersonRow => row.kind === "person";

/** Messages that the log does not show yet; those it shows are dropped. */
function useOutgoing(sandboxId: string, view: FeedView) {
  const messages = useOutbox((outbox) => outbox.messages);
  const mine = useMemo(() => messages.filter((message) => message.sandboxId === sandboxId), [messages, sandboxId]);
  const waiting = useMemo(() => {
    if (mine.length === 0) return mine;
    const echoes = view.rows.filter(isPerson);
    return mine.filter((message) => !isEchoed(message, echoes));
  }, [mine, view]);
  useEffect(() => {
    const gone = mine.filter((message) => message.messageId !== null && !waiting.includes(message));
    if (gone.length > 0)
      useOutbox.setState((outbox) => ({ messages: outbox.messages.filter((message) => !gone.includes(message)) }));
  }, [mine, waiting]);
  return waiting;
}
