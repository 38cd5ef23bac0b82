/** Tickets and which of them wait for others. */
import {
  ApprovalStatus,
  BlockedReason,
  PhaseId,
  ProjectId,
  TicketId,
  TicketStatus,
  WorkflowMode,
  type JsonObject,
} from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { empty, join, json, sql } from "./sql.ts";

const SAMPLE_ID = "00000000-0000-4000-8000-000000000000" as TicketId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const TicketRow = z.object({
  id: TicketId,
  project_id: ProjectId,
  title: z.string(),
  description: z.string().nullable(),
  ticket_type: z.string().nullable(),
  phase_id: PhaseId,
  previous_phase_id: PhaseId.nullable(),
  status: TicketStatus,
  priority: z.enum(["CRITICAL", "HIGH", "MEDIUM", "LOW"]),
  is_blocked: z.boolean(),
  blocked_reason: BlockedReason.nullable(),
  blocked_at: z.date().nullable(),
  approval_status: ApprovalStatus,
  approval_deadline_at: z.date().nullable(),
  rejection_reason: z.string().nullable(),
  workflow_mode: WorkflowMode.nullable(),
  context: z.custom<JsonObject>(),
  created_by: z.string(),
  created_at: z.date(),
  updated_at: z.date(),
  blocked_by: z.array(TicketId),
  blocks: z.array(TicketId),
});
export type TicketRow = z.infer<typeof TicketRow>;

const columns = sql`t.id, t.project_id, t.title, t.description, t.ticket_type, t.phase_id, t.previous_phase_id, t.status, t.priority,
  t.is_blocked, t.blocked_reason, t.blocked_at, t.approval_status, t.approval_deadline_at, t.rejection_reason, t.workflow_mode,
  t.context, t.created_by, t.created_at, t.updated_at,
  array(select blocked_by from ticket_dependencies where ticket_id = t.id order by blocked_by) as blocked_by,
  array(select ticket_id from ticket_dependencies where blocked_by = t.id order by ticket_id) as blocks`;

export interface TicketDraft {
  readonly id: TicketId;
  readonly project_id: ProjectId;
  readonly title: string;
  readonly description: string | null;
  readonly ticket_type: string | null;
  readonly phase_id: string;
  readonly status: string;
  readonly priority: string;
  readonly approval_status: string;
  readonly approval_deadline_at: Date | null;
  readonly workflow_mode: string | null;
  readonly context: JsonObject;
  readonly created_by: string;
}

const SAMPLE_DRAFT: TicketDraft = {
  id: SAMPLE_ID,
  project_id: SAMPLE_PROJECT,
  title: "a",
  description: null,
  ticket_type: null,
  phase_id: "PHASE_REQUIREMENTS",
  status: "backlog",
  priority: "LOW",
  approval_status: "approved",
  approval_deadline_at: null,
  workflow_mode: null,
  context: {},
  created_by: "tok-000000000000",
};

export const insertTicket = command(
  "tickets.insert",
  [SAMPLE_DRAFT],
  (draft: TicketDraft) => sql`
  insert into tickets (id, project_id, title, description, ticket_type, phase_id, status, priority, approval_status,
    approval_deadline_at, workflow_mode, context, created_by)
  values (${draft.id}, ${draft.project_id}, ${draft.title}, ${draft.description}, ${draft.ticket_type}, ${draft.phase_id},
    ${draft.status}, ${draft.priority}, ${draft.approval_status}, ${draft.approval_deadline_at}, ${draft.workflow_mode},
    ${json(draft.context)}::jsonb, ${draft.created_by})`,
);

/** Only tickets of the same project. */
export const insertTicketDependencies = command(
  "ticket_dependencies.insert",
  [SAMPLE_ID, [SAMPLE_ID], [SAMPLE_ID]],
  (id: TicketId, blockedBy: readonly TicketId[], blocks: readonly TicketId[]) => sql`
  insert into ticket_dependencies (ticket_id, blocked_by)
  select ${id}, other from unnest(${blockedBy}::text[]) other union select other, ${id} from unnest(${blocks}::text[]) other
  on conflict do nothing`,
);

export const deleteTicketDependency = command(
  "ticket_dependencies.delete",
  [SAMPLE_ID, SAMPLE_ID],
  (id: TicketId, other: TicketId) =>
    sql`delete from ticket_dependencies where ticket_id = ${id} and blocked_by = ${other}`,
);

export const loadTicket = query(
  "tickets.load",
  TicketRow,
  [SAMPLE_ID],
  (id: string) => sql`select ${columns} from tickets t where t.id = ${id}`,
);

/** Rows that only name the ticket, such as a new task of it, need not wait: its key never changes. */
export const lockTicket = query(
  "tickets.lock",
  TicketRow,
  [SAMPLE_ID],
  (id: string) => sql`select ${columns} from tickets t where t.id = ${id} for no key update of t`,
);

export const loadTicketProject = query(
  "tickets.project",
  z.object({ project_id: ProjectId }),
  [SAMPLE_ID],
  (id: TicketId) => sql`select project_id from tickets where id = ${id}`,
);

/** Those of the ids that are tickets of the project. */
export const listTicketsAmong = query(
  "tickets.among",
  z.object({ id: TicketId }),
  [SAMPLE_PROJECT, [SAMPLE_ID]],
  (projectId: string, ids: readonly string[]) =>
    sql`select id from tickets where project_id = ${projectId} and id = any(${ids}::text[]) order by id limit 1000`,
);

export interface TicketFilter {
  readonly projectId: string | null;
  readonly statuses: readonly string[] | undefined;
  readonly approval: string | undefined;
  readonly text: string | undefined;
  readonly before: string | undefined;
  readonly limit: number;
}

const filterConditions = (filter: TicketFilter): readonly Statement[] => [
  ...(filter.projectId === null ? [] : [sql`t.project_id = ${filter.projectId}`]),
  ...(filter.statuses === undefined ? [] : [sql`t.status = any(${filter.statuses}::text[])`]),
  ...(filter.approval === undefined ? [] : [sql`t.approval_status = ${filter.approval}`]),
  ...(filter.text === undefined
    ? []
    : [sql`position(lower(${filter.text}) in lower(concat_ws(' ', t.id, t.title, t.description))) > 0`]),
  ...(filter.before === undefined
    ? []
    : [sql`(t.created_at, t.id) < (select created_at, id from tickets where id = ${filter.before})`]),
];

export const listTickets = query(
  "tickets.list",
  TicketRow,
  [{ projectId: null, statuses: ["backlog"], approval: "approved", text: "a", before: SAMPLE_ID, limit: 10 }],
  (filter: TicketFilter) => {
    const conditions = filterConditions(filter);
    return sql`select ${columns} from tickets t ${conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`}
      order by t.created_at desc, t.id desc limit ${filter.limit}`;
  },
);

/** Writes what may change, of a row whose lock is held. */
export const updateTicketRow = command(
  "tickets.update",
  [SAMPLE_ID, { title: "a", is_blocked: true }],
  (id: string, row: Partial<TicketRow>) => {
    const to = <K extends keyof TicketRow>(key: K, value: (given: TicketRow[K]) => Statement): Statement[] =>
      row[key] === undefined ? [] : [value(row[key])];
    const sets = [
      ...to("title", (v) => sql`title = ${v}`),
      ...to("description", (v) => sql`description = ${v}`),
      ...to("phase_id", (v) => sql`phase_id = ${v}`),
      ...to("previous_phase_id", (v) => sql`previous_phase_id = ${v}`),
      ...to("status", (v) => sql`status = ${v}`),
      ...to("priority", (v) => sql`priority = ${v}`),
      ...to("is_blocked", (v) => sql`is_blocked = ${v}`),
      ...to("blocked_reason", (v) => sql`blocked_reason = ${v}`),
      ...to("blocked_at", (v) => sql`blocked_at = ${v}`),
      ...to("approval_status", (v) => sql`approval_status = ${v}`),
      ...to("approval_deadline_at", (v) => sql`approval_deadline_at = ${v}`),
      ...to("rejection_reason", (v) => sql`rejection_reason = ${v}`),
      ...to("context", (v) => sql`context = ${json(v)}::jsonb`),
    ];
    return sql`update tickets set ${join([...sets, sql`updated_at = now()`])} where id = ${id}`;
  },
);

export const countPendingReviews = query(
  "tickets.count_pending_reviews",
  z.object({ count: z.number() }),
  [null],
  (projectId: string | null) => sql`
  select count(*) as count from tickets where approval_status = 'pending_review'
  ${projectId === null ? empty : sql`and project_id = ${projectId}`}`,
);

/** Titles to compare a new one with: the newest of the project that are not over. */
export const listOpenTitles = query(
  "tickets.open_titles",
  z.object({ id: TicketId, title: z.string(), description: z.string().nullable() }),
  [SAMPLE_PROJECT, 10],
  (projectId: string, limit: number) => sql`
  select id, title, description from tickets
  where project_id = ${projectId} and status <> 'done' and approval_status not in ('rejected', 'timed_out')
  order by created_at desc, id desc limit ${limit}`,
);

/** Tickets that nobody answered in time. */
export const listOverdueReviews = query(
  "tickets.overdue_reviews",
  z.object({ id: TicketId }),
  [new Date(0), 10],
  (now: Date, limit: number) => sql`
  select id from tickets where approval_status = 'pending_review' and approval_deadline_at <= ${now}
  order by approval_deadline_at limit ${limit}`,
);

/** Something has begun that may say where the ticket stands. */
const begun = sql`k.status not in ('pending', 'blocked', 'claiming', 'cancelled', 'skipped')`;
const isOpen = sql`t.status <> 'done' and not t.is_blocked and t.approval_status = 'approved'`;
/** All that was wanted is done. */
const toFinished = (merger: string): Statement => sql`exists (select 1 from tasks k where k.ticket_id = t.id)
  and not exists (select 1 from tasks k where k.ticket_id = t.id and k.created_by <> ${merger}
    and k.status not in ('completed', 'cancelled'))`;

/** Tickets whose tasks have come further than they know, and no others: who cannot move must not stand before those who can. */
export const listMovable = query(
  "tickets.movable",
  z.object({ id: TicketId, status: TicketStatus }),
  [10, "merger", ["create_spec"]],
  (limit: number, merger: string, analyses: readonly string[]) => sql`
  select t.id, t.status from tickets t
  where ${isOpen} and (
    t.status = 'backlog' and exists (select 1 from tasks k where k.ticket_id = t.id and k.created_by <> ${merger} and ${begun})
    or t.status in ('backlog', 'analyzing') and exists (select 1 from tasks k where k.ticket_id = t.id
      and k.created_by <> ${merger} and k.task_type <> all(${analyses}::text[]) and ${begun})
    or t.status = 'building' and ${toFinished(merger)} and exists (select 1 from tasks k where k.ticket_id = t.id
      and k.created_by <> ${merger} and k.task_type <> all(${analyses}::text[]) and k.status = 'completed'))
  order by t.updated_at limit ${limit}`,
);

/** Tickets that are built and wait for nobody: their branches are merged, their pull requests opened, and merged where nobody looks.
 *  Where a person merges, those are left out whose merge is not done yet: whoever did it may have died before the ticket knew. */
export const listDeliverable = query(
  "tickets.deliverable",
  z.object({ id: TicketId, project_id: ProjectId }),
  [10, "merger"],
  (limit: number, merger: string) => sql`
  select t.id, t.project_id from tickets t join projects p on p.id = t.project_id
  where ${isOpen} and ${toFinished(merger)} and (t.status = 'building-done'
    or t.status = 'testing' and (coalesce((p.settings->>'auto_merge')::boolean, p.autonomous_execution_enabled)
      or (select r.state from pull_requests r where r.ticket_id = t.id order by r.created_at desc, r.id desc limit 1) = 'merged'))
  order by t.updated_at limit ${limit}`,
);
