/** tickets -> board: a column per state, the urgent first; and where a person may move a ticket. */
import { TicketStatus, type Ticket } from "../resources/ticket.ts";

export const TICKET_STATES: readonly TicketStatus[] = TicketStatus.options;
export const TICKET_PRIORITIES = ["CRITICAL", "HIGH", "MEDIUM", "LOW"] as const;
export type TicketPriority = (typeof TICKET_PRIORITIES)[number];

/** The server decides; this is what the page offers, and a test holds it to the server's own table. */
export const TICKET_MOVES: Readonly<Record<TicketStatus, readonly TicketStatus[]>> = {
  backlog: ["analyzing"],
  analyzing: ["building"],
  building: ["building-done"],
  "building-done": ["testing"],
  testing: ["done", "building"],
  done: [],
};

export interface BoardColumn<T> {
  readonly status: TicketStatus;
  readonly tickets: readonly T[];
}

type Placed = Pick<Ticket, "status" | "priority" | "created_at">;

export function toBoard<T extends Placed>(tickets: readonly T[]): readonly BoardColumn<T>[] {
  const byStatus = Map.groupBy(tickets, (ticket) => ticket.status);
  return TICKET_STATES.map((status) => ({
    status,
    tickets: (byStatus.get(status) ?? []).toSorted(
      (one, other) =>
        TICKET_PRIORITIES.indexOf(one.priority) - TICKET_PRIORITIES.indexOf(other.priority) ||
        one.created_at.localeCompare(other.created_at),
    ),
  }));
}

/** One step up or down; itself at either end. */
export function stepPriority(priority: TicketPriority, step: -1 | 1): TicketPriority {
  return TICKET_PRIORITIES[TICKET_PRIORITIES.indexOf(priority) + step] ?? priority;
}
