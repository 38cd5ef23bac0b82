/** What tokens cost. Prices are data that people edit; these are only the ones a new installation starts with. */
import { isModelMatch } from "./model-route.ts";
import { toTokens, type TokenUsage } from "./model-usage.ts";

/** US dollars for a million tokens. */
export interface ModelPrice {
  /** A model's name; a star stands for anything. */
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Null: as other input. */
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  /** How many tokens the model takes at once; null: nobody said. */
  readonly contextTokens: number | null;
}

/** The day the table below is meant to stand for. Only the rows that say so were compared with the vendor's pages: whoever relies on cost, or
 *  on how full a context is, checks the others. */
export const SEED_PRICES_AS_OF = "2026-11-18";

const row = (
  model: string,
  input: number,
  output: number,
  cacheRead: number | null,
  cacheWrite: number | null,
  contextTokens: number,
): ModelPrice => ({ model, input, output, cacheRead, cacheWrite, contextTokens });

/** Models that are not named are missing on purpose, and no pattern takes in those to come: an unknown price is shown as unknown. */
export const SEED_PRICES: readonly ModelPrice[] = [
  // These seven: input, output and window as the vendor's page of each model has them.
  row("claude-opus-5", 5, 25, 0.5, 6.25, 1_000_000),
  row("claude-opus-4-8*", 5, 25, 0.5, 6.25, 1_000_000),
  row("claude-opus-4-6*", 5, 25, 0.5, 6.25, 1_000_000),
  row("claude-opus-4-5*", 5, 25, 0.5, 6.25, 200_000),
  row("claude-sonnet-5", 2, 10, 0.2, 2.5, 1_000_000),
  row("claude-sonnet-4-5*", 3, 15, 0.3, 3.75, 200_000),
  row("claude-haiku-4-5*", 1, 5, 0.1, 1.25, 200_000),
  // Compared with nothing.
  row("claude-opus-4-1*", 15, 75, 1.5, 18.75, 200_000),
  row("claude-opus-4-0*", 15, 75, 1.5, 18.75, 200_000),
  row("claude-opus-4-2025*", 15, 75, 1.5, 18.75, 200_000),
  row("claude-3-opus*", 15, 75, 1.5, 18.75, 200_000),
  row("claude-sonnet-4-0*", 3, 15, 0.3, 3.75, 200_000),
  row("claude-sonnet-4-2025*", 3, 15, 0.3, 3.75, 200_000),
  row("claude-3-7-sonnet*", 3, 15, 0.3, 3.75, 200_000),
  row("claude-3-5-sonnet*", 3, 15, 0.3, 3.75, 200_000),
  row("claude-3-5-haiku*", 0.8, 4, 0.08, 1, 200_000),
  row("claude-3-haiku*", 0.25, 1.25, 0.03, 0.3, 200_000),
  row("gpt-5.1*", 1.25, 10, 0.125, null, 400_000),
  row("gpt-5-mini*", 0.25, 2, 0.025, null, 400_000),
  row("gpt-5-nano*", 0.05, 0.4, 0.005, null, 400_000),
  row("gpt-5-codex*", 1.25, 10, 0.125, null, 400_000),
  row("gpt-5", 1.25, 10, 0.125, null, 400_000),
  row("gpt-5-2025*", 1.25, 10, 0.125, null, 400_000),
  row("gpt-4.1", 2, 8, 0.5, null, 1_047_576),
  row("gpt-4.1-mini*", 0.4, 1.6, 0.1, null, 1_047_576),
  row("gpt-4.1-nano*", 0.1, 0.4, 0.025, null, 1_047_576),
  row("gpt-4o", 2.5, 10, 1.25, null, 128_000),
  row("gpt-4o-mini*", 0.15, 0.6, 0.075, null, 128_000),
  row("o3", 2, 8, 0.5, null, 200_000),
  row("o4-mini*", 1.1, 4.4, 0.275, null, 200_000),
  row("gemini-2.5-pro*", 1.25, 10, 0.125, null, 1_048_576),
  row("gemini-2.5-flash", 0.3, 2.5, 0.03, null, 1_048_576),
  row("gemini-2.5-flash-lite*", 0.1, 0.4, 0.01, null, 1_048_576),
  row("glm-4.6*", 0.6, 2.2, 0.11, null, 200_000),
];

/** The pattern that says most about the model. */
export function pickPrice<P extends { readonly model: string }>(prices: readonly P[], model: string): P | undefined {
  let best: P | undefined;
  for (const price of prices) {
    if (isModelMatch(price.model, model) && (best === undefined || price.model.length > best.model.length))
      best = price;
  }
  return best;
}

export interface Cost {
  readonly inputUsd: number;
  readonly outputUsd: number;
  readonly totalUsd: number;
}

const PER = 1_000_000;

export function toCost(price: ModelPrice, usage: TokenUsage): Cost {
  const inputUsd =
    (usage.input * price.input +
      usage.cacheRead * (price.cacheRead ?? price.input) +
      usage.cacheWrite * (price.cacheWrite ?? price.input)) /
    PER;
  const outputUsd = (usage.output * price.output) / PER;
  return { inputUsd, outputUsd, totalUsd: inputUsd + outputUsd };
}

/** For budgets alone: a model whose price nobody knows is held against them at the dearest price of all. */
export const toDearest = (prices: readonly ModelPrice[]): ModelPrice => ({
  model: "*",
  input: Math.max(...prices.map((price) => price.input), ...SEED_PRICES.map((price) => price.input)),
  output: Math.max(...prices.map((price) => price.output), ...SEED_PRICES.map((price) => price.output)),
  cacheRead: null,
  cacheWrite: null,
  contextTokens: null,
});

/** Agents ask for leave to write tens of thousands of tokens and write a few hundred. */
const EXPECTED_OUTPUT_TOKENS = 256;

/** What a call is expected to cost before it is made. */
export const estimateCost = (
  price: ModelPrice,
  requestCharacters: number,
  maxOutputTokens: number | undefined,
): number =>
  toCost(price, {
    input: toTokens(requestCharacters),
    output: Math.min(maxOutputTokens ?? EXPECTED_OUTPUT_TOKENS, EXPECTED_OUTPUT_TOKENS),
    cacheRead: 0,
    cacheWrite: 0,
  }).totalUsd;

const FORECAST_BUFFER = 1.2;

/** Half of the tokens in, half of them out, and a fifth more; no sum without a price. */
export function forecastCost(
  price: ModelPrice | undefined,
  tasks: number,
  tokensPerTask: number,
): { readonly tokens: number; readonly buffer: number; readonly usd: number | null } {
  const tokens = tasks * tokensPerTask * FORECAST_BUFFER;
  const half = { input: tokens / 2, output: tokens / 2, cacheRead: 0, cacheWrite: 0 };
  return { tokens, buffer: FORECAST_BUFFER, usd: price === undefined ? null : toCost(price, half).totalUsd };
}
