/** What waits for a person: requests of agents, runs that stopped at their budget, what the guardian asks, tickets to approve. The dearest first. */
import {
  TERMINAL_SANDBOX_STATES,
  type Intervention,
  type Permission,
  type Sandbox,
  type Ticket,
} from "@drover/contract";
import { useQueries, useQuery, queryOptions } from "@tanstack/react-query";
import { client } from "../data/client.ts";
import { useMinute } from "../data/now.ts";
import { interventionsQuery } from "../monitor/queries.ts";
import { sortByWaitingCost } from "./waiting-cost.ts";

export type Need =
  | {
      readonly kind: "permission";
      readonly key: string;
      readonly since: string;
      readonly sandbox: Sandbox;
      readonly request: Permission;
    }
  | { readonly kind: "budget"; readonly key: string; readonly since: string; readonly sandbox: Sandbox }
  | {
      readonly kind: "guardian";
      readonly key: string;
      readonly since: string;
      readonly sandbox: Sandbox;
      readonly intervention: Intervention;
    }
  | { readonly kind: "approval"; readonly key: string; readonly since: string; readonly ticket: Ticket };

/** Of so many sandboxes the requests are read; whoever has more looks at the list. */
const ASKED = 60;

/** Read once; the stream says when to look again. */
export const openRequestsQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["permissions", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.listPermissions({ params: { sandbox_id: sandboxId }, query: { state: "open", limit: 20 } }, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });

const toReviewQuery = queryOptions({
  queryKey: ["work", "to-review"] as const,
  queryFn: ({ signal }) => client.listTickets({ query: { approval_status: "pending_review", limit: 50 } }, { signal }),
});

/** Where the guardian asked a person and nothing has come of it yet: the newest of each run that is not over. */
function listAsked(newestFirst: readonly Intervention[], sandboxes: readonly Sandbox[]) {
  return sandboxes
    .filter(({ state }) => !TERMINAL_SANDBOX_STATES.has(state) && state !== "completed")
    .flatMap((sandbox) => {
      const intervention = newestFirst.find((one) => one.sandbox_id === sandbox.id && one.rung !== "note");
      if (intervention?.rung !== "ask" || intervention.outcome !== "pending") return [];
      const kind = "guardian" as const;
      return [{ kind, key: intervention.id, since: intervention.created_at, sandbox, intervention }];
    });
}

export function useNeeds(sandboxes: readonly Sandbox[]): readonly Need[] {
  const working = sandboxes.filter(({ state }) => state === "running" || state === "completing").slice(0, ASKED);
  const requests = useQueries({ queries: working.map(({ id }) => openRequestsQuery(id)) });
  const tickets = useQuery(toReviewQuery);
  const interventions = useQuery(interventionsQuery);
  const now = useMinute();
  const needs: Need[] = [
    ...working.flatMap((sandbox, at) =>
      (requests[at]?.data?.items ?? []).map((request) => ({
        kind: "permission" as const,
        key: `${sandbox.id}/${request.request_id}`,
        since: request.requested_at,
        sandbox,
        request,
      })),
    ),
    ...sandboxes
      .filter(({ state, state_cause: cause }) => state === "paused" && cause === "budget")
      .map((sandbox) => ({
        kind: "budget" as const,
        key: sandbox.id,
        since: sandbox.last_event_at ?? sandbox.created_at,
        sandbox,
      })),
    ...listAsked(interventions.data?.items ?? [], sandboxes).filter(
      ({ sandbox }) => !working.some(({ id }, at) => id === sandbox.id && (requests[at]?.data?.items.length ?? 0) > 0),
    ),
    ...(tickets.data?.items ?? []).map((ticket) => ({
      kind: "approval" as const,
      key: ticket.id,
      since: ticket.created_at,
      ticket,
    })),
  ];
  return sortByWaitingCost(needs, now);
}
