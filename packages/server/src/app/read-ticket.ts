/** What is kept about a ticket: read off the log, the repository and the other tickets. */
import {
  AppError,
  type JsonObject,
  type PhaseId,
  type TicketId,
  type TicketStatus,
  type EventSource,
} from "@drover/contract";
import { findTicketBranch } from "../store/git.ts";
import { listPulls } from "../store/pull-requests.ts";
import { listTicketRecords } from "../store/ticket-history.ts";
import { loadTicket } from "../store/tickets.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { findEnds } from "./read-pulls.ts";

interface Paging {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Each step is told by two names; this is the one of them that was always there. */
const STEP = "TICKET_STATUS_CHANGED";

const listRecords = (deps: Deps, ticketId: TicketId, { limit, cursor }: Paging, types?: readonly string[]) =>
  listTicketRecords(deps.db, { ticketId, types, before: parsePosition(cursor), limit: limit + 1 });

export const readTicketHistory = async (deps: Deps, id: TicketId, paging: Paging) =>
  toPage(await listRecords(deps, id, paging), paging.limit, (row) => ({
    seq: row.position,
    event_type: row.event_type,
    event_data: row.event_data as JsonObject,
    source: row.source as EventSource,
    created_at: row.created_at.toISOString(),
  }));

/** As the server itself wrote it. */
interface Step {
  readonly from_status: TicketStatus;
  readonly to_status: TicketStatus;
  readonly phase_id: PhaseId;
  readonly reason: string | null;
}

export const readPhaseHistory = async (deps: Deps, id: TicketId, paging: Paging) =>
  toPage(await listRecords(deps, id, paging, [STEP]), paging.limit, (row) => {
    const { from_status, to_status, phase_id, reason } = row.event_data as Step;
    return { from_status, to_status, phase_id, reason, at: row.created_at.toISOString() };
  });

/** Those of its pull request, which are known after the branch is gone; else of its branch. */
export async function listTicketCommits(deps: Deps, id: TicketId, signal: AbortSignal) {
  const branch = await findTicketBranch.maybe(deps.db, id);
  if (branch === undefined) return { ticket_id: id, branch: null, commits: [] };
  const { project_id: projectId, name } = branch;
  const scope = { projectId, ticketId: id, state: undefined, before: undefined, limit: 1 };
  const [pull] = await listPulls(deps.db, scope);
  const { objects } = deps.git;
  const resolve = (ref: string) => objects.resolve(projectId, ref, signal);
  const [head, base] = await Promise.all([resolve(`refs/heads/${name}`), resolve(`refs/heads/${branch.base}`)]);
  const own = head === undefined || base === undefined ? undefined : { head, base };
  const ends = pull === undefined ? own : await findEnds(deps, pull, signal);
  if (ends === undefined) return { ticket_id: id, branch: name, commits: [] };
  const { commits } = await objects.compare(projectId, ends.base, ends.head, signal);
  return { ticket_id: id, branch: name, commits: [...commits] };
}

export async function listBlockers(deps: Deps, id: TicketId) {
  const ticket = await loadTicket.maybe(deps.db, id);
  if (ticket === undefined) throw new AppError("ticket.not_found");
  const before = await Promise.all(ticket.blocked_by.map((one) => loadTicket.one(deps.db, one)));
  const blockers = before.map((one) => ({
    id: one.id,
    title: one.title,
    status: one.status,
    is_done: one.status === "done",
  }));
  return { ticket_id: id, blockers, all_done: blockers.every(({ is_done }) => is_done) };
}
