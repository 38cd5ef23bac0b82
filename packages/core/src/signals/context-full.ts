/** The model's window is nearly full: what was said first is about to be forgotten. */
import type { Detector } from "./signal.ts";

interface State {
  readonly seq: number;
  readonly tokens: number;
  /** As the agent itself tells it, when it does. */
  readonly window: number | null;
}

const NOTE_SHARE = 0.85;
const WARN_SHARE = 0.95;

const toCount = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;

export const contextFull: Detector<State> = {
  initial: { seq: 0, tokens: 0, window: null },
  fold: (state, event) => {
    if (event.event_type === "agent.compacted") return { ...state, tokens: 0 };
    if (event.event_type !== "agent.usage") return state;
    const data = event.event_data;
    const tokens =
      toCount(data["input_tokens"]) + toCount(data["cache_read_tokens"]) + toCount(data["cache_write_tokens"]);
    return { seq: event.seq, tokens, window: toCount(data["context_window"]) || state.window };
  },
  read: ({ seq, tokens, window }, run) => {
    const limit = window ?? run.contextTokens;
    if (limit === null || tokens < NOTE_SHARE * limit) return undefined;
    return {
      signal: "context_full",
      level: tokens >= WARN_SHARE * limit ? "warning" : "note",
      seqs: [seq],
      detail: `${Math.round((100 * tokens) / limit)} % of the model's window is used`,
    };
  },
};
