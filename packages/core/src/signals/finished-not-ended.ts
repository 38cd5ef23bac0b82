/** The agent has said its last word and does nothing more, but nobody was told that the work is over. */
import { isHeartbeat } from "../event-traits.ts";
import { isFreshStart, toToolCall, toToolResult } from "./tool-call.ts";
import type { Detector } from "./signal.ts";

interface State {
  /** The last message that ended a turn; null while the agent works or after it was said to be over. */
  readonly said: { readonly seq: number; readonly atMs: number } | null;
  readonly isIdle: boolean;
  readonly running: readonly string[];
}

const NONE: State = { said: null, isIdle: false, running: [] };
const RESTING: ReadonlySet<unknown> = new Set(["idle", "waiting"]);
const RUNNING_LIMIT = 50;
const WARN_MS = 3 * 60_000;
const OVER: ReadonlySet<string> = new Set([
  "agent.completed",
  "agent.failed",
  "agent.interrupted",
  "agent.permission_requested",
]);
const LAST_WORDS: ReadonlySet<string> = new Set(["agent.message", "agent.waiting", "agent.turn_complete"]);

export const finishedNotEnded: Detector<State> = {
  initial: NONE,
  fold: (state, event) => {
    if (isHeartbeat(event.event_type)) return { ...state, isIdle: RESTING.has(event.event_data["status"]) };
    if (OVER.has(event.event_type) || isFreshStart(event)) return NONE;
    const call = toToolCall(event);
    if (call !== undefined)
      return { said: null, isIdle: false, running: [...state.running, call.id].slice(-RUNNING_LIMIT) };
    const result = toToolResult(event);
    if (result !== undefined) return { ...NONE, running: state.running.filter((id) => id !== result.id) };
    if (!LAST_WORDS.has(event.event_type)) return state;
    return { ...state, said: { seq: event.seq, atMs: event.atMs } };
  },
  read: ({ said, isIdle, running }, _run, nowMs) => {
    if (said === null || !isIdle || running.length > 0 || nowMs - said.atMs < WARN_MS) return undefined;
    return {
      signal: "finished_not_ended",
      level: "warning",
      seqs: [said.seq],
      detail: `said its last word ${Math.round((nowMs - said.atMs) / 60_000)} minutes ago and has not ended`,
    };
  },
};
