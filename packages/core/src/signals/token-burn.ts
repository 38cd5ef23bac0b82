/** Tokens that turn into nothing: a great many of them since the last changed line. */
import type { JsonObject } from "@drover/contract";
import { cite, type Detector } from "./signal.ts";
import { isEdit, isFreshStart } from "./tool-call.ts";

interface State {
  readonly seqs: readonly number[];
  readonly tokens: number;
  readonly lines: number;
  readonly totalTokens: number;
  /** The agent was told something, and has changed nothing since; missing in what older versions stored. */
  readonly isUnmoved?: boolean;
}

const NONE: State = { seqs: [], tokens: 0, lines: 0, totalTokens: 0 };
const KEPT = 30;
const WARN_TOKENS = 2_000_000;
const CRITICAL_TOKENS = 8_000_000;
/** Once lines are changed, this many tokens are granted for each. */
const TOKENS_PER_LINE = 4_000;

const readCount = (data: JsonObject, key: string): number => {
  const value = data[key];
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
};

/** What is read from a cache costs a tenth, and is asked for again at every call. */
const toWeight = (data: JsonObject): number =>
  readCount(data, "input_tokens") +
  readCount(data, "cache_write_tokens") +
  readCount(data, "output_tokens") +
  readCount(data, "cache_read_tokens") / 10;

export const tokenBurn: Detector<State> = {
  initial: NONE,
  fold: (state, event) => {
    if (isFreshStart(event)) return { ...state, seqs: [], tokens: 0, isUnmoved: true };
    if (isEdit(event)) {
      const lines = readCount(event.event_data, "lines_added") + readCount(event.event_data, "lines_removed");
      return { ...state, seqs: [], tokens: 0, lines: state.lines + lines, isUnmoved: false };
    }
    if (event.event_type !== "agent.usage") return state;
    const tokens = toWeight(event.event_data);
    return {
      ...state,
      seqs: [...state.seqs, event.seq].slice(-KEPT),
      tokens: state.tokens + tokens,
      totalTokens: state.totalTokens + tokens,
    };
  },
  read: ({ seqs, tokens, lines, totalTokens }) => {
    if (tokens < WARN_TOKENS || totalTokens < TOKENS_PER_LINE * lines) return undefined;
    return {
      signal: "token_burn",
      level: tokens >= CRITICAL_TOKENS ? "critical" : "warning",
      seqs: cite(seqs),
      detail: `${Math.round(tokens / 1_000)}k tokens since the last changed line`,
    };
  },
  lingers: ({ isUnmoved }) => isUnmoved === true,
};
