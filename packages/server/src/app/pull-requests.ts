/** Pull requests: opened once, looked at, merged without force, and their ends followed. */
import { isBranchName, toPullBody, toPullTitle } from "@drover/core";
import {
  AppError,
  type MergeMethod,
  type NewPullRequest,
  type ProjectId,
  type PullRequest,
  type PullRequestId,
} from "@drover/contract";
import type { HostPullRequest, PullRequestSpec } from "../ports/git-host.ts";
import { insertAudit } from "../store/audit.ts";
import { findTicketBranch, insertPush, listTicketBranches } from "../store/git.ts";
import {
  findBranchPull,
  findPull,
  insertPull,
  loadPull,
  lockPull,
  updatePullState,
  type PullEnd,
  type PullRow,
} from "../store/pull-requests.ts";
import { loadTicket } from "../store/tickets.ts";
import { closeTicketByMerge } from "./close-ticket.ts";
import { ensureTicketBranch, persist, type TicketWork } from "./branch-workflow.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";

/** How often a host is asked whether a pull request merges before it is given up for now. */
const QUESTIONS = 10;
const FIRST_PAUSE_MS = 250;
/** How often a merge is tried while others merge into the same branch. */
const MERGES = 5;
const LONGEST_PAUSE_MS = 5_000;

const iso = (date: Date | null) => date?.toISOString() ?? null;

export const toPullRequest = (row: PullRow): PullRequest => ({
  ...row,
  created_at: row.created_at.toISOString(),
  merged_at: iso(row.merged_at),
  closed_at: iso(row.closed_at),
});

const draftPullEvent = (deps: Deps, git: ProjectGit, row: PullRow, eventType: string): EventDraft =>
  draftEvent(
    deps.ids,
    { type: "pull_request", id: row.id, projectId: row.project_id },
    {
      eventType,
      data: {
        pull_id: row.id,
        pr_number: row.number,
        ticket_id: row.ticket_id,
        title: row.title,
        head_branch: row.head_branch,
        base_branch: row.base_branch,
        repo_owner: git.repo.owner,
        repo_name: git.repo.name,
        merge_commit: row.merge_commit,
      },
    },
  );

/** Told once, however often the host tells of it. */
export async function recordPull(
  deps: Deps,
  git: ProjectGit,
  pull: HostPullRequest,
  ticketId: string | null,
): Promise<PullRow> {
  const { projectId } = git.repo;
  const inserted = await writeWithEvents(deps, async (tx, append) => {
    const row = await insertPull.maybe(tx, {
      id: deps.ids.pullRequest(),
      project_id: projectId,
      ticket_id: ticketId,
      number: pull.number,
      title: pull.title,
      body: pull.body.slice(0, 10_000),
      head_branch: pull.head,
      base_branch: pull.base,
      url: pull.url,
      head_commit: pull.headCommit,
    });
    if (row !== undefined) await append([draftPullEvent(deps, git, row, "PR_OPENED")]);
    return row;
  });
  return inserted ?? (await findPull.one(deps.db, projectId, pull.number));
}

const ENDED = { merged: "PR_MERGED", closed: "PR_CLOSED", open: "PR_OPENED" } as const;

/** Writes down what became of it at the host. Being there already changes nothing. */
export async function recordPullEnd(
  deps: Deps,
  git: ProjectGit,
  id: PullRequestId,
  end: PullEnd,
  actor: Person | null,
): Promise<PullRow> {
  return writeWithEvents(deps, async (tx, append) => {
    const row = await lockPull.one(tx, id);
    if (row.state === end.state || row.state === "merged") return row;
    const next = await updatePullState.one(tx, id, end);
    if (end.state === "merged")
      await insertPush(tx, {
        project_id: row.project_id,
        branch: row.base_branch,
        sandbox_id: null,
        token_id: actor?.tokenId ?? null,
        from_commit: null,
        to_commit: end.merge_commit,
      });
    if (actor !== null)
      await insertAudit(tx, {
        actor: actor.tokenId,
        action: `pull_request.${end.state}`,
        target: id,
        project_id: row.project_id,
        detail: { number: row.number, merge_commit: end.merge_commit },
        request_id: null,
      });
    await append([draftPullEvent(deps, git, next, ENDED[end.state])]);
    return next;
  });
}

async function openPull(
  deps: Deps,
  git: ProjectGit,
  spec: PullRequestSpec,
  ticketId: string | null,
  signal: AbortSignal,
): Promise<PullRow> {
  const pull = await persist(deps, () => git.host.ensurePullRequest(git.repo, spec, signal), signal);
  return recordPull(deps, git, pull, ticketId);
}

/** Null when the ticket's branch has nothing that the base has not: there is nothing to ask for. What a person closed is not opened
 *  again by itself. */
export async function ensurePullRequest(
  deps: Deps,
  ticket: TicketWork,
  text: { readonly title?: string | undefined; readonly body?: string | undefined },
  signal: AbortSignal,
  actor: Person | null = null,
): Promise<PullRequest | null> {
  const branch = await ensureTicketBranch(deps, ticket, signal, actor);
  const git = await openProjectGit(deps, ticket.project_id, actor);
  const { aheadBy } = await deps.git.objects.compare(
    ticket.project_id,
    `refs/heads/${branch.base}`,
    `refs/heads/${branch.name}`,
    signal,
  );
  const last = await findBranchPull.maybe(deps.db, ticket.project_id, branch.name);
  if (last?.state === "merged" && (aheadBy === 0 || last.head_commit === branch.commit)) return toPullRequest(last);
  if (aheadBy === 0) return null;
  if (actor === null && last?.state === "closed" && last.head_commit === branch.commit)
    throw new AppError("git.refused", `pull request ${last.number} was closed without a merge, and nothing is new`);
  const spec = {
    title: toPullTitle(ticket.id, text.title ?? ticket.title),
    body: toPullBody(ticket.id, text.body ?? null),
    head: branch.name,
    base: branch.base,
  };
  return toPullRequest(await openPull(deps, git, spec, ticket.id, signal));
}

/** The pull request of a ticket's branch, or of another branch that is named. */
export async function ensureBranchPull(
  deps: Deps,
  actor: Person,
  ticket: TicketWork,
  branch: string | undefined,
  body: string | undefined,
  signal: AbortSignal,
): Promise<PullRequest> {
  const own = branch === undefined ? undefined : await findTicketBranch.maybe(deps.db, ticket.id);
  if (branch === undefined || own?.name === branch) {
    const pull = await ensurePullRequest(deps, ticket, { body }, signal, actor);
    if (pull === null) throw new AppError("git.refused", "the branch has nothing that its base has not");
    return pull;
  }
  const input = {
    project_id: ticket.project_id,
    title: toPullTitle(ticket.id, ticket.title),
    body: toPullBody(ticket.id, body ?? null),
    head_branch: branch,
    ticket_id: ticket.id,
  };
  return createPullRequest(deps, actor, ticket.project_id, input, signal);
}

export async function findTicketPull(deps: Deps, ticket: TicketWork, number: number): Promise<PullRow> {
  const row = await findPull.maybe(deps.db, ticket.project_id, number);
  if (row?.ticket_id !== ticket.id) throw new AppError("pull_request.not_found");
  return row;
}

/** A merge closes the ticket, so it is one of this project; one that Drover does not know is nobody's. */
async function refuseForeignTicket(deps: Deps, projectId: ProjectId, ticketId: string | undefined): Promise<void> {
  const ticket = ticketId === undefined ? undefined : await loadTicket.maybe(deps.db, ticketId);
  if (ticket !== undefined && ticket.project_id !== projectId) throw new AppError("ticket.not_found");
}

export async function createPullRequest(
  deps: Deps,
  actor: Person,
  projectId: ProjectId,
  input: NewPullRequest,
  signal: AbortSignal,
): Promise<PullRequest> {
  await refuseForeignTicket(deps, projectId, input.ticket_id);
  const git = await openProjectGit(deps, projectId, actor);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const base = input.base_branch ?? defaultBranch;
  for (const name of [base, input.head_branch])
    if (!isBranchName(name) || (await deps.git.objects.resolve(projectId, `refs/heads/${name}`, signal)) === undefined)
      throw new AppError("branch.not_found", `the repository has no branch ${name}`);
  const { aheadBy } = await deps.git.objects.compare(
    projectId,
    `refs/heads/${base}`,
    `refs/heads/${input.head_branch}`,
    signal,
  );
  if (aheadBy === 0) throw new AppError("git.refused", `${input.head_branch} has nothing that ${base} has not`);
  const spec = { title: input.title, body: input.body, head: input.head_branch, base };
  return toPullRequest(await openPull(deps, git, spec, input.ticket_id ?? null, signal));
}

export async function requirePull(deps: Deps, id: PullRequestId): Promise<PullRow> {
  const row = await loadPull.maybe(deps.db, id);
  if (row === undefined) throw new AppError("pull_request.not_found");
  return row;
}

/** Asks the host until it has found out whether it merges. */
async function settle(deps: Deps, git: ProjectGit, number: number, signal: AbortSignal): Promise<HostPullRequest> {
  for (let times = 0; times < QUESTIONS; times += 1) {
    const pull = await persist(deps, () => git.host.loadPullRequest(git.repo, number, signal), signal);
    if (pull === undefined) throw new AppError("pull_request.not_found", `the host has no pull request ${number}`);
    if (pull.state !== "open" || pull.isMergeable !== null) return pull;
    await deps.clock.sleep(Math.min(FIRST_PAUSE_MS * 2 ** times, LONGEST_PAUSE_MS), signal);
  }
  throw new AppError("git.unavailable", "the host has not found out whether it merges");
}

async function tellConflicts(deps: Deps, row: PullRow, signal: AbortSignal): Promise<string> {
  const [base, head] = [`refs/heads/${row.base_branch}`, `refs/heads/${row.head_branch}`];
  // What lies in somebody else's copy is not here to be tried.
  const { conflicts } = isBranchName(row.head_branch)
    ? await deps.git.objects.tryMerge(row.project_id, base, head, signal)
    : { conflicts: [] };
  const files = conflicts.map(({ path }) => path).slice(0, 20);
  return `${row.head_branch} conflicts with ${row.base_branch}${files.length === 0 ? "" : ` in ${files.join(", ")}`}; merge ${row.base_branch} into it first`;
}

/** A branch is kept for as long as something is not merged: those of a ticket's tasks go with the ticket's own, and not with another one
 *  that names the ticket. That one cannot be deleted undoes no merge. */
async function deleteBranches(deps: Deps, git: ProjectGit, row: PullRow, signal: AbortSignal): Promise<void> {
  const others = row.ticket_id === null ? [] : await listTicketBranches(deps.db, row.ticket_id);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const isOwn = others.some((one) => one.task_id === null && one.name === row.head_branch);
  for (const name of isOwn ? others.map((one) => one.name) : [row.head_branch]) {
    if (name === row.base_branch || name === defaultBranch || !isBranchName(name)) continue;
    await git.host
      .ensureBranchGone(git.repo, name, signal)
      .catch((error: unknown) => deps.log.warn("branch.not_deleted", { branch: name, reason: String(error) }));
  }
}

/** What is in ends the ticket. Done again by whoever sees the merge next, should this server die in between. */
export async function followMerge(deps: Deps, row: PullRow): Promise<void> {
  if (row.ticket_id !== null)
    await closeTicketByMerge(deps, row.ticket_id, { pr_number: row.number, commit: row.merge_commit });
}

export interface MergeWish {
  readonly method?: MergeMethod | undefined;
  readonly delete_branch?: boolean | undefined;
}

/** What has been merged into the base in between makes the host refuse once; what conflicts is seen when it is looked at again. */
async function mergeAtHost(deps: Deps, git: ProjectGit, row: PullRow, method: MergeMethod, signal: AbortSignal) {
  for (let times = 1; ; times += 1) {
    const pull = await settle(deps, git, row.number, signal);
    if (pull.state === "closed") throw new AppError("git.conflict", "the pull request is closed");
    if (pull.state === "merged") return { head: pull.headCommit, commit: pull.mergeCommit };
    if (pull.isMergeable === false || pull.headCommit === null)
      throw new AppError("git.conflict", await tellConflicts(deps, row, signal));
    const title =
      row.ticket_id === null
        ? `${row.title} (#${row.number})`
        : `[${row.ticket_id}] Merge PR #${row.number}: ${row.title.replace(/^\[[^\]]*\] */, "")}`;
    const spec = { method, title: title.slice(0, 200), headCommit: pull.headCommit };
    try {
      const { commit } = await persist(deps, () => git.host.ensureMerged(git.repo, row.number, spec, signal), signal);
      return { head: pull.headCommit, commit };
    } catch (error) {
      // Expected: somebody else was faster, or the host has rules of its own that are not kept.
      if (!(error instanceof AppError) || error.code !== "git.conflict" || times === MERGES) throw error;
    }
  }
}

async function recordMerge(
  deps: Deps,
  git: ProjectGit,
  row: PullRow,
  method: MergeMethod,
  actor: Person | null,
  signal: AbortSignal,
): Promise<PullRow> {
  const { head, commit } = await mergeAtHost(deps, git, row, method, signal);
  return recordPullEnd(deps, git, row.id, { state: "merged", head_commit: head, merge_commit: commit }, actor);
}

/** `actor` is null when Drover itself merges. */
export async function mergePullRequest(
  deps: Deps,
  actor: Person | null,
  id: PullRequestId,
  wish: MergeWish,
  signal: AbortSignal,
): Promise<PullRequest> {
  const row = await requirePull(deps, id);
  const git = await openProjectGit(deps, row.project_id, actor);
  await git.host.ensureRepository(git.repo, signal);
  const merged =
    row.state === "merged" ? row : await recordMerge(deps, git, row, wish.method ?? "squash", actor, signal);
  await followMerge(deps, merged);
  await git.host.ensureRepository(git.repo, signal);
  if (wish.delete_branch !== false) await deleteBranches(deps, git, merged, signal);
  return toPullRequest(merged);
}

export async function closePullRequest(
  deps: Deps,
  actor: Person,
  id: PullRequestId,
  signal: AbortSignal,
): Promise<PullRequest> {
  const row = await requirePull(deps, id);
  if (row.state === "merged") throw new AppError("git.conflict", "the pull request is merged");
  const git = await openProjectGit(deps, row.project_id, actor);
  await persist(deps, () => git.host.ensureClosed(git.repo, row.number, signal), signal);
  const head = await deps.git.objects.resolve(row.project_id, `refs/heads/${row.head_branch}`, signal);
  const end = { state: "closed", head_commit: head ?? null, merge_commit: null } as const;
  return toPullRequest(await recordPullEnd(deps, git, id, end, actor));
}
