/** Agents that can be installed, read again while one of them is; and how their workers beat. */
import { queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";

const WHILE_INSTALLING_MS = 1_000;
const HEARTBEATS_EVERY_MS = 30_000;

export const packagesQuery = queryOptions({
  queryKey: ["agent-packages"] as const,
  queryFn: ({ signal }) => client.listAgentPackages({}, { signal }),
  refetchInterval: ({ state }) =>
    state.data?.items.some((item) => item.state === "installing") === true ? WHILE_INSTALLING_MS : false,
});

export const heartbeatsQuery = (agentName: string) =>
  queryOptions({
    queryKey: ["heartbeats", agentName] as const,
    queryFn: ({ signal }) => client.getAgentHeartbeats({ query: { agent_type: agentName, hours: 24 } }, { signal }),
    refetchInterval: HEARTBEATS_EVERY_MS,
  });
