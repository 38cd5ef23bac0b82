/** The model's window is nearly full: what was said first is about to be forgotten. */
import { pickPrice } from "../model-price.ts";
import type { Detector } from "./signal.ts";

interface State {
  readonly seq: number;
  readonly tokens: number;
  /** As the agent itself tells it, when it does. */
  readonly window: number | null;
  /** Of the last call; missing in what older versions stored. */
  readonly model?: string | null;
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
    const model = typeof data["model"] === "string" ? data["model"] : (state.model ?? null);
    return { seq: event.seq, tokens, window: toCount(data["context_window"]) || state.window, model };
  },
  read: ({ seq, tokens, window, model }, run) => {
    const known = typeof model === "string" ? pickPrice(run.windows ?? [], model) : undefined;
    const limit = window ?? known?.contextTokens ?? run.contextTokens;
    if (limit === null || tokens < NOTE_SHARE * limit) return undefined;
    return {
      signal: "context_full",
      level: tokens >= WARN_SHARE * limit ? "warning" : "note",
      seqs: [seq],
      detail: `${Math.round((100 * tokens) / limit)} % of the model's window is used`,
    };
  },
};
