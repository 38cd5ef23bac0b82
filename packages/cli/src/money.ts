/** Money as people read it. */
import { UsageError } from "./exit-code.ts";
import type { Arguments, Verb } from "./verb.ts";

/** Small amounts are not rounded to nothing, and an unknown one is not a zero. */
export const toUsd = (amount: number | null): string =>
  amount === null ? "unknown" : `$${amount.toFixed(amount !== 0 && amount < 1 ? 4 : 2)}`;

export function parseUsd(verb: Verb, args: Arguments, flag: string): number | undefined {
  const text = args.get(flag);
  if (text === undefined) return undefined;
  const amount = Number(text);
  if (text.trim() !== "" && Number.isFinite(amount) && amount >= 0) return amount;
  throw new UsageError(`--${flag} takes an amount of dollars, not ${JSON.stringify(text)}`, verb.name);
}
