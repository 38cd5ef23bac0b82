/** Brings a built ticket to its end: without a Git host there is nothing to merge, and it is done. */
import { listTicketWay } from "@drover/core";
import type { TicketId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { changeTicket, toSteps } from "./manage-tickets.ts";

export async function deliverTicket(deps: Deps, id: TicketId, _signal: AbortSignal): Promise<void> {
  await changeTicket(deps, id, undefined, async (row) => {
    if (row.is_blocked || row.status === "done") return undefined;
    return toSteps(deps, row, listTicketWay(row.status, "done"), "all of its tasks are completed", "server");
  });
}
