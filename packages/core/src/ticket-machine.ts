/** The life of a ticket. Being blocked and waiting for approval are overlays, not states. */
import type { ApprovalStatus, TicketStatus } from "@drover/contract";
import type { Table } from "./machine.ts";

export type TicketTrigger = "analysed" | "begun" | "built" | "tested" | "finished" | "regressed";

export const TICKET = {
  backlog: { analysed: "analyzing" },
  analyzing: { begun: "building" },
  building: { built: "building-done" },
  "building-done": { tested: "testing" },
  testing: { finished: "done", regressed: "building" },
  done: {},
} as const satisfies Table<TicketStatus, TicketTrigger>;

/** What leads from one state to another; undefined when nothing does. */
export function pickTicketTrigger(from: TicketStatus, to: TicketStatus): TicketTrigger | undefined {
  const cells: Readonly<Partial<Record<TicketTrigger, TicketStatus>>> = TICKET[from];
  return (Object.keys(cells) as TicketTrigger[]).find((on) => cells[on] === to);
}

/** The states that lead from one to another, the last one included; empty when it is there already or cannot come there. */
export function listTicketWay(from: TicketStatus, to: TicketStatus): readonly TicketStatus[] {
  const ways = new Map<TicketStatus, readonly TicketStatus[]>([[from, []]]);
  // A map hands out what is added while it is walked.
  for (const [state, way] of ways) {
    if (state === to) return way;
    for (const next of Object.values<TicketStatus>(TICKET[state])) if (!ways.has(next)) ways.set(next, [...way, next]);
  }
  return [];
}

/** Nobody works on it any more, nor will. */
export const isTicketOver = (ticket: {
  readonly status: TicketStatus;
  readonly approval_status: ApprovalStatus;
}): boolean =>
  ticket.status === "done" || ticket.approval_status === "rejected" || ticket.approval_status === "timed_out";
