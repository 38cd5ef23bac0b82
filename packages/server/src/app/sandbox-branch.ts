/** The branch that a sandbox works on: given by its task, else one of its own, made before the sandbox is. */
import { AppError, type SandboxId } from "@drover/contract";
import { setSandboxBranch } from "../store/git.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";

export const toSandboxBranch = (id: SandboxId): string => `drover/${id}`;

export interface SandboxBranch {
  readonly git: ProjectGit;
  readonly name: string;
  readonly commit: string;
}

export async function ensureSandboxBranch(deps: Deps, row: SandboxRow, signal: AbortSignal): Promise<SandboxBranch> {
  const git = await openProjectGit(deps, row.project_id);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  const name = row.branch ?? toSandboxBranch(row.id);
  const base = row.base_branch ?? defaultBranch;
  const from = await deps.git.objects.resolve(row.project_id, `refs/heads/${base}`, signal);
  if (from === undefined) throw new AppError("branch.not_found", `the repository has no branch ${base}`);
  const { commit } = await git.host.ensureBranch(git.repo, name, from, signal);
  if (row.branch === null) await setSandboxBranch(deps.db, row.id, name);
  return { git, name, commit };
}
