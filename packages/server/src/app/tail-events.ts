/** The end of the log, kept in memory and followed: every subscriber reads from here or, further back, from the store. */
import { isFullPage, listTail, loadHead } from "../store/events.ts";
import type { Bus } from "../ports/bus.ts";
import type { Clock } from "../ports/clock.ts";
import type { Db } from "../ports/db.ts";
import type { Log } from "../ports/log.ts";
import { startLoop } from "../loop.ts";
import { isFor, toTailEvent, type Audience, type TailEvent } from "./tail-event.ts";

const RING_EVENTS = 8_192;
const RING_BYTES = 16 * 1024 * 1024;
const READ_LIMIT = 1_000;
/** A lost hint costs at most this. */
const SAFETY_NET_MS = 1_000;

export interface TailPage {
  readonly events: readonly TailEvent[];
  /** Everything up to here was looked at, also what did not match. */
  readonly cursor: number;
}

/** Contract: events arrive in seq order, each once. `readAfter` at the head answers from memory, without a gap to what the
 *  next `onAdvance` brings, when both happen in one turn of the event loop. */
export interface Tail {
  head(): number;
  /** Events this process has just committed, in seq order. */
  feed(events: readonly TailEvent[]): void;
  /** From memory when it reaches back that far, else undefined. */
  readRing(after: number, audience: Audience): TailPage | undefined;
  readStore(after: number, audience: Audience, limit: number): Promise<TailPage>;
  onAdvance(listener: (events: readonly TailEvent[]) => void): () => void;
  done: Promise<void>;
}

export async function openTail(deps: { db: Db; bus: Bus; clock: Clock; log: Log; signal: AbortSignal }): Promise<Tail> {
  let ring: TailEvent[] = [];
  let ringBytes = 0;
  const start = (await loadHead.one(deps.db)).seq;
  let head = start;
  /** Events after this one are in the ring. */
  let ringAfter = start;
  const listeners = new Set<(events: readonly TailEvent[]) => void>();

  const trim = () => {
    let drop = Math.max(0, ring.length - RING_EVENTS);
    let bytes = ring.slice(0, drop).reduce((sum, event) => sum + event.weight, 0);
    while (ringBytes - bytes > RING_BYTES && drop < ring.length) bytes += ring[drop++]?.weight ?? 0;
    if (drop === 0) return;
    ringAfter = ring[drop - 1]?.seq ?? ringAfter;
    ringBytes -= bytes;
    ring = ring.slice(drop);
  };

  const advance = (events: readonly TailEvent[]) => {
    const last = events.at(-1);
    if (last === undefined) return;
    head = last.seq;
    for (const event of events) {
      ring.push(event);
      ringBytes += event.weight;
    }
    // Twice the room before trimming, so that a busy log is not copied for every event.
    if (ring.length > 2 * RING_EVENTS || ringBytes > RING_BYTES) trim();
    for (const listener of listeners) listener(events);
  };

  const readNew = async () => {
    for (;;) {
      const before = head;
      const rows = await listTail(deps.db, { projectId: null, entityIds: undefined }, before, READ_LIMIT);
      // While we read, this process may have fed the very same rows.
      advance(rows.filter((row) => row.seq > head).map(toTailEvent));
      if (!isFullPage(rows, READ_LIMIT)) return;
    }
  };

  const loop = startLoop({
    everyMs: SAFETY_NET_MS,
    pass: readNew,
    clock: deps.clock,
    signal: deps.signal,
    onError: (error) => deps.log.warn("tail.read_failed", { reason: String(error) }),
  });
  const stopHints = deps.bus.onHint(loop.wake);

  const indexAfter = (after: number): number => {
    let low = 0;
    let high = ring.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((ring[middle]?.seq ?? 0) <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  return {
    head: () => head,
    feed: (events) => {
      const first = events[0];
      if (first === undefined) return;
      // Numbers are taken under one lock: if ours follow the head directly, nobody else's can lie between.
      if (first.seq === head + 1) advance(events);
      else loop.wake();
    },
    readRing: (after, audience) => {
      if (after < ringAfter) return undefined;
      return {
        events: ring.slice(indexAfter(after)).filter((event) => isFor(audience, event)),
        cursor: Math.max(after, head),
      };
    },
    readStore: async (after, audience, limit) => {
      const seen = head;
      const entityIds = audience.matcher.entityIds;
      const scope = { projectId: audience.projectId, entityIds: entityIds === undefined ? undefined : [...entityIds] };
      const rows = await listTail(deps.db, scope, after, limit);
      const last = rows.at(-1)?.seq ?? after;
      const cursor = isFullPage(rows, limit) ? last : Math.max(last, seen);
      return { events: rows.map(toTailEvent).filter((event) => isFor(audience, event)), cursor };
    },
    onAdvance: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    done: loop.done.finally(stopHints),
  };
}
