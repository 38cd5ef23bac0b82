/** Whether a call fits into the budgets it is under, and when a person is warned. */
export interface BudgetStanding {
  readonly limitUsd: number;
  readonly spentUsd: number;
  /** Held for calls under way. */
  readonly reservedUsd: number;
  /** The share of the limit at which people are warned. */
  readonly warnShare: number;
}

export type ReserveDecision<B extends BudgetStanding> =
  | { readonly kind: "reserved" }
  /** It does not fit: the money is spent. */
  | { readonly kind: "exceeded"; readonly budget: B }
  /** It would fit if calls under way came out cheaper than expected: the caller may try again. */
  | { readonly kind: "busy"; readonly budget: B };

/** Sums of prices are not exact; a billionth of a dollar is nobody's business. */
const GRAIN_USD = 1e-9;

export function decideReserve<B extends BudgetStanding>(
  budgets: readonly B[],
  estimateUsd: number,
): ReserveDecision<B> {
  const spent = budgets.find(
    (budget) =>
      budget.spentUsd >= budget.limitUsd - GRAIN_USD || budget.spentUsd + estimateUsd > budget.limitUsd + GRAIN_USD,
  );
  if (spent !== undefined) return { kind: "exceeded", budget: spent };
  const held = budgets.find(
    (budget) => budget.spentUsd + budget.reservedUsd + estimateUsd > budget.limitUsd + GRAIN_USD,
  );
  return held === undefined ? { kind: "reserved" } : { kind: "busy", budget: held };
}

/** Once, when what is spent first reaches the share. */
export const isWarningDue = (budget: BudgetStanding, isWarned: boolean): boolean =>
  !isWarned && budget.spentUsd >= budget.limitUsd * budget.warnShare - GRAIN_USD;
