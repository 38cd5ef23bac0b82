/** All sandboxes at once: one stream keeps the lists true and remembers each one's last moves. */
import type { Client, EventStream, LogEvent } from "@drover/client";
import type { EventFrame, Sandbox } from "@drover/contract";
import { foldSandbox, readText, toActivityLine, toLoad, type Load } from "@drover/contract/views";
import { create } from "zustand";
import { client } from "./client.ts";
import { clearConnection, useConnection } from "./connection.ts";
import { tellDesktop } from "./desktop-notices.ts";
import { session } from "./session.ts";
import { changeSandboxes, queryClient, type SandboxPages } from "./queries.ts";
import { readAgainAfter } from "./stale-queries.ts";

/** What the tallest tile has room for. */
export const LINES_KEPT = 9;
/** Ten minutes of them. */
export const BEATS_KEPT = 60;
const BEAT_MS = 10_000;
const FLUSH_EVERY_MS = 200;
const SEED_EVENTS = 500;

/** What the monitor reads again. */
const WATCHED = ["alert", "anomaly", "monitoring_loop"];

/** Sandboxes by their own events; the rest of the work as a reason to look again. */
const FOLLOWED = ["sandbox", "ticket", "task", "pull_request", "merge_attempt", "branch", "project", ...WATCHED];

export interface Move {
  readonly seq: number;
  readonly at: string;
  readonly text: string;
}

export interface FleetEntry {
  /** Newest last. */
  readonly moves: readonly Move[];
  /** Events per ten seconds, by number of the interval since the epoch. */
  readonly beats: ReadonlyMap<number, number>;
  readonly load: Load | undefined;
  /** Steps of making it that are done. */
  readonly made: number;
}

export const useFleet = create<Readonly<Record<string, FleetEntry>>>()(() => ({}));

export const toBeatSeries = (entry: FleetEntry | undefined, nowMs: number): readonly number[] => {
  const last = Math.floor(nowMs / BEAT_MS);
  return Array.from({ length: BEATS_KEPT }, (_, n) => entry?.beats.get(last - BEATS_KEPT + 1 + n) ?? 0);
};

type FleetEvent = Pick<LogEvent, "seq" | "event_type" | "event_data" | "created_at">;

function foldEntry(entry: FleetEntry | undefined, event: FleetEvent): FleetEntry {
  const beat = Math.floor(Date.parse(event.created_at) / BEAT_MS);
  const beats = new Map(entry?.beats);
  beats.set(beat, (beats.get(beat) ?? 0) + 1);
  for (const old of beats.keys()) if (old < beat - BEATS_KEPT) beats.delete(old);
  const text = toActivityLine(event);
  const moves = entry?.moves ?? [];
  const load = toLoad(event) ?? entry?.load;
  const isMade = event.event_type === "sandbox.provisioning" && readText(event.event_data, "status") === "done";
  const made = (entry?.made ?? 0) + Number(isMade);
  if (text === null || (moves.at(-1)?.seq ?? 0) >= event.seq) return { moves, beats, load, made };
  return { moves: [...moves, { seq: event.seq, at: event.created_at, text }].slice(-LINES_KEPT), beats, load, made };
}

function fold(events: readonly (FleetEvent & { readonly sandbox_id: string })[]): void {
  useFleet.setState((fleet) => {
    const next: Record<string, FleetEntry> = { ...fleet };
    for (const event of events) next[event.sandbox_id] = foldEntry(next[event.sandbox_id], event);
    return next;
  });
}

/** The last moves among events, newest first as they are read. */
export const toMoves = (newestFirst: readonly FleetEvent[]): readonly Move[] =>
  newestFirst.toReversed().reduce<FleetEntry | undefined>(foldEntry, undefined)?.moves ?? [];

/** What was heard, and before it what was read: the stream knows nothing of the time before it. */
export function joinMoves(read: readonly Move[], heard: readonly Move[]): readonly Move[] {
  const from = heard[0]?.seq ?? Number.POSITIVE_INFINITY;
  return [...read.filter(({ seq }) => seq < from), ...heard].slice(-LINES_KEPT);
}

const toEvent = (frame: EventFrame) => {
  const { source, original_event_type, ...event_data } = frame.payload;
  return {
    id: frame.id,
    seq: frame.seq,
    sandbox_seq: frame.sandbox_seq ?? 0,
    sandbox_id: frame.entity_id,
    event_type: typeof original_event_type === "string" ? original_event_type : frame.event_type,
    event_data,
    source: typeof source === "string" ? source : "server",
    created_at: frame.ts,
  };
};

function isListed(sandboxId: string): boolean {
  const lists = queryClient.getQueriesData<SandboxPages>({ queryKey: ["sandboxes"] });
  return lists.some(([, pages]) => pages?.pages.some((page) => page.items.some((item) => item.id === sandboxId)));
}

/** Pages of work read again what the stream tells of, at most this often. */
const READ_WORK_EVERY_MS = 500;
let workTimer: ReturnType<typeof setTimeout> | undefined;

function readWorkAgain(): void {
  workTimer ??= setTimeout(() => {
    workTimer = undefined;
    void queryClient.invalidateQueries({ queryKey: ["work"] });
  }, READ_WORK_EVERY_MS);
}

let costTimer: ReturnType<typeof setTimeout> | undefined;

function readCostsAgain(): void {
  costTimer ??= setTimeout(() => {
    costTimer = undefined;
    void queryClient.invalidateQueries({ queryKey: ["costs"] });
  }, READ_WORK_EVERY_MS);
}

function receive(all: readonly EventFrame[]): void {
  const frames = all.filter((frame) => frame.entity_type === "sandbox");
  const watched = all.filter((frame) => WATCHED.includes(frame.entity_type));
  if (watched.length > 0) void queryClient.invalidateQueries({ queryKey: ["monitor"] });
  // A push is told in its run's log, and moves a ticket's branch.
  const isPushed = frames.some((frame) => frame.payload["original_event_type"] === "git.pushed");
  if (isPushed || frames.length + watched.length < all.length) readWorkAgain();
  const events = frames.map(toEvent);
  fold(events);
  const bySandbox = Map.groupBy(events, (event) => event.sandbox_id);
  for (const [sandboxId, own] of bySandbox) readAgainAfter(sandboxId, own);
  if (events.some((event) => event.event_type === "agent.usage")) readCostsAgain();
  changeSandboxes((sandbox: Sandbox) => (bySandbox.get(sandbox.id) ?? []).reduce(foldSandbox, sandbox));
  const isNews = events.some(
    (event) => event.event_type === "SPAWNED" || (event.event_type === "STATE_CHANGED" && !isListed(event.sandbox_id)),
  );
  if (events.some(({ event_type: type }) => type === "SPAWNED" || type === "STATE_CHANGED"))
    void queryClient.invalidateQueries({ queryKey: ["sandbox-counts"] });
  if (isNews) void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
  tellDesktop(all);
  useConnection.setState({ lastEventAt: Date.now() });
}

/** Follows every sandbox from the newest event on; what came before is read once, for the last lines. */
export function startFleet(): () => void {
  const ending = new AbortController();
  let stream: EventStream | undefined;
  void follow(client, ending.signal)
    .then((opened) => {
      stream = opened;
      if (ending.signal.aborted) opened.close();
    })
    // Expected: the page was left, or the credential ended; the list's own query shows the latter.
    .catch(() => {});
  return () => {
    ending.abort();
    stream?.close();
    clearConnection();
  };
}

async function follow({ listEvents, openStream }: Client, signal: AbortSignal): Promise<EventStream> {
  const page = await listEvents({ query: { limit: SEED_EVENTS } }, { signal, retries: 1_000 });
  useFleet.setState({}, true);
  fold(
    page.events
      .toReversed()
      .flatMap((event) => (event.sandbox_id === null ? [] : [{ ...event, sandbox_id: event.sandbox_id }])),
  );
  const stream: EventStream = openStream({
    filter: { entity_types: FOLLOWED },
    afterSeq: page.last_seq,
    onBatch: receive,
    onState: (state) => {
      if (signal.aborted) return;
      const { reconnects = 0, duplicatesDropped = 0 } = (stream as EventStream | undefined)?.stats ?? {};
      useConnection.setState({
        state,
        run: undefined,
        reconnects,
        duplicates: duplicatesDropped,
        wake: () => stream.wake(),
      });
      if (state.phase === "unauthenticated") session.onLost();
      if (state.phase === "live" && reconnects > 0) {
        void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
        void queryClient.invalidateQueries({ queryKey: ["permissions"] });
        readWorkAgain();
        readCostsAgain();
      }
    },
    schedule: (flush) => setTimeout(flush, FLUSH_EVERY_MS),
  });
  // A list that was read before this position may lack what happened in between.
  void queryClient.invalidateQueries({ queryKey: ["sandboxes"] });
  return stream;
}
