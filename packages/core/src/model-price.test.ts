import { expect, test } from "vitest";
import { pickPrice, SEED_PRICES, toCost } from "./model-price.ts";

const priceOf = (model: string) => pickPrice(SEED_PRICES, model);

test.for([
  ["claude-opus-4-8", 5, 25, 1_000_000],
  ["claude-opus-4-6", 5, 25, 1_000_000],
  ["claude-opus-4-5-20251101", 5, 25, 200_000],
  ["claude-opus-4-1-20250805", 15, 75, 200_000],
  ["claude-opus-4-20250514", 15, 75, 200_000],
  ["claude-sonnet-4-5-20250929", 3, 15, 200_000],
  ["claude-sonnet-4-20250514", 3, 15, 200_000],
] as const)("%s has its own row, not an older model's", ([model, input, output, contextTokens]) => {
  expect(priceOf(model)).toMatchObject({ input, output, contextTokens });
});

// It was so: `claude-opus-4*` priced later models three times too dear and took their windows for a fifth.
test.for([
  "claude-opus-4-9",
  "claude-opus-5-5",
  "claude-sonnet-4-6",
  "claude-haiku-5-5",
  "gpt-5.5",
  "gpt-6",
  "gemini-3-pro",
])("what %s costs is unknown, and not guessed from its name", (model) => expect(priceOf(model)).toBeUndefined());

test("what was read from a cache and written to one has prices of its own", () => {
  const usage = { input: 1_000, output: 100, cacheRead: 10_000, cacheWrite: 2_000 };
  const price = priceOf("claude-sonnet-4-5");
  if (price === undefined) throw new Error("there is no price");
  const cost = toCost(price, usage);
  expect(cost.inputUsd).toBeCloseTo(0.003 + 0.003 + 0.0075, 9);
  expect(cost.totalUsd).toBeCloseTo(0.0135 + 0.0015, 9);
});
