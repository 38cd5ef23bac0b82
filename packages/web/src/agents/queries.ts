/** Agents that can be installed, read again while one of them is. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";

const WHILE_INSTALLING_MS = 1_000;

export const packagesQuery = queryOptions({
  queryKey: ["agent-packages"] as const,
  queryFn: ({ signal }) => client.listAgentPackages({}, { signal }),
  refetchInterval: ({ state }) =>
    state.data?.items.some((item) => item.state === "installing") === true ? WHILE_INSTALLING_MS : false,
});
