/** One subscriber of the log: it reads at its own pace from its own cursor, and costs nothing while it is slow. */
import { isFor, type Audience, type TailEvent } from "../app/tail-event.ts";
import { perTurn } from "../app/per-turn.ts";
import type { Tail } from "../app/tail-events.ts";
import { openUnacknowledged } from "./unacknowledged.ts";

const PAGE_EVENTS = 500;
/** Beyond this many unacknowledged events a client that acknowledges is waited for. */
const UNACKNOWLEDGED_LIMIT = 2_000;
const RING_SLICE = 1_000;
/** Of frames that are made and written at once. */
const SLICE_BYTES = 1024 * 1024;
const RETRY_MS = 1_000;

/** Where frames go. `write` returns false when the other side has enough for now; `onDrain` is called when it wants more. */
export interface Sink {
  writeEvents(events: readonly TailEvent[]): boolean;
  writeSync(fromSeq: number, throughSeq: number): void;
  onDrain(listener: () => void): void;
  stall(): void;
}

export interface Subscriber {
  setAudience(audience: Audience): void;
  acknowledge(seq: number): void;
  close(): void;
}

export interface SubscriberOptions {
  readonly tail: Tail;
  readonly sink: Sink;
  readonly audience: Audience;
  /** Undefined: live only. */
  readonly afterSeq: number | undefined;
  readonly stallMs: number;
  readonly onError: (error: unknown) => void;
}

const toMatches = perTurn((_events: readonly TailEvent[]) => new Map<string, readonly TailEvent[]>());

/** Subscribers at the head with the same wishes share one filtering, and by its identity one encoding. */
function matchOnce(events: readonly TailEvent[], audience: Audience): readonly TailEvent[] {
  const matches = toMatches(events);
  let matching = matches.get(audience.key);
  if (matching === undefined) {
    matching = events.filter((event) => isFor(audience, event));
    matches.set(audience.key, matching);
  }
  return matching;
}

/** At most this many from there on, and no more bytes than one write should have; always at least one. */
function takeSlice(events: readonly TailEvent[], from: number, most: number): readonly TailEvent[] {
  let bytes = 0;
  let end = from;
  while (end < events.length && end < from + most && bytes < SLICE_BYTES) bytes += events[end++]?.weight ?? 0;
  return events.slice(from, end);
}

export function openSubscriber(options: SubscriberOptions): Subscriber {
  const { tail, sink } = options;
  const fromSeq = options.afterSeq ?? tail.head();
  const throughSeq = tail.head();
  let audience = options.audience;
  let cursor = fromSeq;
  let isSynced = false;
  let isLive = false;
  let isFull = false;
  let isPumping = false;
  let isClosed = false;
  const unacknowledged = openUnacknowledged(UNACKNOWLEDGED_LIMIT);
  let stallTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;

  const mustWait = () => isFull || unacknowledged.room() === 0;

  const watchStall = () => {
    if (mustWait() && !isClosed) {
      stallTimer ??= setTimeout(() => sink.stall(), options.stallMs);
    } else {
      clearTimeout(stallTimer);
      stallTimer = undefined;
    }
  };

  const deliver = (events: readonly TailEvent[]) => {
    if (events.length === 0) return;
    unacknowledged.add(events);
    isFull = !sink.writeEvents(events);
    watchStall();
  };

  const sync = () => {
    if (isSynced || cursor < throughSeq) return;
    isSynced = true;
    sink.writeSync(fromSeq, throughSeq);
  };

  const room = (most: number) => Math.min(most, unacknowledged.room());

  /** From memory, in slices. True at the head, false when the client has enough, undefined when memory does not reach back. */
  const drainRing = (): boolean | undefined => {
    const page = tail.readRing(cursor, audience);
    if (page === undefined) return undefined;
    for (let taken = 0; taken < page.events.length;) {
      if (mustWait()) return false;
      const slice = takeSlice(page.events, taken, room(RING_SLICE));
      deliver(slice);
      taken += slice.length;
      cursor = slice.at(-1)?.seq ?? cursor;
    }
    cursor = page.cursor;
    return true;
  };

  const pump = async () => {
    if (isPumping || isLive || isClosed) return;
    isPumping = true;
    while (!isClosed && !mustWait()) {
      const reached = drainRing();
      if (reached === true) {
        sync();
        // Still in the same turn of the event loop as the read: nothing can have come in between.
        isLive = true;
        break;
      }
      if (reached === false) continue;
      const page = await tail.readStore(cursor, audience, room(PAGE_EVENTS));
      if (isClosed) break;
      deliver(page.events);
      cursor = page.cursor;
      sync();
    }
    isPumping = false;
  };

  const wake = () => {
    pump().catch((error: unknown) => {
      // Expected: the store is away. The cursor stands where it stood, so trying again loses nothing.
      isPumping = false;
      options.onError(error);
      retryTimer ??= setTimeout(() => {
        retryTimer = undefined;
        wake();
      }, RETRY_MS);
    });
  };

  const stopListening = tail.onAdvance((events) => {
    if (!isLive) return wake();
    // The store, or the client's own place, may be ahead of this process's tail: what is behind the cursor was given already.
    const fresh = (events[0]?.seq ?? 0) > cursor ? events : events.filter((event) => event.seq > cursor);
    const matching = matchOnce(fresh, audience);
    if (mustWait() || room(matching.length) < matching.length) {
      isLive = false;
      return wake();
    }
    cursor = fresh.at(-1)?.seq ?? cursor;
    deliver(matching);
  });
  sink.onDrain(() => {
    isFull = false;
    watchStall();
    if (!isLive) wake();
  });
  wake();

  return {
    setAudience: (next) => {
      audience = next;
    },
    acknowledge: (seq) => {
      unacknowledged.acknowledge(seq);
      watchStall();
      if (!isLive) wake();
    },
    close: () => {
      isClosed = true;
      clearTimeout(stallTimer);
      clearTimeout(retryTimer);
      stopListening();
    },
  };
}
