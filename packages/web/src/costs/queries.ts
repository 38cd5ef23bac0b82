/** What the pages of costs read; again when an agent has called a model. */
import { queryOptions } from "@tanstack/react-query";
import type { CostBreakdownQuery } from "@drover/contract";
import { client } from "../data/client.ts";
import { queryClient } from "../data/queries.ts";

export const summaryQuery = queryOptions({
  queryKey: ["costs", "summary"] as const,
  queryFn: ({ signal }) => client.summariseCosts({ query: { scope_type: "global" } }, { signal }),
});

export const budgetsQuery = queryOptions({
  queryKey: ["costs", "budgets"] as const,
  queryFn: ({ signal }) => client.listBudgets({ query: { limit: 100 } }, { signal }),
});

export const callsQuery = queryOptions({
  queryKey: ["costs", "calls"] as const,
  queryFn: ({ signal }) => client.listCosts({ query: { limit: 30 } }, { signal }),
});

export type BreakdownBy = CostBreakdownQuery["by"];

const DAY_MS = 86_400_000;

export const breakdownQuery = (by: BreakdownBy, days: number) =>
  queryOptions({
    queryKey: ["costs", "breakdown", by, days] as const,
    queryFn: ({ signal }) =>
      client.breakDownCosts(
        { query: { by, scope_type: "global", since: new Date(Date.now() - days * DAY_MS).toISOString() } },
        { signal },
      ),
    placeholderData: (before) => before,
  });

export const readCosts = () => queryClient.invalidateQueries({ queryKey: ["costs"] });
