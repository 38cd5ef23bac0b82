/** What was sent to one subscriber and not acknowledged, as far back as the limit reaches; more need not be known. */
import type { TailEvent } from "../app/tail-event.ts";

const seqsByEvents = new WeakMap<readonly TailEvent[], readonly number[]>();

/** Subscribers at the head are given the very same list, and share its numbers too. */
function toSeqs(events: readonly TailEvent[]): readonly number[] {
  let seqs = seqsByEvents.get(events);
  if (seqs === undefined) {
    seqs = events.map((event) => event.seq);
    seqsByEvents.set(events, seqs);
  }
  return seqs;
}

/** How many of these rising numbers lie above `seq`. */
function countAbove(seqs: readonly number[], seq: number): number {
  let low = 0;
  let high = seqs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((seqs[middle] ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return seqs.length - low;
}

export interface Unacknowledged {
  add(events: readonly TailEvent[]): void;
  acknowledge(seq: number): void;
  /** How many more events may be sent now; no bound until something was acknowledged. */
  room(): number;
}

export function openUnacknowledged(limit: number): Unacknowledged {
  /** Oldest first. Those in front are forgotten while the rest alone fill the limit. */
  let sent: (readonly number[])[] = [];
  let count = 0;
  let acknowledged: number | undefined;

  const forget = () => {
    const first = sent[0];
    if (first === undefined) return false;
    const isAcknowledged = acknowledged !== undefined && (first.at(-1) ?? 0) <= acknowledged;
    if (!isAcknowledged && count - first.length < limit) return false;
    sent = sent.slice(1);
    count -= first.length;
    return true;
  };

  return {
    add: (events) => {
      const seqs = toSeqs(events);
      sent.push(seqs);
      count += seqs.length;
      while (forget());
    },
    acknowledge: (seq) => {
      acknowledged = Math.max(acknowledged ?? 0, seq);
      while (forget());
    },
    room: () => {
      if (acknowledged === undefined) return Infinity;
      const above = acknowledged;
      return Math.max(0, limit - sent.reduce((sum, seqs) => sum + countAbove(seqs, above), 0));
    },
  };
}
