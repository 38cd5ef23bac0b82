/** Which tickets a ticket waits for, changed by people after it was made. */
import { AppError, type TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import { lockEdges } from "../store/tasks.ts";
import { deleteTicketDependency, insertTicketDependencies, loadTicket, type TicketRow } from "../store/tickets.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { requireNoCircle, toNode } from "./find-circle.ts";
import { draftTicketEvent, requireTickets } from "./manage-tickets.ts";
import { listBlockers } from "./read-ticket.ts";
import { requeue } from "./requeue-tasks.ts";

async function edit(
  deps: Deps,
  actor: Person,
  id: TicketId,
  change: (tx: Db, row: TicketRow) => Promise<{ readonly added: TicketId[]; readonly removed: TicketId[] }>,
) {
  await writeWithEvents(deps, async (tx, append) => {
    const known = await loadTicket.maybe(tx, id);
    if (known === undefined) throw new AppError("ticket.not_found");
    await lockEdges(tx, known.project_id);
    const { added, removed } = await change(tx, await loadTicket.one(tx, id));
    if (added.length + removed.length === 0) return;
    const row = await loadTicket.one(tx, id);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "ticket.update",
      target: id,
      project_id: row.project_id,
      detail: { fields: ["dependencies"], added, removed },
      request_id: null,
    });
    const data = { blocked_by: row.blocked_by, added, removed };
    await append([draftTicketEvent(deps, row, "TICKET_DEPENDENCY_UPDATED", data)]);
  });
  await requeue(deps, { ticketId: id });
  return listBlockers(deps, id);
}

/** Twice equals once. */
export const addBlocker = (deps: Deps, actor: Person, id: TicketId, other: TicketId) =>
  edit(deps, actor, id, async (tx, row) => {
    if (row.blocked_by.includes(other)) return { added: [], removed: [] };
    await requireTickets(tx, row.project_id, [other]);
    if (row.status === "done")
      throw new AppError("ticket.illegal_transition", "a ticket that is done waits for nothing any more");
    if (id === other) throw new AppError("graph.cycle", "a ticket cannot wait for itself");
    await insertTicketDependencies(tx, id, [other], []);
    await requireNoCircle(tx, toNode(other));
    return { added: [other], removed: [] };
  });

export const removeBlocker = (deps: Deps, actor: Person, id: TicketId, other: TicketId) =>
  edit(deps, actor, id, async (tx, row) => {
    if (!row.blocked_by.includes(other))
      throw new AppError("ticket.not_found", "the ticket does not wait for this one");
    await deleteTicketDependency(tx, id, other);
    return { added: [], removed: [other] };
  });
