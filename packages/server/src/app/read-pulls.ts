/** What is shown of branches and pull requests. */
import { isBranchName } from "@drover/core";
import {
  API_BASE,
  AppError,
  MergeAttemptId,
  PullRequestId,
  type MergeAttempt,
  type ProjectGit,
  type ProjectId,
  type PullRequestDetail,
  type SandboxId,
} from "@drover/contract";
import type { ChangedFile, Comparison } from "../ports/git-objects.ts";
import { loadProjectGit, type ProjectGitRow } from "../store/git.ts";
import { findBranchPull, listMergeAttempts, listPulls, type MergeRow, type PullRow } from "../store/pull-requests.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { openProjectGit } from "./project-git.ts";
import { requirePull, toPullRequest } from "./pull-requests.ts";

const DIFF_LIMIT_BYTES = 1024 * 1024;

interface Filter {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly project_id?: ProjectId | undefined;
  readonly ticket_id?: string | undefined;
}

/** Undefined when the caller asks for a project that does not exist for it. */
function toFilter(actor: Person, query: Filter, before: string | undefined) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine) return undefined;
  return { projectId: query.project_id ?? mine, ticketId: query.ticket_id, before, limit: query.limit + 1 };
}

const NONE = { items: [], next_cursor: null };

const toPage = <R extends { readonly id: string }, T>(rows: readonly R[], limit: number, show: (row: R) => T) => {
  const items = rows.slice(0, limit);
  return { items: items.map(show), next_cursor: rows.length > limit ? (items.at(-1)?.id ?? null) : null };
};

export async function pagePulls(deps: Deps, actor: Person, query: Filter & { readonly state?: string | undefined }) {
  const filter = toFilter(actor, query, parseCursor(PullRequestId, query.cursor));
  if (filter === undefined) return NONE;
  return toPage(await listPulls(deps.db, { ...filter, state: query.state }), query.limit, toPullRequest);
}

const toMergeAttempt = (row: MergeRow): MergeAttempt => ({
  ...row,
  created_at: row.created_at.toISOString(),
  completed_at: row.completed_at?.toISOString() ?? null,
});

export async function pageMergeAttempts(deps: Deps, actor: Person, query: Filter) {
  const filter = toFilter(actor, query, parseCursor(MergeAttemptId, query.cursor));
  if (filter === undefined) return NONE;
  return toPage(await listMergeAttempts(deps.db, { ...filter, state: undefined }), query.limit, toMergeAttempt);
}

export const toProjectGit = (
  row: ProjectGitRow,
  defaultBranch: string,
  branches: readonly ProjectGit["branches"][number][],
): ProjectGit => ({
  project_id: row.project_id,
  host: row.host,
  owner: row.owner,
  name: row.name,
  has_token: row.sealed_token !== null,
  has_webhook_secret: row.sealed_webhook_secret !== null,
  default_branch: defaultBranch,
  clone_path: `${API_BASE}/git/${row.project_id}.git`,
  branches: [...branches],
});

export async function readProjectGit(deps: Deps, projectId: ProjectId, signal: AbortSignal): Promise<ProjectGit> {
  const git = await openProjectGit(deps, projectId);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const row = await loadProjectGit.one(deps.db, projectId);
  return toProjectGit(row, defaultBranch, await git.host.listBranches(git.repo, signal));
}

const toFile = (file: ChangedFile) => ({
  path: file.path,
  old_path: file.oldPath,
  change_type: file.change,
  lines_added: file.linesAdded,
  lines_removed: file.linesRemoved,
  is_binary: file.isBinary,
});

/** Of one that is merged, what it was when it was merged. */
export async function findEnds(deps: Deps, row: PullRow, signal: AbortSignal) {
  const { objects } = deps.git;
  const isMerged = row.merge_commit !== null;
  const head = await objects.resolve(
    row.project_id,
    isMerged ? (row.head_commit ?? "") : `refs/heads/${row.head_branch}`,
    signal,
  );
  const base = await objects.resolve(
    row.project_id,
    isMerged ? `${row.merge_commit}^1` : `refs/heads/${row.base_branch}`,
    signal,
  );
  return head === undefined || base === undefined ? undefined : { head, base };
}

export async function readPull(deps: Deps, id: PullRequestId, signal: AbortSignal): Promise<PullRequestDetail> {
  const row = await requirePull(deps, id);
  const git = await openProjectGit(deps, row.project_id);
  const { objects } = deps.git;
  await git.host.ensureRepository(git.repo, signal);
  const host = await git.host.loadPullRequest(git.repo, row.number, signal);
  const ends = await findEnds(deps, row, signal);
  const shown = { ...toPullRequest(row), head_commit: ends?.head ?? row.head_commit };
  if (ends === undefined)
    return {
      ...shown,
      mergeable: null,
      conflicts: [],
      checks: [],
      commits: [],
      files: [],
      diff: "",
      is_diff_cut: false,
    };
  const { patch, isCut, files } = await objects.diff(row.project_id, ends.base, ends.head, DIFF_LIMIT_BYTES, signal);
  const { commits } = await objects.compare(row.project_id, ends.base, ends.head, signal);
  const trial = row.state === "open" ? await objects.tryMerge(row.project_id, ends.base, ends.head, signal) : undefined;
  return {
    ...shown,
    mergeable: row.state === "open" ? (host?.isMergeable ?? null) : null,
    conflicts: [...(trial?.conflicts ?? [])],
    checks: [...(await git.host.listStatuses(git.repo, ends.head, signal))],
    commits: [...commits],
    files: files.map(toFile),
    diff: patch,
    is_diff_cut: isCut,
  };
}

const toCompared = ({ status, aheadBy, behindBy, filesChanged }: Comparison) => ({
  status,
  ahead_by: aheadBy,
  behind_by: behindBy,
  total_commits: aheadBy,
  files_changed: filesChanged,
});

export async function readBranchStatus(deps: Deps, projectId: ProjectId, name: string, signal: AbortSignal) {
  const git = await openProjectGit(deps, projectId);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const { objects } = deps.git;
  const head = isBranchName(name) ? await objects.resolve(projectId, `refs/heads/${name}`, signal) : undefined;
  const base = await objects.resolve(projectId, `refs/heads/${defaultBranch}`, signal);
  if (head === undefined || base === undefined)
    throw new AppError("branch.not_found", `the repository has no branch ${name}`);
  const { conflicts } = await objects.tryMerge(projectId, base, head, signal);
  return {
    success: true as const,
    ...toCompared(await objects.compare(projectId, base, head, signal)),
    has_conflicts: conflicts.length > 0,
  };
}

export async function readSandboxGit(deps: Deps, id: SandboxId, signal: AbortSignal) {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  const nothing = { head_commit: null, ahead_by: 0, behind_by: 0, files_changed: 0, commits: [], pull_request: null };
  if (row.branch === null || row.repo !== null) return { ...nothing, branch: row.branch, base_branch: row.base_branch };
  const git = await openProjectGit(deps, row.project_id);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const base_branch = row.base_branch ?? defaultBranch;
  const { objects } = deps.git;
  const head = await objects.resolve(row.project_id, `refs/heads/${row.branch}`, signal);
  const base = await objects.resolve(row.project_id, `refs/heads/${base_branch}`, signal);
  const pull = await findBranchPull.maybe(deps.db, row.project_id, row.branch);
  const shown = {
    ...nothing,
    branch: row.branch,
    base_branch,
    pull_request: pull === undefined ? null : toPullRequest(pull),
  };
  if (head === undefined || base === undefined) return shown;
  const compared = await objects.compare(row.project_id, base, head, signal);
  const { ahead_by, behind_by, files_changed } = toCompared(compared);
  return { ...shown, head_commit: head, ahead_by, behind_by, files_changed, commits: [...compared.commits] };
}
