/** One run as a page shows it: the sandbox's log, folded into rows as it grows at either end. */
import type { Client, LogEvent, LogSnapshot, SandboxLog } from "@drover/client";
import { emptyFeed, foldFeed, type FeedView } from "@drover/contract/views";
import { EVENTS_AT_FIRST } from "./first-look.ts";
import { createFlushPace, type FlushPace } from "./flush.ts";
import { readAgainAfter } from "./stale-queries.ts";

/** Enough for a long day's run; older events stay on the server. */
const EVENTS_IN_MEMORY = 60_000;
/** While pages of history arrive, the past is folded at most this often. */
const REFOLD_EVERY_MS = 250;
/** The window drops its oldest events one by one; the rows follow in steps. */
const TRIM_STEP = 5_000;

export interface RunSnapshot {
  readonly view: FeedView;
  /** Undefined until someone looks. */
  readonly log: LogSnapshot | undefined;
  /** This change was at the start of the rows: older ones came in front, or the oldest went. */
  readonly isPastChanged: boolean;
}

/** Opened by its first listener, closed by its last. `tail`: the newest events where they were read before, shown from the first moment. */
export class RunStore {
  private readonly client: Client;
  private readonly sandboxId: string;
  private readonly pace: FlushPace = createFlushPace();
  private readonly listeners = new Set<() => void>();
  private log: SandboxLog | undefined;
  private tail: readonly LogEvent[] | undefined;
  private view: FeedView;
  private snapshot: RunSnapshot;
  private refoldedAt = Number.NEGATIVE_INFINITY;
  private refoldTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: Client, sandboxId: string, tail: readonly LogEvent[] | undefined) {
    this.client = client;
    this.sandboxId = sandboxId;
    this.tail = tail;
    this.view = foldFeed(emptyFeed(), tail ?? []);
    this.snapshot = { view: this.view, log: undefined, isPastChanged: false };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    if (this.log === undefined) this.open();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.close();
    };
  };

  readonly getSnapshot = (): RunSnapshot => this.snapshot;

  readonly wake = (): void => this.log?.wake();

  private open(): void {
    const { tail } = this;
    // Whoever opens it again would begin with what was new then.
    this.tail = undefined;
    if (tail === undefined) this.view = emptyFeed();
    this.log = this.client.openSandboxLog(this.sandboxId, {
      limit: EVENTS_IN_MEMORY,
      history: "all",
      tailSize: EVENTS_AT_FIRST,
      tail,
      schedule: this.pace.schedule,
    });
    this.log.subscribe(this.take);
    if (tail !== undefined) this.take();
  }

  private close(): void {
    clearTimeout(this.refoldTimer);
    this.refoldTimer = undefined;
    this.log?.close();
    this.log = undefined;
  }

  private readonly take = (): void => {
    const log = this.log?.getSnapshot();
    if (log === undefined) return;
    const first = log.events[0]?.sandbox_seq ?? 0;
    if (first > 0) {
      const isTornOff = this.view.lastSeq > 0 && first > this.view.lastSeq + 1;
      if (isTornOff) this.view = emptyFeed();
      const isFirst = this.view.lastSeq === 0;
      const fresh = isFirst ? log.events : log.events.slice(this.view.lastSeq - first + 1);
      if (!isFirst) readAgainAfter(this.sandboxId, fresh);
      this.pace.counted(fresh.length);
      this.view = foldFeed(this.view, fresh);
      const isPastChanged = first < this.view.firstSeq || first > this.view.firstSeq + TRIM_STEP;
      if (isPastChanged) this.scheduleRefold(log.isLoading);
    }
    this.publish(log, false);
  };

  /** In a task of its own: the list must see a change at its start and a change at its end one after the other. */
  private scheduleRefold(isMoreComing: boolean): void {
    if (this.refoldTimer !== undefined && isMoreComing) return;
    clearTimeout(this.refoldTimer);
    const waitMs = isMoreComing ? Math.max(0, this.refoldedAt + REFOLD_EVERY_MS - performance.now()) : 0;
    this.refoldTimer = setTimeout(() => {
      this.refoldTimer = undefined;
      this.refoldedAt = performance.now();
      const log = this.log?.getSnapshot();
      if (log === undefined) return;
      const first = log.events[0]?.sandbox_seq ?? 1;
      this.view = foldFeed(emptyFeed(), log.events.slice(0, this.view.lastSeq - first + 1));
      this.publish(log, true);
    }, waitMs);
  }

  private publish(log: LogSnapshot, isPastChanged: boolean): void {
    this.snapshot = { view: this.view, log, isPastChanged };
    for (const listener of this.listeners) listener();
  }
}
