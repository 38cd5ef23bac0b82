/** A subscriber as the socket gives it to a client: a line with limited room, read at any pace, cut and resumed at any seq. */
import type { EventFilter, EventFrame } from "@drover/contract";
import { toAudience } from "../../../server/src/app/tail-event.ts";
import type { Tail } from "../../../server/src/app/tail-events.ts";
import { openSubscriber, type Subscriber } from "../../../server/src/http/subscriber.ts";

interface Sync {
  readonly fromSeq: number;
  readonly throughSeq: number;
}
type InFlight = { readonly event: EventFrame } | { readonly sync: Sync };

export interface Wish {
  readonly filter: EventFilter;
  /** `null`: every project. */
  readonly projectId: string | null;
  /** Whether the client acknowledges what it reads. */
  readonly isAcknowledging: boolean;
  /** Events that the line holds before the server is told to wait. */
  readonly room: number;
}

/** What one client was given, over all its connections. */
export class StreamClient {
  readonly wish: Wish;
  /** Where the stream of this client begins; known with the first connection. */
  from: number | undefined;
  readonly received: EventFrame[] = [];
  /** The syncs, each with the number of events received before it. */
  readonly syncs: (Sync & { readonly after: number })[] = [];
  readonly complaints: string[] = [];
  connections = 0;
  private line: InFlight[] = [];
  private subscriber: Subscriber | undefined;
  private drained: () => void = () => {};
  private hasSynced = false;
  private resumedAt: number | undefined;
  private cursor: number | undefined;

  constructor(wish: Wish) {
    this.wish = wish;
  }

  get isConnected(): boolean {
    return this.subscriber !== undefined;
  }

  get isSynced(): boolean {
    return this.hasSynced;
  }

  /** `after` counts for the first connection only; later ones resume where the client is. */
  connect(tail: Tail, after: number | undefined): void {
    if (this.subscriber !== undefined) return;
    const afterSeq = this.cursor ?? after;
    this.from ??= afterSeq ?? tail.head();
    this.cursor = afterSeq ?? this.from;
    this.resumedAt = this.cursor;
    this.hasSynced = false;
    this.connections += 1;
    this.subscriber = openSubscriber({
      tail,
      audience: toAudience(this.wish.projectId, this.wish.filter),
      afterSeq,
      stallMs: 60_000,
      onError: (error) => this.complaints.push(`the server failed: ${String(error)}`),
      sink: {
        writeEvents: (events) => {
          for (const event of events) this.line.push({ event: JSON.parse(event.json) as EventFrame });
          return this.line.length < this.wish.room;
        },
        writeSync: (fromSeq, throughSeq) => void this.line.push({ sync: { fromSeq, throughSeq } }),
        onDrain: (listener) => {
          this.drained = listener;
        },
        stall: () => this.complaints.push("stalled"),
      },
    });
    if (this.wish.isAcknowledging) this.subscriber.acknowledge(this.cursor);
  }

  /** Takes what the line holds, at most `count` frames. */
  read(count: number): void {
    const taken = this.line.splice(0, count);
    for (const frame of taken) {
      if ("sync" in frame) this.takeSync(frame.sync);
      else {
        this.received.push(frame.event);
        this.cursor = Math.max(this.cursor ?? 0, frame.event.seq);
      }
    }
    if (this.wish.isAcknowledging && taken.length > 0) this.subscriber?.acknowledge(this.cursor ?? 0);
    if (taken.length > 0 && this.line.length < this.wish.room) this.drained();
  }

  /** What is in flight never arrives. */
  disconnect(): void {
    this.subscriber?.close();
    this.subscriber = undefined;
    this.line = [];
    this.drained = () => {};
  }

  private takeSync(sync: Sync): void {
    if (this.hasSynced) this.complaints.push("a second sync on one connection");
    if (sync.fromSeq !== this.resumedAt)
      this.complaints.push(`sync from ${sync.fromSeq}, resumed at ${this.resumedAt}`);
    this.hasSynced = true;
    this.syncs.push({ ...sync, after: this.received.length });
    // Everything up to here has come or does not match: a client resumes after it.
    this.cursor = Math.max(this.cursor ?? 0, sync.throughSeq);
  }
}
