/** Brings a built ticket to its end: branches merged into one, a pull request, and, where nobody wants to look, its merge. */
import { listTicketWay } from "@drover/core";
import { AppError, ERRORS, type ProjectId, type TicketId } from "@drover/contract";
import { findRepository } from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import { listTicketTasks } from "../store/tasks.ts";
import { listSettleable, type MergeRow } from "../store/pull-requests.ts";
import { listDeliverable, loadTicket, type TicketRow } from "../store/tickets.ts";
import { openApart, startEach } from "./apart.ts";
import type { Deps } from "./deps.ts";
import { changeTicket, toSteps } from "./manage-tickets.ts";
import { ensurePullRequest, mergePullRequest } from "./pull-requests.ts";
import { blockByConflict } from "./block-ticket.ts";
import { MERGER, settleMerge } from "./merge-task.ts";
import { converge } from "./task-branch.ts";

const TASKS_LIMIT = 10_000;
const REST_MS = 10_000;
const BATCH = 1_000;

/** When a ticket whose host was away is looked at again, in this process. */
const resting = new Map<TicketId, number>();

const moveTo = (deps: Deps, id: TicketId, status: "testing" | "done", reason: string) =>
  changeTicket(deps, id, undefined, async (row) =>
    row.is_blocked || row.status === status || row.status === "done"
      ? undefined
      : toSteps(deps, row, listTicketWay(row.status, status), reason, "server"),
  );

/** Each step can be done again, so whoever comes next goes on where another died. */
async function deliver(deps: Deps, ticket: TicketRow, signal: AbortSignal): Promise<void> {
  const tasks = await listTicketTasks(deps.db, ticket.id, TASKS_LIMIT);
  const done = tasks.filter((task) => task.status === "completed").map((task) => task.id);
  if (!(await converge(deps, ticket, null, done, signal))) return;
  const own = tasks.filter((task) => task.created_by !== MERGER);
  const body = own.map((task) => `- ${task.title} (${task.status})`).join("\n");
  const pull = await ensurePullRequest(deps, ticket, { body }, signal);
  if (pull === null) return void (await moveTo(deps, ticket.id, "done", "its branch has nothing that is new"));
  await moveTo(deps, ticket.id, "testing", `pull request ${pull.number} is open`);
  const project = await loadProject.one(deps.db, ticket.project_id);
  if (pull.state !== "merged" && !(project.settings.auto_merge ?? project.autonomous_execution_enabled)) return;
  await mergePullRequest(deps, null, pull.id, {}, signal);
}

async function deliverOrRest(deps: Deps, ticket: TicketRow, signal: AbortSignal): Promise<void> {
  try {
    await deliver(deps, ticket, signal);
  } catch (error) {
    // Expected: the host is away, which passes; branches conflict or it refuses, which a person has to look at.
    deps.log.warn("ticket.delivery_failed", { ticket: ticket.id, reason: String(error) });
    if (error instanceof AppError && !ERRORS[error.code].retry) return blockByConflict(deps, ticket.id, error.message);
    const asked = error instanceof AppError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
    resting.set(ticket.id, deps.clock.now().getTime() + Math.max(REST_MS, asked));
  }
}

async function deliverTicket(deps: Deps, id: TicketId, signal: AbortSignal): Promise<void> {
  const ticket = await loadTicket.maybe(deps.db, id);
  if (ticket === undefined || ticket.is_blocked) return;
  if (!(await findRepository.one(deps.db, ticket.project_id)).is_there)
    return void (await moveTo(deps, id, "done", "all of its tasks are completed"));
  if ((resting.get(id) ?? 0) > deps.clock.now().getTime()) return;
  resting.delete(id);
  await deliverOrRest(deps, ticket, signal);
}

/** One after the other in a project, whose host may be slow; projects beside each other. */
export async function deliverTicketsOnce(deps: Deps, signal: AbortSignal): Promise<{ delivered: number }> {
  const projects = openApart(deps.clock, (project, error) =>
    deps.log.warn("project.delivery_failed", { project, reason: String(error) }),
  );
  let delivered = 0;
  for (;;) {
    const merges = Map.groupBy(await listSettleable(deps.db, BATCH), (one) => one.project_id);
    const tickets = Map.groupBy(await listDeliverable(deps.db, BATCH, MERGER), (one) => one.project_id);
    const bring = async (id: ProjectId) => {
      for (const one of merges.get(id) ?? []) await trySettle(deps, one, signal);
      for (const one of tickets.get(id) ?? []) {
        await deliverTicket(deps, one.id, signal);
        delivered += 1;
      }
    };
    const ids = [...new Set([...merges.keys(), ...tickets.keys()])];
    if ((await startEach(projects, ids, bring, signal)) || signal.aborted) return { delivered };
  }
}

const trySettle = (deps: Deps, merge: MergeRow, signal: AbortSignal): Promise<void> =>
  // Expected: the host is away. What waits for a merge is looked at again in a second.
  settleMerge(deps, merge, signal).catch((error: unknown) =>
    deps.log.warn("merge.not_settled", { merge: merge.id, reason: String(error) }),
  );
