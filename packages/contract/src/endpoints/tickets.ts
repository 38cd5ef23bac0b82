/** Tickets: made, moved, blocked, approved. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { ProjectId, TicketId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import {
  ApprovalStatus,
  BlockedReason,
  NewTicket,
  Ticket,
  TicketChange,
  TicketProgress,
  TicketStatus,
} from "../resources/ticket.ts";
import { FoundTickets, TicketSearch } from "../resources/ticket-search.ts";
import { page, Paging } from "./page.ts";

const ticketRef = z.object({ ticket_id: TicketId });
const Reason = z.string().min(1).max(2_000);
const onTicket = { access: "person", verb: "operate", params: ticketRef, reply: Ticket } as const;

export const ticketEndpoints = {
  listTickets: endpoint({
    method: "GET",
    path: "/tickets",
    access: "person",
    verb: "read",
    summary: "Tickets, newest first.",
    query: z.strictObject({
      ...Paging,
      project_id: ProjectId.optional(),
      status: z.union([z.array(TicketStatus), TicketStatus.transform((one) => [one])]).optional(),
      approval_status: ApprovalStatus.optional(),
      q: z.string().min(1).max(200).optional(),
    }),
    reply: page(Ticket),
  }),
  createTicket: endpoint({
    method: "POST",
    path: "/tickets",
    access: "person",
    verb: "operate",
    summary: "Create a ticket.",
    body: NewTicket,
    reply: Ticket,
    status: 201,
    creates: true,
  }),
  countPendingReviews: endpoint({
    method: "GET",
    path: "/tickets/pending-review-count",
    access: "person",
    verb: "read",
    summary: "How many tickets wait for a person.",
    query: z.strictObject({ project_id: ProjectId.optional() }),
    reply: z.object({ pending_count: z.int().nonnegative() }),
  }),
  searchTickets: endpoint({
    method: "POST",
    path: "/tickets/search",
    access: "person",
    verb: "read",
    summary: "Tickets by what they say: by words, by likeness, or both, the best first. Changes nothing.",
    body: TicketSearch,
    reply: FoundTickets,
  }),
  getTicket: endpoint({
    method: "GET",
    path: "/tickets/:ticket_id",
    access: "person",
    verb: "read",
    summary: "One ticket.",
    params: ticketRef,
    reply: Ticket,
  }),
  updateTicket: endpoint({
    method: "PATCH",
    path: "/tickets/:ticket_id",
    summary: "Change a ticket; a status only where the table allows it.",
    body: TicketChange,
    ...onTicket,
  }),
  transitionTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/transition",
    summary: "Move a ticket to another state.",
    body: z.strictObject({ to_status: TicketStatus, reason: Reason.optional(), force: z.literal(false).optional() }),
    ...onTicket,
  }),
  resolveTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/resolve",
    summary: "Say that a ticket is done, and why. What still waits is cancelled; refused while a task of it runs.",
    body: z.strictObject({ resolution_comment: z.string().trim().min(1).max(10_000) }),
    ...onTicket,
  }),
  regressTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/regress",
    summary: "Send a ticket from testing back to building.",
    body: z.strictObject({ reason: Reason.optional() }).default({}),
    ...onTicket,
  }),
  progressTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/progress",
    summary: "Move a ticket on if its tasks allow it.",
    ...onTicket,
  }),
  blockTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/block",
    summary: "Stop new work on a ticket.",
    body: z.strictObject({ reason: BlockedReason }),
    ...onTicket,
  }),
  unblockTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/unblock",
    summary: "Let work on a ticket go on.",
    ...onTicket,
  }),
  approveTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/approve",
    summary: "Let a ticket that waits for a person begin.",
    ...onTicket,
  }),
  rejectTicket: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/reject",
    summary: "Refuse a ticket that waits for a person.",
    body: z.strictObject({ rejection_reason: Reason }),
    ...onTicket,
  }),
  getApprovalStatus: endpoint({
    method: "GET",
    path: "/tickets/:ticket_id/approval-status",
    access: "person",
    verb: "read",
    summary: "Whether a ticket waits for a person, and until when.",
    params: ticketRef,
    reply: z.object({
      ticket_id: TicketId,
      approval_status: ApprovalStatus,
      approval_deadline_at: z.string().nullable(),
      rejection_reason: z.string().nullable(),
    }),
  }),
  getTicketContext: endpoint({
    method: "GET",
    path: "/tickets/:ticket_id/context",
    access: "person",
    verb: "read",
    summary: "What is known about a ticket.",
    params: ticketRef,
    reply: z.object({ ticket_id: TicketId, context: JsonObject }),
  }),
  updateTicketContext: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/update-context",
    summary: "Merge into what is known about a ticket.",
    body: z.strictObject({ context: JsonObject }),
    ...onTicket,
  }),
  getTicketProgress: endpoint({
    method: "GET",
    path: "/tickets/:ticket_id/progress",
    access: "person",
    verb: "read",
    summary: "How far a ticket's tasks are.",
    params: ticketRef,
    reply: TicketProgress,
  }),
} as const;
