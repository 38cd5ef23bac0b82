/** One sandbox's log as a store: history and live part merged, with the proof that nothing is missing. */
import type { EventFrame } from "@drover/contract";
import { toBackOffMs } from "./back-off.ts";
import { ClientError } from "./client-error.ts";
import type { Calls } from "./calls.ts";
import type { StreamOpener } from "./event-iterable.ts";
import type { EventStream } from "./event-stream.ts";
import { toLogEvent, type LogEvent } from "./log-event.ts";
import { appendEvents, emptyWindow, prependEvents, restartWindow, type LogWindow } from "./log-window.ts";
import type { StreamState } from "./stream-state.ts";
import { sleep, type Timers } from "./timers.ts";

export interface SandboxLogOptions {
  /** Most events kept in memory, the newest; 20,000 unless given. */
  readonly limit?: number;
  /** Events per request; 500 unless given. */
  readonly pageSize?: number;
  /** Events of the first request, which somebody waits for; a page unless given. */
  readonly tailSize?: number;
  /** The newest events, oldest first, where somebody has just read them: the first request is left out. */
  readonly tail?: readonly LogEvent[] | undefined;
  /** `all` reads back to the first event as far as the limit allows; `tail` reads one page and leaves the rest to `loadOlder`. */
  readonly history?: "all" | "tail";
  readonly schedule?: (flush: () => void) => void;
  readonly quietMs?: number;
  readonly graceMs?: number;
}

interface SandboxLogParts extends SandboxLogOptions {
  readonly sandboxId: string;
  readonly openStream: StreamOpener;
  readonly loadEvents: Calls["listSandboxEvents"];
  readonly timers: Timers;
  readonly random: () => number;
}

export interface LogStats {
  /** `sandbox_seq` of the newest event. */
  readonly head: number;
  readonly holesHealed: number;
  readonly duplicatesDropped: number;
  readonly reconnects: number;
}

export interface LogSnapshot {
  /** Contiguous by `sandbox_seq`, oldest first. */
  readonly events: readonly LogEvent[];
  /** The first event of the sandbox is in memory. */
  readonly isComplete: boolean;
  /** Older events are being read. */
  readonly isLoading: boolean;
  readonly state: StreamState;
  /** Why the log cannot be read; the store has stopped. */
  readonly error: ClientError | undefined;
  readonly stats: LogStats;
}

export class SandboxLog {
  readonly sandboxId: string;
  private readonly parts: SandboxLogParts;
  private readonly pageSize: number;
  private readonly ending = new AbortController();
  private readonly listeners = new Set<() => void>();
  private stream: EventStream | undefined;
  private window: LogWindow;
  private holesHealed = 0;
  private duplicates = 0;
  private isLoading = true;
  private error: ClientError | undefined;
  private state: StreamState = { phase: "connecting" };
  private checkedHead = 0;
  private snapshot: LogSnapshot;

  constructor(parts: SandboxLogParts) {
    this.parts = parts;
    this.sandboxId = parts.sandboxId;
    this.pageSize = parts.pageSize ?? 500;
    this.window = restartWindow(emptyWindow(parts.limit ?? 20_000), parts.tail ?? []);
    this.snapshot = this.toSnapshot();
    void this.start(this.window.head > 0);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** The same object until something changes. */
  readonly getSnapshot = (): LogSnapshot => this.snapshot;

  /** Reads one page further back; resolves to whether there may be more. */
  async loadOlder(): Promise<boolean> {
    const first = this.window.events[0];
    if (first === undefined || this.isComplete || this.window.events.length >= this.window.limit) return false;
    const page = await this.load({ before_seq: first.seq, order: "desc", limit: this.pageSize });
    const before = this.window.events.length;
    this.window = prependEvents(this.window, page.events);
    this.publish();
    return this.window.events.length > before && !this.isComplete;
  }

  /** Try again now: a person asked, or logged in. */
  wake(): void {
    if (this.error === undefined) return this.stream?.wake();
    this.error = undefined;
    this.isLoading = true;
    void this.start(false);
  }

  close(): void {
    this.ending.abort();
    this.stream?.close();
    this.listeners.clear();
  }

  private get isComplete(): boolean {
    return this.window.events.length === 0
      ? !this.isLoading && this.window.head === 0
      : this.window.events[0]?.sandbox_seq === 1;
  }

  private async start(hasTail: boolean): Promise<void> {
    try {
      // Newest page first: a page shows the present at once, and the past arrives behind it.
      if (!hasTail) {
        const tail = await this.load({ order: "desc", limit: this.parts.tailSize ?? this.pageSize });
        this.window = restartWindow(this.window, tail.events.toReversed());
      }
      this.follow();
      this.publish();
      if (this.parts.history !== "tail") await this.loadHistory();
      this.isLoading = false;
      this.publish();
    } catch (error) {
      // Expected: closed meanwhile, or refused for good (no such sandbox, no credential).
      if (this.ending.signal.aborted) return;
      if (!(error instanceof ClientError)) throw error;
      this.fail(error);
    }
  }

  /** All older pages, put in front at once: whoever folds the log begins anew a single time. */
  private async loadHistory(): Promise<void> {
    const newestFirst: LogEvent[] = [];
    for (let oldest = this.window.events[0]; oldest !== undefined && oldest.sandbox_seq > 1;) {
      if (this.window.events.length + newestFirst.length >= this.window.limit) break;
      const page = await this.load({ before_seq: oldest.seq, order: "desc", limit: this.pageSize });
      newestFirst.push(...page.events);
      oldest = page.events.at(-1);
    }
    this.window = prependEvents(this.window, newestFirst);
  }

  private follow(): void {
    if (this.ending.signal.aborted) return;
    const { schedule, quietMs, graceMs } = this.parts;
    this.stream = this.parts.openStream({
      filter: { entity_types: ["sandbox"], entity_ids: [this.sandboxId] },
      afterSeq: this.window.headSeq,
      onBatch: (frames) => this.receive(frames),
      onState: (state) => {
        this.state = state;
        this.publish();
      },
      onHead: (head) => this.verify(head),
      schedule,
      quietMs,
      graceMs,
    });
  }

  private receive(frames: readonly EventFrame[]): void | Promise<void> {
    const beyondHole = this.append(frames.flatMap((frame) => toLogEvent(frame) ?? []));
    this.publish();
    // The promise holds the stream back until the hole is filled, so nothing piles up meanwhile.
    if (beyondHole.length > 0) return this.heal(beyondHole).catch((error: unknown) => this.giveUp(error));
  }

  private append(events: readonly LogEvent[]): readonly LogEvent[] {
    const appended = appendEvents(this.window, events);
    this.window = appended.window;
    this.duplicates += appended.duplicates;
    return appended.beyondHole;
  }

  /** Reads what the stream left out. Where the store has the same hole, its old events were retired, and the window begins after it. */
  private async heal(beyondHole: readonly LogEvent[]): Promise<void> {
    const wanted = beyondHole.at(-1)?.sandbox_seq ?? 0;
    await this.readOn(wanted);
    const appended = appendEvents(this.window, beyondHole);
    this.window = appended.beyondHole.length === 0 ? appended.window : restartWindow(this.window, appended.beyondHole);
    this.holesHealed += 1;
    this.publish();
  }

  /** Appends from the store until it has nothing newer, or the window has reached `wanted`. */
  private async readOn(wanted: number): Promise<void> {
    while (this.window.head < wanted) {
      const before = this.window.head;
      const page = await this.load({ after_seq: this.window.headSeq, order: "asc", limit: this.pageSize });
      const appended = appendEvents(this.window, page.events);
      this.window =
        appended.beyondHole.length === 0 ? appended.window : restartWindow(this.window, appended.beyondHole);
      if (!page.hasMore || this.window.head === before) return;
    }
  }

  /** The line was silent while the installation went on: one read shows whether something of this sandbox was lost. */
  private verify(head: number): void {
    if (head <= Math.max(this.window.headSeq, this.checkedHead)) return;
    const before = this.window.head;
    this.readOn(Number.POSITIVE_INFINITY)
      .then(() => {
        this.checkedHead = Math.max(this.checkedHead, head);
        if (this.window.head > before) this.publish();
      })
      .catch((error: unknown) => this.giveUp(error));
  }

  /** One page, tried until it comes: only a refusal that cannot pass ends it. */
  private async load(query: {
    after_seq?: number;
    before_seq?: number;
    order: "asc" | "desc";
    limit: number;
  }): Promise<{ readonly events: readonly LogEvent[]; readonly hasMore: boolean }> {
    const { signal } = this.ending;
    for (let attempt = 0; ; attempt += 1) {
      try {
        const page = await this.parts.loadEvents(
          { params: { sandbox_id: this.sandboxId }, query },
          { signal, retries: 0 },
        );
        return { events: page.events.flatMap((event) => toLogEvent(event) ?? []), hasMore: page.has_more };
      } catch (error) {
        // Expected: the server is away for a while.
        if (!(error instanceof ClientError) || !error.isRetryable) throw error;
        await sleep(this.parts.timers, toBackOffMs(attempt, this.parts.random()), signal);
      }
    }
  }

  private giveUp(error: unknown): void {
    if (this.ending.signal.aborted) return;
    if (!(error instanceof ClientError)) throw error;
    this.fail(error);
  }

  private fail(error: ClientError): void {
    this.stream?.close();
    this.isLoading = false;
    this.error = error;
    this.state = { phase: error.code === "auth.required" ? "unauthenticated" : "closed" };
    this.publish();
  }

  private toSnapshot(): LogSnapshot {
    const { duplicatesDropped = 0, reconnects = 0 } = this.stream?.stats ?? {};
    return {
      events: this.window.events,
      isComplete: this.isComplete,
      isLoading: this.isLoading,
      state: this.state,
      error: this.error,
      stats: {
        head: this.window.head,
        holesHealed: this.holesHealed,
        duplicatesDropped: this.duplicates + duplicatesDropped,
        reconnects,
      },
    };
  }

  private publish(): void {
    if (this.ending.signal.aborted) return;
    this.snapshot = this.toSnapshot();
    for (const listener of this.listeners) listener();
  }
}
