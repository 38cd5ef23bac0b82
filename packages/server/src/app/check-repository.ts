/** Whether a repository can be worked with, before a sandbox is made for it: the one that is named, else the project's own. */
import { AppError, type ProjectId, type RepositoryCheck, type RepositoryCheckRequest } from "@drover/contract";
import type { RemoteAnswer } from "../ports/remote-refs.ts";
import { loadProjectGit } from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { pickProject } from "./manage-projects.ts";
import { readProjectGit } from "./read-pulls.ts";
import { requireReadable } from "./repo-address.ts";

const TIME_LIMIT_MS = 10_000;
const TOLD = 100;

type Answer = RemoteAnswer | { readonly status: "fresh" };

/** A repository that Drover has already is asked itself; one that it would take in at first is asked where it is now. */
async function askProject(deps: Deps, projectId: ProjectId, signal: AbortSignal): Promise<Answer> {
  const [project, row] = await Promise.all([
    loadProject.one(deps.db, projectId),
    loadProjectGit.maybe(deps.db, projectId),
  ]);
  const isHere = row?.host === "github" || (await deps.git.objects.resolve(projectId, "HEAD", signal)) !== undefined;
  if (!isHere) return project.repo === null ? { status: "fresh" } : deps.remotes.list(project.repo, signal);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]);
  try {
    const { default_branch: defaultBranch, branches } = await readProjectGit(deps, projectId, limit);
    return { status: "listed", defaultBranch, branches: branches.map(({ name }) => name) };
  } catch (error) {
    signal.throwIfAborted();
    // Expected: the host is away, or wants another credential.
    if (!(error instanceof AppError) && !limit.aborted) throw error;
    return {
      status: "unreachable",
      detail: error instanceof AppError ? error.message : `no answer within ${TIME_LIMIT_MS / 1_000} s`,
    };
  }
}

/** Whoever may not name it is told so here, before a sandbox is refused for it. */
async function askNamed(deps: Deps, actor: Person, repo: string, signal: AbortSignal): Promise<Answer> {
  try {
    requireReadable(actor, repo);
  } catch (error) {
    // Expected: an address of nothing, or the server's own disk.
    if (error instanceof AppError) return { status: "refused", detail: error.message };
    throw error;
  }
  return deps.remotes.list(repo, signal);
}

function toStatus(answer: Answer, branch: string | null): RepositoryCheck["status"] {
  if (answer.status !== "listed") return answer.status;
  if (answer.branches.length === 0) return "empty";
  return branch !== null && answer.branches.includes(branch) ? "found" : "no_branch";
}

export async function checkRepository(
  deps: Deps,
  actor: Person,
  { project_id: asked, repo, branch: wanted }: RepositoryCheckRequest,
  signal: AbortSignal,
): Promise<RepositoryCheck> {
  const projectId = await pickProject(deps, actor, asked);
  const answer = await (repo === undefined ? askProject(deps, projectId, signal) : askNamed(deps, actor, repo, signal));
  const listing = answer.status === "listed" ? answer : { defaultBranch: null, branches: [] };
  const branch = wanted ?? listing.defaultBranch;
  return {
    status: toStatus(answer, branch),
    branch,
    default_branch: listing.defaultBranch,
    branches: listing.branches.toSorted((one, other) => one.localeCompare(other)).slice(0, TOLD),
    branch_count: listing.branches.length,
    detail: "detail" in answer ? answer.detail : null,
    checked_at: deps.clock.now().toISOString(),
  };
}
