/** The newest events that match a filter, as a store. */
import type { EventFilter, EventFrame } from "@drover/contract";
import type { StreamOpener } from "./event-iterable.ts";
import type { EventStream } from "./event-stream.ts";
import { Store } from "./store.ts";
import type { StreamState } from "./stream-state.ts";
import { systemTimers } from "./timers.ts";

export interface EventFeedOptions {
  /** Most events kept, the newest; 1,000 unless given. */
  readonly limit?: number | undefined;
  /** Start after this seq; without it only what happens from now on. */
  readonly afterSeq?: number | undefined;
}

export interface EventFeedSnapshot {
  /** Oldest first. */
  readonly events: readonly EventFrame[];
  readonly state: StreamState;
}

const LINGER_MS = 1_000;

export class EventFeed {
  private readonly openStream: StreamOpener;
  private readonly limit: number;
  private readonly store: Store<EventFeedSnapshot>;
  private filter: EventFilter = {};
  private wanted: EventFilter = {};
  private stream: EventStream | undefined;
  private position: number | undefined;

  constructor(openStream: StreamOpener, options: EventFeedOptions = {}) {
    this.openStream = openStream;
    this.limit = options.limit ?? 1_000;
    this.position = options.afterSeq;
    this.store = new Store<EventFeedSnapshot>(
      { events: [], state: { phase: "connecting" } },
      { timers: systemTimers, lingerMs: LINGER_MS, start: () => this.start() },
    );
  }

  get subscribe() {
    return this.store.subscribe;
  }

  get getSnapshot() {
    return this.store.getSnapshot;
  }

  /** The whole filter, from now on. Setting the same again changes nothing, so that `updateFilters` outlives a render. */
  setFilter(filter: EventFilter): void {
    if (JSON.stringify(filter) === JSON.stringify(this.wanted)) return;
    this.wanted = filter;
    this.filter = filter;
    this.stream?.updateFilter(filter);
  }

  /** Given keys replace, an empty list clears; applies to what comes. */
  readonly updateFilters = (change: EventFilter): void => {
    this.filter = { ...this.filter, ...change };
    this.stream?.updateFilter(this.filter);
  };

  readonly clearEvents = (): void => this.change({ events: [] });

  /** Try again now: a person asked, or logged in. */
  readonly wake = (): void => this.stream?.wake();

  private change(part: Partial<EventFeedSnapshot>): void {
    this.store.set({ ...this.store.getSnapshot(), ...part });
  }

  private start(): () => void {
    const stream = this.openStream({
      filter: this.filter,
      afterSeq: this.position,
      onBatch: (frames) => this.change({ events: [...this.store.getSnapshot().events, ...frames].slice(-this.limit) }),
      onState: (state) => this.change({ state }),
    });
    this.stream = stream;
    return () => {
      this.position = stream.position; // A later subscriber goes on where this one ended.
      this.stream = undefined;
      stream.close();
    };
  }
}
