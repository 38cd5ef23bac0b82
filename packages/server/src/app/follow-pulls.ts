/** What became of pull requests at their hosts: told by webhooks, and looked up where none came. */
import { parseTicketRef } from "@drover/core";
import type { ProjectId } from "@drover/contract";
import type { CommitStatus, HostPullRequest } from "../ports/git-host.ts";
import { deleteOldDeliveries } from "../store/git.ts";
import { listOpenPulls, type PullRow } from "../store/pull-requests.ts";
import { listTicketTasks, type TaskRow } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { openApart, startEach } from "./apart.ts";
import type { Deps } from "./deps.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";
import { followMerge, recordPull, recordPullEnd } from "./pull-requests.ts";

const PULLS = 100;
const TASKS = 100;

/** The ticket that it names, if that is one of this project. */
async function findTicket(deps: Deps, projectId: ProjectId, pull: HostPullRequest): Promise<string | null> {
  const id = parseTicketRef(pull.title, pull.body, pull.head);
  const ticket = id === undefined ? undefined : await loadTicket.maybe(deps.db, id);
  return ticket?.project_id === projectId ? ticket.id : null;
}

/** Done twice it equals done once. */
export async function followPull(deps: Deps, git: ProjectGit, pull: HostPullRequest): Promise<PullRow> {
  const ticketId = await findTicket(deps, git.repo.projectId, pull);
  const row = await recordPull(deps, git, pull, ticketId);
  const end = { state: pull.state, head_commit: pull.headCommit, merge_commit: pull.mergeCommit };
  const next = row.state === pull.state ? row : await recordPullEnd(deps, git, row.id, end, null);
  if (next.state === "merged") await followMerge(deps, next);
  return next;
}

const STATES: Readonly<Record<string, CommitStatus["state"]>> = {
  completed: "success",
  failed: "failure",
  cancelled: "failure",
  skipped: "failure",
};

const toStatus = (task: TaskRow): CommitStatus => ({
  context: `drover/${task.id.slice(0, 8)}`,
  state: STATES[task.status] ?? "pending",
  description: `${task.title ?? task.task_type}: ${task.status}`.slice(0, 140),
  url: null,
});

/** A status for each of the ticket's tasks on what would be merged. */
async function tellTaskStatuses(
  deps: Deps,
  git: ProjectGit,
  ticketId: string,
  commit: string,
  signal: AbortSignal,
): Promise<void> {
  for (const task of await listTicketTasks(deps.db, ticketId, TASKS))
    await git.host.ensureStatus(git.repo, commit, toStatus(task), signal);
}

async function followOne(deps: Deps, row: PullRow, signal: AbortSignal): Promise<void> {
  const git = await openProjectGit(deps, row.project_id);
  const pull = await git.host.loadPullRequest(git.repo, row.number, signal);
  if (pull === undefined) return;
  const { state } = await followPull(deps, git, pull);
  if (state === "open" && row.ticket_id !== null && pull.headCommit !== null)
    await tellTaskStatuses(deps, git, row.ticket_id, pull.headCommit, signal);
}

/** Projects beside each other: a host that is slow holds up its own pull requests. */
export async function followPullsOnce(deps: Deps, signal: AbortSignal): Promise<{ followed: number }> {
  await deleteOldDeliveries(deps.db);
  const projects = openApart(deps.clock, (project, error) =>
    deps.log.warn("pull_request.not_followed", { project, reason: String(error) }),
  );
  const open: PullRow[] = [];
  for (let last = ""; ; last = open.at(-1)?.id ?? "") {
    const page = await listOpenPulls(deps.db, last, PULLS);
    open.push(...page);
    if (page.length < PULLS) break;
  }
  const pulls = Map.groupBy(open, (row) => row.project_id);
  const follow = async (project: ProjectId) => {
    for (const row of pulls.get(project) ?? []) {
      if (signal.aborted) return;
      // Expected: a host that is away. The others are looked at all the same, and this one again.
      await followOne(deps, row, signal).catch((error: unknown) =>
        deps.log.warn("pull_request.not_followed", { pull: row.id, reason: String(error) }),
      );
    }
  };
  await startEach(projects, [...pulls.keys()], follow, signal);
  while (!(await projects.wait(signal)));
  return { followed: open.length };
}
