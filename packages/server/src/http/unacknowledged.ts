/** What was sent to one subscriber and not acknowledged, as far back as the limit reaches; more need not be known. */
import { perTurn } from "../app/per-turn.ts";
import type { TailEvent } from "../app/tail-event.ts";

/** Subscribers at the head are given the very same list, and share its numbers too. */
const toSeqs = perTurn((events: readonly TailEvent[]): readonly number[] => events.map((event) => event.seq));

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

/** Below this many forgotten entries the list is not moved up: it would be copied for every event. */
const LEAST_MOVED = 256;

export function openUnacknowledged(limit: number): Unacknowledged {
  /** Oldest first, from `first` on. Those in front are forgotten while the rest alone fill the limit. */
  const sent: (readonly number[])[] = [];
  let first = 0;
  let count = 0;
  let acknowledged: number | undefined;

  const mayForget = (oldest: readonly number[]) =>
    (acknowledged !== undefined && (oldest.at(-1) ?? 0) <= acknowledged) || count - oldest.length >= limit;

  const forget = () => {
    for (let oldest = sent[first]; oldest !== undefined && mayForget(oldest); oldest = sent[first]) {
      count -= oldest.length;
      first += 1;
    }
    if (first < LEAST_MOVED || first < sent.length / 2) return;
    sent.splice(0, first);
    first = 0;
  };

  return {
    add: (events) => {
      const seqs = toSeqs(events);
      sent.push(seqs);
      count += seqs.length;
      forget();
    },
    acknowledge: (seq) => {
      acknowledged = Math.max(acknowledged ?? 0, seq);
      forget();
    },
    room: () => {
      if (acknowledged === undefined) return Infinity;
      let above = 0;
      for (let index = first; index < sent.length; index++) above += countAbove(sent[index] ?? [], acknowledged);
      return Math.max(0, limit - above);
    },
  };
}
