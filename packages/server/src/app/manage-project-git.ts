/** Which host a project's repository lives at, and whose token acts there. Secrets are sealed and never shown again. */
import { AppError, type ProjectGit, type ProjectGitChange, type ProjectId } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import {
  deletePersonToken,
  insertProjectGit,
  loadProjectGit,
  type ProjectGitRow,
  updateProjectGit,
  upsertPersonToken,
} from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { refuseTakenPlace } from "./project-git.ts";
import { readProjectGit, toProjectGit } from "./read-pulls.ts";

const toPlace = (known: Pick<ProjectGitRow, "host" | "owner" | "name"> | undefined, change: ProjectGitChange) => {
  const host = change.host ?? known?.host ?? "builtin";
  const [owner, name] = [change.owner ?? known?.owner ?? null, change.name ?? known?.name ?? null];
  if (host === "github" && (owner === null || name === null))
    throw new AppError("request.invalid", "a repository of GitHub has an owner and a name");
  return { host, owner, name };
};

/** A place that GitHub does not know, or does not show by this token, is refused before anything is kept. */
async function requirePlace(deps: Deps, projectId: ProjectId, change: ProjectGitChange, signal: AbortSignal) {
  const known = await loadProjectGit.maybe(deps.db, projectId);
  const place = toPlace(known, change);
  const { host, owner, name, token } = change;
  // A token can always be taken away.
  const isMoved = [host, owner, name].some((one) => one !== undefined) || typeof token === "string";
  if (place.host !== "github" || !isMoved) return;
  const sealed = known?.sealed_token ?? null;
  const kept = sealed === null ? null : deps.vault.open(sealed);
  const repo = { projectId, importFrom: null, ...place, token: token === undefined ? kept : token };
  await deps.git.hosts.github.listBranches(repo, signal);
}

export async function changeProjectGit(
  deps: Deps,
  actor: Person,
  projectId: ProjectId,
  change: ProjectGitChange,
  signal: AbortSignal,
): Promise<ProjectGit> {
  const seal = (secret: string | null | undefined) => (typeof secret === "string" ? deps.vault.seal(secret) : secret);
  await requirePlace(deps, projectId, change, signal);
  await writeWithEvents(deps, async (tx, append) => {
    await insertProjectGit(tx, projectId);
    const known = await loadProjectGit.one(tx, projectId);
    const { host, owner, name } = toPlace(known, change);
    const patch = {
      host,
      owner,
      name,
      sealed_token: seal(change.token),
      sealed_webhook_secret: seal(change.webhook_secret),
    };
    await updateProjectGit.one(tx, projectId, patch).catch(refuseTakenPlace);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "project.git",
      target: projectId,
      project_id: projectId,
      detail: { host, owner, name, token: change.token !== undefined, secret: change.webhook_secret !== undefined },
      request_id: null,
    });
    const entity = { type: "project", id: projectId, projectId };
    const data = { git_host: host, owner, name };
    await append([draftEvent(deps.ids, entity, { eventType: "project.updated", data, source: "user" })]);
  });
  return readProjectGit(deps, projectId, signal).catch(async (error: unknown) => {
    // Expected: the host is away, or its token was taken away. What was kept is told; where it is cannot be looked at.
    if (!(error instanceof AppError)) throw error;
    const row = await loadProjectGit.one(deps.db, projectId);
    const { settings } = await loadProject.one(deps.db, projectId);
    return toProjectGit(row, settings.default_branch ?? "main", []);
  });
}

/** The acting person's own token goes before the project's. */
export async function keepPersonToken(
  deps: Deps,
  actor: Person,
  token: string | null,
): Promise<{ has_token: boolean }> {
  if (token === null) await deletePersonToken(deps.db, actor.tokenId);
  else await upsertPersonToken(deps.db, actor.tokenId, deps.vault.seal(token));
  return { has_token: token !== null };
}
