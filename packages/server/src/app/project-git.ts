/** A project's repository and the host it lives at; one that has none yet gets its own. */
import { AppError, type ProjectId } from "@drover/contract";
import type { GitHost, HostedRepository } from "../ports/git-host.ts";
import type { GitObjects } from "../ports/git-objects.ts";
import { insertProjectGit, loadProjectGit, type ProjectGitRow } from "../store/git.ts";
import { loadProject, type ProjectRow } from "../store/projects.ts";
import type { Deps } from "./deps.ts";

export interface Git {
  readonly objects: GitObjects;
  readonly hosts: Readonly<Partial<Record<ProjectGitRow["host"], GitHost>>>;
}

export interface ProjectGit {
  readonly host: GitHost;
  readonly repo: HostedRepository;
  readonly project: ProjectRow;
}

export async function openProjectGit(deps: Deps, projectId: ProjectId): Promise<ProjectGit> {
  const project = await loadProject.maybe(deps.db, projectId);
  if (project === undefined) throw new AppError("project.not_found");
  const known = await loadProjectGit.maybe(deps.db, projectId);
  if (known === undefined) await insertProjectGit(deps.db, projectId);
  const row = known ?? (await loadProjectGit.one(deps.db, projectId));
  const host = deps.git.hosts[row.host];
  if (host === undefined) throw new AppError("git.refused", `this server has no Git host ${row.host}`);
  return {
    host,
    project,
    repo: {
      projectId,
      importFrom: project.repo,
      owner: row.owner,
      name: row.name,
      token: row.sealed_token === null ? null : deps.vault.open(row.sealed_token),
    },
  };
}
