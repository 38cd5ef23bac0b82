/** The live stream: one socket at a time, resumed from the last seq after any drop, in order and without duplicates. */
import {
  CLOSE,
  isMatch,
  toMatcher,
  type ClientFrame,
  type EventFilter,
  type EventFrame,
  type EventMatcher,
} from "@drover/contract";
import { toBackOffMs } from "./back-off.ts";
import { isOffline, listenForWake } from "./browser-wake.ts";
import { HeadCheck } from "./head-check.ts";
import { readFrame } from "./server-frame.ts";
import type { StreamState, StreamStats } from "./stream-state.ts";
import { toStreamAddress } from "./stream-address.ts";
import { systemTimers, type Timers } from "./timers.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

export interface EventStreamOptions {
  /** Address of the socket without its query. */
  readonly address: string;
  /** Sent as the first frame; without it the browser's cookie counts. */
  readonly token?: string | undefined;
  readonly filter?: EventFilter | undefined;
  /** Start after this seq; without it only what happens from now on. */
  readonly afterSeq?: number | undefined;
  /** One call per flush. While a returned promise is open nothing more is delivered or acknowledged, so the server holds back. */
  readonly onBatch: (frames: readonly EventFrame[]) => void | Promise<void>;
  readonly onState?: ((state: StreamState) => void) | undefined;
  /** The server's head, told when the line was silent. */
  readonly onHead?: ((head: number) => void) | undefined;
  readonly WebSocket?: typeof globalThis.WebSocket | undefined;
  readonly timers?: Timers | undefined;
  readonly random?: (() => number) | undefined;
  /** When to flush; the next macrotask unless given. A page may wait for its next frame. */
  readonly schedule?: ((flush: () => void) => void) | undefined;
  readonly quietMs?: number | undefined;
  readonly graceMs?: number | undefined;
}

/** The server sends at most this much unacknowledged; a consumer further behind gets no new socket. */
const BACKLOG_LIMIT = 2_000;

/** One that is still being opened ends once it is open: a browser would report a failure that is none. */
function endSocket(ws: WebSocket): void {
  if (ws.readyState === 0) ws.onopen = () => ws.close();
  else if (ws.readyState === 1) ws.close();
}

export class EventStream {
  private readonly options: EventStreamOptions;
  private readonly timers: Timers;
  private readonly headCheck = new HeadCheck();
  private filter: EventFilter;
  private matcher: EventMatcher;
  private ws: WebSocket | undefined;
  private watchdog: Watchdog | undefined;
  private current: StreamState = { phase: "connecting" };
  /** Everything up to here has been received, or is known not to match. */
  private cursor: number | undefined;
  private lastSeq = 0;
  private ackedSeq = 0;
  private pending: EventFrame[] = [];
  private isFlushScheduled = false;
  private isDelivering = false;
  private isSynced = false;
  private caughtUp = 0;
  private attempt = 0;
  private cutAt: number | undefined;
  private cancelRetry: () => void = () => {};
  private readonly stopListening: () => void;
  private counts = { duplicatesDropped: 0, reconnects: 0, malformed: 0 };

  constructor(options: EventStreamOptions) {
    this.options = options;
    this.timers = options.timers ?? systemTimers;
    this.filter = options.filter ?? {};
    this.matcher = toMatcher(this.filter);
    this.cursor = options.afterSeq;
    this.stopListening = listenForWake(() => this.isRefused || this.wake());
    this.open();
  }

  get state(): StreamState {
    return this.current;
  }

  get stats(): StreamStats {
    return this.counts;
  }

  /** Where a new stream would have to start to continue this one. */
  get position(): number | undefined {
    return this.cursor;
  }

  /** Matching events from now on; nothing is delivered again. */
  updateFilter(filter: EventFilter): void {
    this.filter = filter;
    this.matcher = toMatcher(filter);
    const { event_types = [], entity_types = [], entity_ids = [] } = filter;
    if (this.ws?.readyState === 1) this.send({ type: "subscribe", event_types, entity_types, entity_ids });
    else if (this.ws !== undefined) this.reopen();
  }

  /** Try again now: a person asked, or logged in. */
  wake(): void {
    if (this.current.phase === "closed") return;
    if (this.ws === undefined) this.open();
    else if (this.ws.readyState === 1) this.watchdog?.ask();
  }

  close(): void {
    this.stopListening();
    this.release();
    this.pending = [];
    this.setState({ phase: "closed" });
  }

  /** A refusal is not retried by itself: the same credential would be refused again. */
  private get isRefused(): boolean {
    return this.current.phase === "unauthenticated" || this.current.phase === "forbidden";
  }

  private open(): void {
    this.release();
    this.isSynced = false;
    this.caughtUp = 0;
    if (this.cutAt === undefined || this.isRefused) this.setState({ phase: "connecting" });
    const Socket = this.options.WebSocket ?? globalThis.WebSocket;
    const ws = new Socket(toStreamAddress(this.options.address, this.filter, this.cursor));
    this.ws = ws;
    this.watchdog = startWatchdog({
      timers: this.timers,
      quietMs: this.options.quietMs ?? 40_000,
      graceMs: this.options.graceMs ?? 10_000,
      onQuiet: () => this.send({ type: "ping" }),
      onDead: () => this.drop(0),
    });
    // A socket that was given up may still speak: only the current one is heard.
    ws.onopen = () => ws === this.ws && this.greet();
    ws.onmessage = (message) => ws === this.ws && this.receive(String(message.data));
    ws.onclose = (event) => ws === this.ws && this.drop(event.code);
  }

  private greet(): void {
    if (this.options.token !== undefined) this.send({ type: "auth", token: this.options.token });
    // Acknowledging the start switches flow control on before the first event.
    if (this.cursor !== undefined) this.send({ type: "ack", seq: this.cursor });
    this.setState({ phase: "catching-up", count: 0 });
  }

  private receive(text: string): void {
    this.watchdog?.heard();
    const frame = readFrame(text);
    switch (frame.kind) {
      case "event":
        return this.take(frame.event);
      case "sync":
        this.cursor = Math.max(this.cursor ?? 0, frame.throughSeq);
        this.isSynced = true;
        this.attempt = 0;
        this.cutAt = undefined;
        this.headCheck.synced(this.lastSeq);
        return this.scheduleFlush();
      case "ping":
        return this.send({ type: "ping" }); // Its pong tells the head, so a lost last frame is noticed without traffic.
      case "pong":
        return this.compare(frame.head);
      case "malformed":
        this.counts.malformed += 1;
        return;
      case "error": // The close code that follows says what to do.
      case "unknown":
        return;
    }
  }

  private take(event: EventFrame): void {
    if (this.cursor !== undefined && event.seq <= this.cursor) {
      this.counts.duplicatesDropped += 1;
      return;
    }
    this.cursor = event.seq;
    this.lastSeq = event.seq;
    if (!this.isSynced) this.caughtUp += 1;
    if (isMatch(this.matcher, event)) this.pending.push(event);
    this.scheduleFlush();
  }

  private compare(head: number): void {
    this.options.onHead?.(head);
    const isFiltered = this.matcher.eventTypes ?? this.matcher.entityTypes ?? this.matcher.entityIds;
    if (!this.isSynced || isFiltered !== undefined || this.cursor === undefined) return;
    const verdict = this.headCheck.compare(head, this.cursor, this.lastSeq);
    if (verdict === "ask-again") this.timers.after(this.options.graceMs ?? 10_000, () => this.send({ type: "ping" }));
    if (verdict === "reopen") this.reopen();
  }

  private scheduleFlush(): void {
    if (this.isFlushScheduled || this.isDelivering) return;
    this.isFlushScheduled = true;
    const flush = () => {
      this.isFlushScheduled = false;
      this.flush();
    };
    if (this.options.schedule === undefined) this.timers.after(0, flush);
    else this.options.schedule(flush);
  }

  private flush(): void {
    if (this.current.phase === "closed" || this.isDelivering) return;
    const batch = this.pending;
    const through = this.lastSeq;
    this.pending = [];
    const delivered = batch.length === 0 ? undefined : this.options.onBatch(batch);
    if (delivered === undefined) return this.settle(through);
    this.isDelivering = true;
    // A consumer that rejects is a bug and stays an unhandled rejection.
    void delivered.then(() => {
      this.isDelivering = false;
      this.settle(through);
    });
  }

  private settle(through: number): void {
    if (this.current.phase === "closed") return;
    if (through > this.ackedSeq) {
      this.ackedSeq = through;
      this.send({ type: "ack", seq: through });
    }
    if (this.pending.length > 0) this.scheduleFlush();
    if (this.ws?.readyState !== 1) return;
    if (this.isSynced && this.pending.length === 0) this.setState({ phase: "live", caughtUp: this.caughtUp });
    else this.setState({ phase: "catching-up", count: this.caughtUp });
  }

  private send(frame: ClientFrame): void {
    if (this.ws?.readyState === 1) this.ws.send(JSON.stringify(frame));
  }

  private release(): void {
    this.cancelRetry();
    this.watchdog?.stop();
    const { ws } = this;
    this.ws = undefined;
    if (ws !== undefined) endSocket(ws);
  }

  private reopen(): void {
    this.counts.reconnects += 1;
    this.cutAt ??= this.timers.now();
    this.open();
  }

  /** The socket is gone or as good as gone. */
  private drop(code: number): void {
    // Whatever state it is in: waiting for one that never opens would keep the browser from opening another.
    this.ws?.close();
    this.release();
    if (code === CLOSE.credential) return this.setState({ phase: "unauthenticated" });
    if (code === CLOSE.project) return this.setState({ phase: "forbidden" });
    this.counts.reconnects += 1;
    this.cutAt ??= this.timers.now();
    const waitMs = toBackOffMs(this.attempt, (this.options.random ?? Math.random)());
    this.attempt += 1;
    this.setState({
      phase: isOffline() ? "offline" : "reconnecting",
      attempt: this.attempt,
      since: this.cutAt,
      retryAt: this.timers.now() + waitMs,
    });
    this.cancelRetry = this.timers.after(waitMs, () => this.retry());
  }

  /** A consumer that is far behind first takes what it has: memory stays bounded through any number of drops. */
  private retry(): void {
    if (this.pending.length < BACKLOG_LIMIT) this.open();
    else this.cancelRetry = this.timers.after(1_000, () => this.retry());
  }

  private setState(state: StreamState): void {
    if (JSON.stringify(state) === JSON.stringify(this.current)) return;
    this.current = state;
    this.options.onState?.(state);
  }
}
