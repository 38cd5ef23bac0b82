/** Moves tickets along with their tasks: begun with the first, built with the last; unanswered ones time out. */
import { listTicketWay } from "@drover/core";
import { ENDED_TASK_STATES, type Ticket, type TicketId, type TicketStatus } from "@drover/contract";
import { listTicketTasks, type TaskRow } from "../store/tasks.ts";
import { listMovable, listOverdueReviews } from "../store/tickets.ts";
import type { Deps } from "./deps.ts";
import { changeTicket, draftTicketEvent, toSteps } from "./manage-tickets.ts";
import { MERGER } from "./merge-task.ts";

const BATCH = 100;
const TASKS_LIMIT = 10_000;
const ANALYSIS_TYPES = ["analyze_requirements", "create_spec", "create_design", "generate_prd"];
const ANALYSES: ReadonlySet<string> = new Set(ANALYSIS_TYPES);

/** Where a ticket's tasks say that it stands; undefined when they say nothing. */
function decideStanding(
  all: readonly Pick<TaskRow, "status" | "task_type" | "created_by">[],
): TicketStatus | undefined {
  // What became of merges is told on the ticket.
  const tasks = all.filter((task) => task.created_by !== MERGER);
  const building = tasks.filter((task) => !ANALYSES.has(task.task_type));
  const hasBegun = (some: readonly Pick<TaskRow, "status">[]) =>
    some.some(({ status }) => !["pending", "blocked", "claiming", "cancelled", "skipped"].includes(status));
  if (building.length > 0 && tasks.every((task) => ENDED_TASK_STATES.has(task.status))) {
    const isBuilt = building.some(({ status }) => status === "completed");
    const hasFailed = tasks.some(({ status }) => status === "failed" || status === "skipped");
    if (isBuilt && !hasFailed) return "building-done";
  }
  if (hasBegun(building)) return "building";
  return hasBegun(tasks) ? "analyzing" : undefined;
}

const RANKS: Readonly<Record<TicketStatus, number>> = {
  backlog: 0,
  analyzing: 1,
  building: 2,
  "building-done": 3,
  testing: 4,
  done: 5,
};

async function advance(deps: Deps, id: TicketId): Promise<Ticket> {
  return changeTicket(deps, id, undefined, async (row, tx) => {
    if (row.is_blocked || row.approval_status !== "approved") return undefined;
    const to = decideStanding(await listTicketTasks(tx, id, TASKS_LIMIT));
    if (to === undefined || RANKS[to] <= RANKS[row.status]) return undefined;
    return toSteps(deps, row, listTicketWay(row.status, to), "its tasks have come this far", "server");
  });
}

const timeOut = (deps: Deps, id: TicketId): Promise<Ticket> =>
  changeTicket(deps, id, undefined, async (row) => {
    if (row.approval_status !== "pending_review") return undefined;
    const patch = { approval_status: "timed_out" as const };
    return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_APPROVAL_TIMED_OUT", {}, "server")] };
  });

export const progressTicket = (deps: Deps, id: TicketId): Promise<Ticket> => advance(deps, id);

export async function advanceTicketsOnce(deps: Deps): Promise<{ moved: number }> {
  for (const { id } of await listOverdueReviews(deps.db, deps.clock.now(), BATCH)) await timeOut(deps, id);
  let moved = 0;
  for (const { id, status } of await listMovable(deps.db, BATCH, MERGER, ANALYSIS_TYPES)) {
    const after = await advance(deps, id);
    if (after.status !== status) moved += 1;
  }
  if (moved > 0) deps.wake("deliver-tickets");
  return { moved };
}
