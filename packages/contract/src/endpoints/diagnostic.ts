/** Tickets that are stuck: found, looked into, helped once more. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { TicketId } from "../ids.ts";
import { DiagnosticRun, DiagnosticRunId, StuckTicket } from "../resources/diagnostic.ts";
import { page, Paging } from "./page.ts";

export const diagnosticEndpoints = {
  listStuckTickets: endpoint({
    method: "GET",
    path: "/diagnostic/stuck-workflows",
    access: "person",
    verb: "read",
    summary: "Tickets of which nothing runs or waits and something failed, and what is done about each.",
    reply: z.object({ items: z.array(StuckTicket), next_cursor: z.null() }),
  }),
  listDiagnosticRuns: endpoint({
    method: "GET",
    path: "/diagnostic/runs",
    access: "person",
    verb: "read",
    summary: "What was found out about stuck tickets, newest first.",
    query: z.strictObject({ ...Paging, ticket_id: TicketId.optional() }),
    reply: page(DiagnosticRun),
  }),
  getDiagnosticRun: endpoint({
    method: "GET",
    path: "/diagnostic/runs/:run_id",
    access: "person",
    verb: "read",
    summary: "One diagnosis, with its evidence and its recovery task.",
    params: z.object({ run_id: DiagnosticRunId }),
    reply: DiagnosticRun,
  }),
  triggerDiagnostic: endpoint({
    method: "POST",
    path: "/diagnostic/trigger/:ticket_id",
    access: "person",
    verb: "operate",
    summary: "Look into a stuck ticket now, whatever was tried before; refused while something of it runs.",
    params: z.object({ ticket_id: TicketId }),
    reply: DiagnosticRun,
    status: 201,
    creates: true,
  }),
} as const;
