/** How full the model's window is: what the newest call gave it, of what it takes at once. */
import { toInputTokens } from "./feed-lifecycle.ts";
import { readNumber, readText, type LogEvent } from "./log-event.ts";

/** A row of the price table, as far as it tells a window. */
interface KnownWindow {
  /** A model's name; a star stands for anything. */
  readonly model: string;
  readonly context_tokens: number | null;
}

export interface ContextFill {
  readonly tokens: number;
  readonly window: number;
}

/** Vendors write 4.5 and 4-5 for the same model. */
const toPlain = (model: string): string => model.toLowerCase().replaceAll(".", "-");

const isMatch = (pattern: string, model: string): boolean => {
  const parts = toPlain(pattern).split("*");
  const words = parts.map((part) => part.replaceAll(/[^a-z0-9]/g, String.raw`\$&`));
  return new RegExp(`^${words.join(".*")}$`).test(toPlain(model));
};

/** The longest pattern knows the model best, as for its price. */
const pickWindow = (known: readonly KnownWindow[], model: string): number | null =>
  known.filter((one) => isMatch(one.model, model)).toSorted((one, other) => other.model.length - one.model.length)[0]
    ?.context_tokens ?? null;

/** Undefined while nobody called a model, right after its memory was compacted, and where nobody knows the window. */
export function toContextFill(events: readonly LogEvent[], known: readonly KnownWindow[]): ContextFill | undefined {
  const last = events.findLast(({ event_type: type }) => type === "agent.usage" || type === "agent.compacted");
  if (last?.event_type !== "agent.usage") return undefined;
  const tokens = toInputTokens(last.event_data);
  const model = readText(last.event_data, "model");
  // The agent itself knows best, when it tells.
  const window = readNumber(last.event_data, "context_window") ?? (model === null ? null : pickWindow(known, model));
  return tokens === 0 || window === null || window <= 0 ? undefined : { tokens, window };
}
