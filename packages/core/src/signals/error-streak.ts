/** One failure after another: calls that end in errors, with no success between them. */
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart, toToolCall, toToolResult } from "./tool-call.ts";

interface State {
  readonly seqs: readonly number[];
  /** Edits since the streak began: somebody who changes something and tries again is at work. */
  readonly edits: number;
  /** The last calls that wait: that something is not there yet is no failure. Missing in what older versions stored. */
  readonly waiting?: readonly string[];
}

const NONE: State = { seqs: [], edits: 0 };
const KEPT = 30;
const WARN_ERRORS = 5;
const LINGERING_ERRORS = 2;
/** Every edit lets one more failure pass. */
const CRITICAL_ERRORS = 12;
const ERRORS: ReadonlySet<string> = new Set(["agent.error", "agent.stream_error", "iteration.failed"]);

export const errorStreak: Detector<State> = {
  initial: NONE,
  fold: (state, event) => {
    if (isFreshStart(event)) return NONE;
    if (isEdit(event)) return state.seqs.length === 0 ? state : { ...state, edits: state.edits + 1 };
    const call = toToolCall(event);
    const { waiting = [] } = state;
    if (call?.isWaiting === true) return { ...state, waiting: [...waiting, call.id].slice(-KEPT) };
    const result = toToolResult(event);
    if (result?.id !== undefined && waiting.includes(result.id)) return state;
    const isError = ERRORS.has(event.event_type) || result?.isError === true;
    if (isError) return { ...state, seqs: [...state.seqs, event.seq].slice(-KEPT) };
    return result === undefined ? state : { ...NONE, waiting };
  },
  read: ({ seqs, edits }) => {
    const count = seqs.length - edits;
    if (count < WARN_ERRORS) return undefined;
    return {
      signal: "error_streak",
      level: count >= CRITICAL_ERRORS ? "critical" : "warning",
      seqs: cite(seqs),
      detail: `${seqs.length} errors in a row`,
    };
  },
  lingers: ({ seqs, edits }) => seqs.length - edits >= LINGERING_ERRORS,
};
