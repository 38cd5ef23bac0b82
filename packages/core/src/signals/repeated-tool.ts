/** The same call again and again, with the same result and nothing changed in between; also loops of two or three calls. */
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart, toToolCall, toToolResult, type ToolCall } from "./tool-call.ts";

interface Call {
  readonly seq: number;
  readonly id: string;
  readonly print: string;
  readonly isWaiting?: boolean;
  /** Undefined while it runs. */
  readonly result?: string;
}

interface State {
  readonly calls: readonly Call[];
  /** The last calls before the agent was told something; missing in what older versions stored. */
  readonly before?: readonly string[];
}

const KEPT = 30;
const LONGEST_CYCLE = 3;
const WARN_ROUNDS = 5;
const CRITICAL_ROUNDS = 10;

const toKept = (seq: number, { id, print, isWaiting }: ToolCall): Call => ({
  seq,
  id,
  print,
  ...(isWaiting ? { isWaiting } : {}),
});

const isSame = (a: Call, b: Call) => a.print === b.print && a.result === b.result;

/** How many rounds of `period` calls stand at the end, each like the one before. */
function countRounds(calls: readonly Call[], period: number): number {
  let same = 0;
  for (let index = calls.length - 1; index - period >= 0; index--) {
    const [later, earlier] = [calls[index], calls[index - period]];
    if (later === undefined || earlier === undefined || !isSame(later, earlier)) break;
    same += 1;
  }
  return same === 0 ? 0 : Math.floor(same / period) + 1;
}

export const repeatedTool: Detector<State> = {
  initial: { calls: [] },
  fold: (state, event) => {
    if (isEdit(event)) return { calls: [] };
    if (isFreshStart(event)) {
      const last = state.calls.slice(-LONGEST_CYCLE).map(({ print }) => print);
      return { calls: [], before: last.length === 0 ? (state.before ?? []) : [...new Set(last)] };
    }
    const call = toToolCall(event);
    if (call !== undefined) return { ...state, calls: [...state.calls, toKept(event.seq, call)].slice(-KEPT) };
    const result = toToolResult(event);
    if (result === undefined) return state;
    return {
      ...state,
      calls: state.calls.map((one) =>
        one.id === result.id && one.result === undefined ? { ...one, result: result.print } : one,
      ),
    };
  },
  read: ({ calls }) => {
    const done = calls.filter((call) => call.result !== undefined);
    for (let period = 1; period <= LONGEST_CYCLE; period++) {
      const rounds = countRounds(done, period);
      if (rounds < WARN_ROUNDS) continue;
      const looped = done.slice(-rounds * period);
      const isWaiting = looped.some((call) => call.isWaiting === true);
      return {
        signal: "repeated_tool",
        level: isWaiting ? "note" : rounds >= CRITICAL_ROUNDS ? "critical" : "warning",
        seqs: cite(looped.map((call) => call.seq)),
        detail: `the same ${period === 1 ? "call" : `${period} calls`} ${rounds} times with the same result`,
      };
    }
    return undefined;
  },
  lingers: ({ calls, before = [] }) => {
    const seen = new Set(before);
    const again = calls.filter(({ print }) => seen.size === seen.add(print).size);
    return 2 * again.length > calls.length;
  },
};
