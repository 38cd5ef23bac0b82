/** Brings a built ticket to its end: branches merged into one, a pull request, and, where nobody wants to look, its merge. */
import { listTicketWay } from "@drover/core";
import { AppError, type TicketId } from "@drover/contract";
import { findRepository } from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import { listTicketTasks } from "../store/tasks.ts";
import { loadTicket, type TicketRow } from "../store/tickets.ts";
import type { Deps } from "./deps.ts";
import { changeTicket, toSteps } from "./manage-tickets.ts";
import { ensurePullRequest, mergePullRequest } from "./pull-requests.ts";
import { blockByConflict } from "./block-ticket.ts";
import { MERGER } from "./merge-task.ts";
import { converge } from "./task-branch.ts";

const TASKS_LIMIT = 10_000;
const REST_MS = 10_000;

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
    // Expected: the host is away, which passes, or branches conflict, which a person has to look at.
    if (!(error instanceof AppError)) throw error;
    deps.log.warn("ticket.delivery_failed", { ticket: ticket.id, reason: error.message });
    if (error.code === "git.conflict") return blockByConflict(deps, ticket.id, error.message);
    resting.set(ticket.id, deps.clock.now().getTime() + REST_MS);
  }
}

export async function deliverTicket(deps: Deps, id: TicketId, signal: AbortSignal): Promise<void> {
  const ticket = await loadTicket.maybe(deps.db, id);
  if (ticket === undefined || ticket.is_blocked) return;
  if (!(await findRepository.one(deps.db, ticket.project_id)).is_there)
    return void (await moveTo(deps, id, "done", "all of its tasks are completed"));
  if ((resting.get(id) ?? 0) > deps.clock.now().getTime()) return;
  resting.delete(id);
  const { settings, autonomous_execution_enabled: isAutonomous } = await loadProject.one(deps.db, ticket.project_id);
  // Its pull request is open: whoever looks at it merges it.
  if (ticket.status === "testing" && !(settings.auto_merge ?? isAutonomous)) return;
  await deliverOrRest(deps, ticket, signal);
}
