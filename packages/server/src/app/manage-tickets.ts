/** Tickets: made, listed, moved, blocked, approved. */
import { isTicketOver, PHASE_OF, pickTicketTrigger, toSimilarity, UNBLOCKING } from "@drover/core";
import {
  AppError,
  TicketId,
  type BlockedReason,
  type JsonObject,
  type NewTicket,
  type Ticket,
  type TicketChange,
  type TicketProgress,
  type TicketStatus,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import { loadProject, type ProjectRow } from "../store/projects.ts";
import { listTicketTasks, lockEdges } from "../store/tasks.ts";
import {
  countPendingReviews,
  insertTicket,
  insertTicketDependencies,
  listOpenTitles,
  listTickets,
  listTicketsAmong,
  loadTicket,
  loadTicketProject,
  lockTicket,
  updateTicketRow,
  type TicketRow,
} from "../store/tickets.ts";
import { insertOneTask } from "./create-task.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { parseCursor, refuseCursor } from "./cursor.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { endStranded } from "./end-stranded.ts";
import { requireNoCircle, toNode } from "./find-circle.ts";
import { pickTicketProject } from "./ticket-project.ts";
import { requeue } from "./requeue-tasks.ts";

const TASKS_LIMIT = 10_000;
const TITLES_LIMIT = 2_000;

export const toTicket = (row: TicketRow): Ticket => {
  const { blocked_by, blocks, created_by: _created, ...fields } = row;
  return {
    ...fields,
    dependencies: { blocked_by, blocks },
    blocked_at: row.blocked_at?.toISOString() ?? null,
    approval_deadline_at: row.approval_deadline_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
};

const toTicketData = (row: TicketRow): JsonObject => ({
  ticket_id: row.id,
  title: row.title,
  status: row.status,
  phase_id: row.phase_id,
  priority: row.priority,
  approval_status: row.approval_status,
  is_blocked: row.is_blocked,
});

export const draftTicketEvent = (
  deps: Pick<Deps, "ids">,
  row: TicketRow,
  eventType: string,
  data: JsonObject = {},
  source: "user" | "server" = "user",
): EventDraft =>
  draftEvent(
    deps.ids,
    { type: "ticket", id: row.id, projectId: row.project_id },
    { eventType, data: { ...toTicketData(row), ...data }, source },
  );

/** Tickets that are not over and say nearly the same. */
async function refuseDuplicates(tx: Db, projectId: string, input: NewTicket): Promise<void> {
  if (!input.check_duplicates || input.force_create) return;
  const toText = (one: { title: string; description?: string | null | undefined }) =>
    `${one.title}\n${one.description ?? ""}`.slice(0, 4_000);
  const alike = (await listOpenTitles(tx, projectId, TITLES_LIMIT))
    .map((one) => ({ ...one, likeness: toSimilarity(toText(one), toText(input)) }))
    .filter((one) => one.likeness >= input.similarity_threshold)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, 5);
  if (alike.length === 0) return;
  throw new AppError(
    "ticket.duplicate",
    `${alike.length} open tickets are like this one; force_create makes it anyway`,
    {
      fields: alike.map((one) => ({ path: one.id, message: `${one.likeness.toFixed(2)} ${one.title}` })),
    },
  );
}

export async function requireTickets(tx: Db, projectId: string, ids: readonly TicketId[]): Promise<void> {
  const found = new Set((await listTicketsAmong(tx, projectId, ids)).map(({ id }) => id));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw new AppError("ticket.not_found", `there is no ticket ${missing} in this project`);
}

/** A mode says what to begin with; a ticket without one is planned by whoever adds its tasks. */
async function insertFirstTask(
  tx: Db,
  deps: Deps,
  actor: Person,
  ticket: TicketRow,
  project: ProjectRow,
): Promise<readonly EventDraft[]> {
  if (ticket.workflow_mode === null || ticket.approval_status !== "approved") return [];
  const isQuick = ticket.workflow_mode === "quick";
  await lockEdges(tx, ticket.project_id);
  const order = {
    ticket,
    settings: project.settings,
    createdBy: actor.tokenId,
    discoveredBy: null,
    source: "server",
  } as const;
  const { draft } = await insertOneTask(tx, deps, order, {
    title: isQuick ? ticket.title : `Analyse: ${ticket.title}`.slice(0, 500),
    ...(ticket.description === null ? {} : { description: ticket.description }),
    task_type: isQuick ? "implement_feature" : "analyze_requirements",
    priority: ticket.priority,
    phase_id: isQuick ? "PHASE_IMPLEMENTATION" : "PHASE_REQUIREMENTS",
    owned_files: [],
    max_retries: 3,
    execution_config: isQuick ? { force_execute: true } : { execution_mode: "exploration" },
  });
  return [draft];
}

export async function createWorkTicket(
  deps: Deps,
  actor: Person,
  input: NewTicket,
  key: RequestKey | undefined,
): Promise<Ticket> {
  const created = await createOnce(deps, key, async (tx, append) => {
    const { projectId, drafts } = await pickTicketProject(tx, deps, actor, input);
    const project = await loadProject.one(tx, projectId);
    const blockedBy = input.dependencies?.blocked_by ?? [];
    const blocks = input.dependencies?.blocks ?? [];
    await requireTickets(tx, projectId, [...blockedBy, ...blocks]);
    // Two that are made at once could close a circle that neither of them sees.
    if (blocks.length > 0) await lockEdges(tx, projectId);
    await refuseDuplicates(tx, projectId, input);
    const id = deps.ids.ticket();
    const isReviewed = project.settings.ticket_human_review ?? deps.config.ticketHumanReview;
    await insertTicket(tx, {
      id,
      project_id: projectId,
      title: input.title,
      description: input.description ?? null,
      ticket_type: input.ticket_type ?? null,
      phase_id: input.phase_id,
      status: "backlog",
      priority: input.priority,
      approval_status: isReviewed ? "pending_review" : "approved",
      approval_deadline_at: isReviewed
        ? new Date(deps.clock.now().getTime() + deps.config.approvalTimeoutSeconds * 1_000)
        : null,
      workflow_mode: input.workflow_mode ?? null,
      context: input.context ?? {},
      created_by: actor.tokenId,
    });
    await insertTicketDependencies(tx, id, blockedBy, blocks);
    if (blocks.length > 0) await requireNoCircle(tx, toNode(id));
    const row = await loadTicket.one(tx, id);
    const first = await insertFirstTask(tx, deps, actor, row, project);
    const asked = isReviewed ? [draftTicketEvent(deps, row, "TICKET_APPROVAL_REQUESTED", {}, "server")] : [];
    await append([...drafts, draftTicketEvent(deps, row, "TICKET_CREATED"), ...asked, ...first]);
    return toTicket(row);
  });
  await requeue(deps, { ticketId: created.id });
  for (const id of created.dependencies.blocks) await requeue(deps, { ticketId: id });
  return created;
}

export async function getTicket(deps: Deps, id: TicketId): Promise<Ticket> {
  const row = await loadTicket.maybe(deps.db, id);
  if (row === undefined) throw new AppError("ticket.not_found");
  return toTicket(row);
}

interface TicketQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly project_id?: string | undefined;
  readonly status?: readonly TicketStatus[] | undefined;
  readonly approval_status?: string | undefined;
  readonly q?: string | undefined;
}

export async function pageTickets(deps: Deps, actor: Person, query: TicketQuery) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  const before = parseCursor(TicketId, query.cursor);
  if (before !== undefined) {
    const found = await loadTicketProject.maybe(deps.db, before);
    if (found === undefined || (mine !== null && mine !== found.project_id)) throw refuseCursor();
  }
  const rows = await listTickets(deps.db, {
    projectId: query.project_id ?? mine,
    statuses: query.status,
    approval: query.approval_status,
    text: query.q,
    before,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return { items: items.map(toTicket), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

export async function countReviews(deps: Deps, actor: Person, projectId: string | undefined) {
  const mine = actor.grant.projectId;
  if (mine !== null && projectId !== undefined && projectId !== mine) return { pending_count: 0 };
  return { pending_count: (await countPendingReviews.one(deps.db, projectId ?? mine)).count };
}

/** Writes a change of a locked ticket and tells of it; the tasks that it holds or frees follow. */
export async function changeTicket(
  deps: Deps,
  id: TicketId,
  actor: Person | undefined,
  toChange: (
    row: TicketRow,
    tx: Db,
  ) => Promise<{ readonly patch: Partial<TicketRow>; readonly drafts: readonly EventDraft[] } | undefined>,
): Promise<Ticket> {
  const after = await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTicket.maybe(tx, id);
    if (row === undefined) throw new AppError("ticket.not_found");
    const change = await toChange(row, tx);
    if (change === undefined) return { row, isChanged: false };
    await updateTicketRow(tx, id, change.patch);
    if (actor !== undefined)
      await insertAudit(tx, {
        actor: actor.tokenId,
        action: "ticket.update",
        target: id,
        project_id: row.project_id,
        detail: { fields: Object.keys(change.patch) },
        request_id: null,
      });
    await append(change.drafts);
    return { row: { ...row, ...change.patch }, isChanged: true };
  });
  if (!after.isChanged) return toTicket(after.row);
  await requeue(deps, { ticketId: id });
  if (isTicketOver(after.row)) await endStranded(deps, id);
  if (after.row.status === "done") for (const other of after.row.blocks) await requeue(deps, { ticketId: other });
  deps.wake("advance-tickets");
  return toTicket(after.row);
}

/** The steps of a ticket, as patch and events: each state on the way is told. */
export function toSteps(
  deps: Pick<Deps, "ids">,
  row: TicketRow,
  way: readonly TicketStatus[],
  reason: string | null,
  source: "user" | "server",
) {
  const drafts: EventDraft[] = [];
  let at = row;
  for (const status of way) {
    const patch = {
      status,
      phase_id: PHASE_OF[status],
      previous_phase_id: at.phase_id,
      is_blocked: false,
      blocked_reason: null,
      blocked_at: null,
    };
    const told = { from_status: at.status, to_status: status, reason };
    at = { ...at, ...patch };
    // The documents know the step by two names; programs listen for either.
    for (const name of ["TICKET_STATUS_CHANGED", "ticket.status_transitioned"])
      drafts.push(draftTicketEvent(deps, at, name, told, source));
  }
  const { status, phase_id, previous_phase_id, is_blocked, blocked_reason, blocked_at } = at;
  return { patch: { status, phase_id, previous_phase_id, is_blocked, blocked_reason, blocked_at }, drafts };
}

export const transitionTicket = (
  deps: Deps,
  actor: Person,
  id: TicketId,
  to: TicketStatus,
  reason: string | null,
): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    const isAllowed = pickTicketTrigger(row.status, to) !== undefined || (row.is_blocked && UNBLOCKING.has(to));
    if (!isAllowed || row.status === "done")
      throw new AppError("ticket.illegal_transition", `a ticket that is ${row.status} cannot become ${to}`);
    return toSteps(deps, row, [to], reason, "user");
  });

export const regressTicket = (deps: Deps, actor: Person, id: TicketId, reason: string | null): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    if (pickTicketTrigger(row.status, "building") !== "regressed")
      throw new AppError("ticket.illegal_transition", `a ticket that is ${row.status} cannot go back to building`);
    return toSteps(deps, row, ["building"], reason, "user");
  });

export const patchTicket = async (deps: Deps, actor: Person, id: TicketId, change: TicketChange): Promise<Ticket> => {
  const { status, ...fields } = change;
  const patch = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
  if (status !== undefined && status !== (await getTicket(deps, id)).status)
    await transitionTicket(deps, actor, id, status, null);
  if (Object.keys(patch).length === 0) return getTicket(deps, id);
  return changeTicket(deps, id, actor, async (row) => ({
    patch,
    drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_UPDATED", { fields: Object.keys(patch) })],
  }));
};

/** What Drover itself said about a block ends with it. */
const forgetCause = ({ blocked_cause: _cause, ...context }: JsonObject): JsonObject => context;

export const blockTicket = (deps: Deps, actor: Person, id: TicketId, reason: BlockedReason): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    if (row.status === "done") throw new AppError("ticket.illegal_transition", "the ticket is done");
    const context = forgetCause(row.context);
    const patch = { is_blocked: true, blocked_reason: reason, blocked_at: deps.clock.now(), context };
    return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_BLOCKED", { reason })] };
  });

export const unblockTicket = (deps: Deps, actor: Person, id: TicketId): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    if (!row.is_blocked) return undefined;
    const context = forgetCause(row.context);
    const patch = { is_blocked: false, blocked_reason: null, blocked_at: null, context };
    return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_UNBLOCKED")] };
  });

const requireWaiting = (row: TicketRow): void => {
  if (row.approval_status !== "pending_review")
    throw new AppError(
      "ticket.illegal_transition",
      `the ticket is ${row.approval_status}, it does not wait for a person`,
    );
};

export const approveTicket = (deps: Deps, actor: Person, id: TicketId): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row, tx) => {
    requireWaiting(row);
    const patch = { approval_status: "approved" as const, approval_deadline_at: null };
    const approved = { ...row, ...patch };
    const first = await insertFirstTask(tx, deps, actor, approved, await loadProject.one(tx, row.project_id));
    return { patch, drafts: [draftTicketEvent(deps, approved, "TICKET_APPROVED"), ...first] };
  });

export const rejectTicket = (deps: Deps, actor: Person, id: TicketId, reason: string): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    requireWaiting(row);
    const patch = { approval_status: "rejected" as const, rejection_reason: reason, approval_deadline_at: null };
    return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_REJECTED", { reason })] };
  });

export const mergeContext = (deps: Deps, actor: Person, id: TicketId, more: JsonObject): Promise<Ticket> =>
  changeTicket(deps, id, actor, async (row) => {
    const patch = { context: { ...row.context, ...more } };
    return { patch, drafts: [draftTicketEvent(deps, row, "TICKET_UPDATED", { fields: ["context"] })] };
  });

export async function readProgress(deps: Deps, id: TicketId): Promise<TicketProgress> {
  const ticket = await getTicket(deps, id);
  const tasks = await listTicketTasks(deps.db, id, TASKS_LIMIT);
  const byStatus = Object.fromEntries(
    [...Map.groupBy(tasks, (task) => task.status)].map(([status, some]) => [status, some.length]),
  );
  const completed = byStatus["completed"] ?? 0;
  const percent = tasks.length === 0 ? 0 : Math.round((100 * completed) / tasks.length);
  return { ticket_id: id, status: ticket.status, total_tasks: tasks.length, by_status: byStatus, completed, percent };
}
