/** The price table: what tokens cost and how many a model takes at once. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "./client.ts";

export const pricesQuery = queryOptions({
  queryKey: ["prices"] as const,
  queryFn: ({ signal }) => client.listPrices({}, { signal }),
});
