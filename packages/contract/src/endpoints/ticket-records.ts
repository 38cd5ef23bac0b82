/** What is kept about tickets: their history, commits, what they wait for, what is said on them, and what was found on the way. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { EventSource } from "../events/event.ts";
import { ProjectId, TicketId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Graph } from "../resources/graph.ts";
import { GitCommit } from "../resources/pull-request.ts";
import { Discovery, DISCOVERY_TYPES } from "../resources/task.ts";
import { PhaseId, TicketStatus } from "../resources/ticket.ts";
import { NewTicketComment, TicketComment } from "../resources/ticket-comment.ts";
import { Timestamp } from "../time.ts";
import { GraphInclusion } from "./graph.ts";
import { page, Paging } from "./page.ts";

const ofTicket = {
  method: "GET",
  access: "person",
  verb: "read",
  params: z.object({ ticket_id: TicketId }),
} as const;

const onTicket = {
  access: "person",
  verb: "operate",
  params: z.object({ ticket_id: TicketId }),
} as const;

const TicketBlockers = z.object({
  ticket_id: TicketId,
  blockers: z.array(z.object({ id: TicketId, title: z.string(), status: TicketStatus, is_done: z.boolean() })),
  all_done: z.boolean(),
});

const TicketStep = z.object({
  from_status: TicketStatus,
  to_status: TicketStatus,
  phase_id: PhaseId,
  reason: z.string().nullable(),
  at: Timestamp,
});

const TicketRecord = z.object({
  seq: z.int().positive(),
  event_type: z.string(),
  event_data: JsonObject,
  source: EventSource,
  created_at: Timestamp,
});

export const ticketRecordEndpoints = {
  getTicketHistory: endpoint({
    path: "/tickets/:ticket_id/history",
    summary: "What happened to a ticket, newest first.",
    query: z.strictObject(Paging),
    reply: page(TicketRecord),
    ...ofTicket,
  }),
  getPhaseHistory: endpoint({
    path: "/tickets/:ticket_id/phase-history",
    summary: "The steps that a ticket took, the last one first.",
    query: z.strictObject(Paging),
    reply: page(TicketStep),
    ...ofTicket,
  }),
  listTicketCommits: endpoint({
    path: "/tickets/:ticket_id/commits",
    summary: "The commits of a ticket's branch, also after its merge.",
    reply: z.object({ ticket_id: TicketId, branch: z.string().nullable(), commits: z.array(GitCommit) }),
    ...ofTicket,
  }),
  listTicketBlockers: endpoint({
    path: "/tickets/:ticket_id/blockers",
    summary: "The tickets that a ticket waits for.",
    reply: TicketBlockers,
    ...ofTicket,
  }),
  addTicketBlocker: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/blockers",
    summary:
      "Let a ticket wait for another of its project; refused with the way round if they would wait for each other.",
    body: z.strictObject({ blocked_by_ticket_id: TicketId }),
    reply: TicketBlockers,
    ...onTicket,
  }),
  removeTicketBlocker: endpoint({
    method: "DELETE",
    path: "/tickets/:ticket_id/blockers/:blocker_id",
    access: "person",
    verb: "operate",
    summary: "Let a ticket no longer wait for another.",
    params: z.object({ ticket_id: TicketId, blocker_id: TicketId }),
    reply: TicketBlockers,
  }),
  listTicketComments: endpoint({
    path: "/tickets/:ticket_id/comments",
    summary: "What was said on a ticket, newest first.",
    query: z.strictObject(Paging),
    reply: page(TicketComment),
    ...ofTicket,
  }),
  addTicketComment: endpoint({
    method: "POST",
    path: "/tickets/:ticket_id/comments",
    summary: "Say something on a ticket.",
    body: NewTicketComment,
    reply: TicketComment,
    status: 201,
    creates: true,
    ...onTicket,
  }),
  getWorkflowGraph: endpoint({
    path: "/tickets/:ticket_id/workflow-graph",
    summary: "A ticket's tasks and what they wait for; another name of /graph/dependency-graph/ticket.",
    query: z.strictObject(GraphInclusion),
    reply: Graph,
    ...ofTicket,
  }),
  pageDiscoveries: endpoint({
    method: "GET",
    path: "/discoveries",
    access: "person",
    verb: "read",
    summary: "What agents found while they worked, newest first.",
    query: z.strictObject({
      ...Paging,
      limit: z.coerce.number().int().min(1).max(500).default(50),
      project_id: ProjectId.optional(),
      discovery_type: z.enum(DISCOVERY_TYPES).optional(),
    }),
    reply: page(Discovery),
  }),
} as const;
