/** Many calls over many turns that change no file and bring nothing new: what is read was read before. */
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart, toToolCall, toToolResult } from "./tool-call.ts";

interface State {
  /** Calls since the last change, with whether each was one not made before. */
  readonly calls: readonly { readonly seq: number; readonly isNew: boolean }[];
  readonly known: readonly string[];
  readonly turns: readonly number[];
}

const NONE: State = { calls: [], known: [], turns: [] };
const KEPT_CALLS = 40;
const KEPT_PRINTS = 200;
const KEPT_TURNS = 40;
const WARN_TURNS = 8;
const WARN_CALLS = 16;
/** Of the calls since the last change, how many may be new at most. */
const NOVELTY = 0.35;

export const noProgress: Detector<State> = {
  initial: NONE,
  fold: (state, event) => {
    if (isEdit(event) || isFreshStart(event)) return { ...NONE, known: state.known };
    const turn = event.event_data["turn"];
    const turns =
      typeof turn === "number" && state.turns.at(-1) !== turn ? [...state.turns, turn].slice(-KEPT_TURNS) : state.turns;
    const print = toToolCall(event)?.print ?? toToolResult(event)?.print;
    if (print === undefined) return turns === state.turns ? state : { ...state, turns };
    const isNew = !state.known.includes(print);
    return {
      turns,
      known: isNew ? [...state.known, print].slice(-KEPT_PRINTS) : state.known,
      calls: [...state.calls, { seq: event.seq, isNew }].slice(-KEPT_CALLS),
    };
  },
  read: ({ calls, turns }) => {
    const fresh = calls.filter((call) => call.isNew).length;
    // Calls and results are counted alike: two entries each.
    if (turns.length < WARN_TURNS || calls.length < 2 * WARN_CALLS || fresh > NOVELTY * calls.length) return undefined;
    return {
      signal: "no_progress",
      level: "warning",
      seqs: cite(calls.map((call) => call.seq)),
      detail: `${turns.length} turns without a change, and little that was not seen before`,
    };
  },
};
