/** The agent has asked something, and nobody has answered for a while. */
import { foldOpen, type WatchFacts } from "../watch-facts.ts";
import { cite, type Detector } from "./signal.ts";

const NOTE_MS = 2 * 60_000;
const CRITICAL_MS = 10 * 60_000;

export const waitingForAnswer: Detector<Pick<WatchFacts, "open">> = {
  initial: { open: {} },
  fold: (state, event) => {
    const open = foldOpen(state.open, event);
    return open === state.open ? state : { open };
  },
  read: ({ open }, _run, nowMs) => {
    const waiting = Object.values(open).filter(({ atMs }) => nowMs - atMs >= NOTE_MS);
    const [first] = waiting;
    if (first === undefined) return undefined;
    return {
      signal: "waiting_for_answer",
      level: nowMs - first.atMs >= CRITICAL_MS ? "critical" : "note",
      seqs: cite(waiting.map(({ seq }) => seq)),
      detail: `has waited for an answer for ${Math.round((nowMs - first.atMs) / 60_000)} minutes`,
    };
  },
};
