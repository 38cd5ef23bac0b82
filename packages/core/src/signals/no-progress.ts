/** Many calls that change no file and bring nothing new: what is read was read before. */
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart, toToolCall, toToolResult } from "./tool-call.ts";

interface State {
  /** Calls since the last change, with whether each was one not made before. */
  readonly calls: readonly { readonly seq: number; readonly isNew: boolean }[];
  readonly known: readonly string[];
  /** The last calls that wait, whose results count as little as they do; missing in what older versions stored. */
  readonly waiting?: readonly string[];
}

const NONE: State = { calls: [], known: [] };
const KEPT_CALLS = 60;
const KEPT_PRINTS = 200;
const KEPT_WAITS = 20;
const WARN_CALLS = 16;
/** Of the calls since the last change, how many may be new at most. */
const NOVELTY = 0.35;

const isStale = (calls: State["calls"]): boolean => calls.filter((call) => call.isNew).length <= NOVELTY * calls.length;

export const noProgress: Detector<State> = {
  initial: NONE,
  fold: (state, event) => {
    // "Go on" makes nothing new; only what the guardian said about it begins the count again.
    const isTold = isFreshStart(event) && event.event_data["message_type"] !== "user_message";
    if (isEdit(event) || isTold) return { ...NONE, known: state.known };
    const [call, result] = [toToolCall(event), toToolResult(event)];
    const { waiting = [] } = state;
    if (call?.isWaiting === true) return { ...state, waiting: [...waiting, call.id].slice(-KEPT_WAITS) };
    if (result?.id !== undefined && waiting.includes(result.id)) return state;
    const print = call?.print ?? result?.print;
    if (print === undefined) return state;
    const isNew = !state.known.includes(print);
    return {
      ...state,
      known: isNew ? [...state.known, print].slice(-KEPT_PRINTS) : state.known,
      calls: [...state.calls, { seq: event.seq, isNew }].slice(-KEPT_CALLS),
    };
  },
  read: ({ calls }) => {
    // Calls and results are counted alike: two entries each.
    if (calls.length < 2 * WARN_CALLS || !isStale(calls)) return undefined;
    return {
      signal: "no_progress",
      level: "warning",
      seqs: cite(calls.map((call) => call.seq)),
      detail: `${Math.round(calls.length / 2)} calls without a change, and little that was not seen before`,
    };
  },
  lingers: ({ calls }) => calls.length > 0 && isStale(calls),
};
