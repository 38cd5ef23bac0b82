/** The branch that a task's sandbox works on: the ticket's, or one of its own while others work beside it. */
import { AppError } from "@drover/contract";
import { findSourceBranch } from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import { findBranchPull } from "../store/pull-requests.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import { listTicketTasks, type TaskRow } from "../store/tasks.ts";
import { listAttempts } from "../store/task-attempts.ts";
import type { TicketRow } from "../store/tickets.ts";
import { blockByConflict } from "./block-ticket.ts";
import { ensureTaskBranch } from "./branch-workflow.ts";
import { convergeTicket } from "./converge-ticket.ts";
import type { Deps } from "./deps.ts";
import { ensureMergeBranch } from "./merge-task.ts";

const TASKS_LIMIT = 10_000;
const GONE: ReadonlySet<string> = new Set(["cancelled", "skipped", "failed"]);

/** All that a task waits for, over whatever others. */
function listBelow(tasks: ReadonlyMap<string, TaskRow>, id: string): ReadonlySet<string> {
  const below = new Set<string>(tasks.get(id)?.depends_on);
  // A set hands out what is added while it is walked.
  for (const one of below) for (const next of tasks.get(one)?.depends_on ?? []) below.add(next);
  return below;
}

/** Some other task of the ticket neither waits for this one nor is waited for by it. */
function isParallel(tasks: readonly TaskRow[], id: string): boolean {
  const byId = new Map<string, TaskRow>(tasks.map((task) => [task.id, task]));
  const below = listBelow(byId, id);
  return tasks.some(
    (other) => other.id !== id && !GONE.has(other.status) && !below.has(other.id) && !listBelow(byId, other.id).has(id),
  );
}

/** Brings the work of these tasks onto the ticket's branch. False while that needs an agent, tests or a person: for a person the ticket
 *  is blocked, for anything else the task waits for it. */
export async function converge(
  deps: Deps,
  ticket: TicketRow,
  taskId: string | null,
  sources: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const own: string[] = [];
  for (const id of sources) if ((await findSourceBranch.maybe(deps.db, id, ticket.id)) !== undefined) own.push(id);
  if (own.length === 0) return true;
  const { status, cause } = await convergeTicket(deps, ticket, { task_id: taskId, sources: own }, signal);
  if (status === "completed") return true;
  if (status === "failed") throw new AppError("git.unavailable", cause ?? "the branches could not be merged");
  if (status !== "resolving" && status !== "testing")
    await blockByConflict(deps, ticket.id, cause ?? "branches conflict");
  return false;
}

/** Null in a project that does without branches; any other has a repository from here on. What came before is on the ticket's branch when the task begins. */
export async function ensureBranch(
  deps: Deps,
  ticket: TicketRow,
  task: TaskRow,
  signal: AbortSignal,
): Promise<string | null> {
  const { settings } = await loadProject.one(deps.db, ticket.project_id);
  if (settings.branches_enabled === false) return null;
  const merging = await ensureMergeBranch(deps, ticket, task, signal);
  if (merging !== undefined) return merging;
  const tasks = await listTicketTasks(deps.db, ticket.id, TASKS_LIMIT);
  const below = listBelow(new Map<string, TaskRow>(tasks.map((one) => [one.id, one])), task.id);
  if (!(await converge(deps, ticket, task.id, [...below], signal)))
    throw new AppError("git.conflict", "the branches of the tasks before are not merged yet");
  // Whoever tries again goes on where the first one worked, also when others have come beside it meanwhile.
  const isFirst = (await listAttempts(deps.db, task.id)).length === 0;
  const work = { id: task.id, ticket, is_parallel: isFirst && isParallel(tasks, task.id) };
  return (await ensureTaskBranch(deps, work, signal)).name;
}

interface Claimed {
  readonly commit?: string | undefined;
  readonly pr_number?: number | undefined;
}

/** What a worker says it has pushed must stand on its branch, and the pull request it names must be that branch's and not closed. */
export async function requireEvidence(deps: Deps, sandbox: SandboxRow, { commit, pr_number }: Claimed): Promise<void> {
  if (sandbox.branch === null) return;
  if (pr_number !== undefined) {
    const pull = await findBranchPull.maybe(deps.db, sandbox.project_id, sandbox.branch);
    if (pull?.number !== pr_number || pull.state === "closed")
      throw new AppError(
        "task.unproven",
        `branch ${sandbox.branch} has no pull request ${pr_number} that is open or merged`,
      );
  }
  if (commit === undefined) return;
  const { signal } = new AbortController();
  const pushed = await deps.git.objects.resolve(sandbox.project_id, `refs/heads/${sandbox.branch}`, signal);
  if (pushed !== commit)
    throw new AppError("task.unproven", `branch ${sandbox.branch} stands at ${pushed ?? "nothing"}, not at ${commit}`);
}
