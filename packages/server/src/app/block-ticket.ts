/** Blocks a ticket for a person to look at: new work on it waits until it is unblocked. */
import type { TicketId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { changeTicket, draftTicketEvent } from "./manage-tickets.ts";

/** Told on the ticket. One that is blocked stays as it is. */
export async function blockByConflict(deps: Deps, ticketId: TicketId, cause: string): Promise<void> {
  await changeTicket(deps, ticketId, undefined, async (row) => {
    if (row.is_blocked || row.status === "done") return undefined;
    const patch = {
      is_blocked: true,
      blocked_reason: "failing_checks" as const,
      blocked_at: deps.clock.now(),
      context: { ...row.context, blocked_cause: cause },
    };
    const told = { reason: "failing_checks", cause };
    return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_BLOCKED", told, "server")] };
  });
}
