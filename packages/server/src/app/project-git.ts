/** A project's repository and the host it lives at; one that has none yet gets its own. */
import { AppError, type ProjectId } from "@drover/contract";
import type { GitHost, HostedRepository } from "../ports/git-host.ts";
import type { GitObjects } from "../ports/git-objects.ts";
import { insertProjectGit, loadPersonToken, loadProjectGit, type ProjectGitRow } from "../store/git.ts";
import { loadProject, type ProjectRow } from "../store/projects.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

export interface Git {
  readonly objects: GitObjects;
  readonly hosts: Readonly<Record<ProjectGitRow["host"], GitHost>>;
}

export interface ProjectGit {
  readonly host: GitHost;
  readonly repo: HostedRepository;
  readonly project: ProjectRow;
}

/** The acting person's own token where there is one, else the project's; the host knows the installation's. */
async function findToken(deps: Deps, row: ProjectGitRow, actor: Person | null): Promise<string | null> {
  if (row.host === "builtin") return null;
  const own = actor === null ? undefined : await loadPersonToken.maybe(deps.db, actor.tokenId);
  const sealed = own?.sealed_token ?? row.sealed_token;
  return sealed === null ? null : deps.vault.open(sealed);
}

/** The branch that the project names goes before the one that its host takes for the first. */
function withDefaultBranch(host: GitHost, name: string | undefined): GitHost {
  if (name === undefined) return host;
  return {
    ...host,
    ensureRepository: async (repo, signal) => {
      await host.ensureRepository(repo, signal);
      return { defaultBranch: name };
    },
  };
}

export async function openProjectGit(
  deps: Deps,
  projectId: ProjectId,
  actor: Person | null = null,
): Promise<ProjectGit> {
  const project = await loadProject.maybe(deps.db, projectId);
  if (project === undefined) throw new AppError("project.not_found");
  const known = await loadProjectGit.maybe(deps.db, projectId);
  if (known === undefined) await insertProjectGit(deps.db, projectId);
  const row = known ?? (await loadProjectGit.one(deps.db, projectId));
  return {
    host: withDefaultBranch(deps.git.hosts[row.host], project.settings.default_branch),
    project,
    repo: {
      projectId,
      importFrom: project.repo,
      owner: row.owner,
      name: row.name,
      token: await findToken(deps, row, actor),
    },
  };
}

const UNIQUE_VIOLATION = "23505";

/** A repository of GitHub belongs to one project. */
export const refuseTakenPlace = (error: unknown): never => {
  if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
  throw new AppError("git.conflict", "another project has this repository", { cause: error });
};
