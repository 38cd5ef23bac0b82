/** Which host a project's repository lives at, and whose token acts there. Secrets are sealed and never shown again. */
import { AppError, type ProjectGit, type ProjectGitChange, type ProjectId } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import {
  deletePersonToken,
  insertProjectGit,
  loadProjectGit,
  updateProjectGit,
  upsertPersonToken,
} from "../store/git.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { refuseTakenPlace } from "./project-git.ts";
import { readProjectGit } from "./read-pulls.ts";

export async function changeProjectGit(
  deps: Deps,
  actor: Person,
  projectId: ProjectId,
  change: ProjectGitChange,
  signal: AbortSignal,
): Promise<ProjectGit> {
  const seal = (secret: string | null | undefined) => (typeof secret === "string" ? deps.vault.seal(secret) : secret);
  await writeWithEvents(deps, async (tx, append) => {
    await insertProjectGit(tx, projectId);
    const known = await loadProjectGit.one(tx, projectId);
    const host = change.host ?? known.host;
    const owner = change.owner ?? known.owner;
    const name = change.name ?? known.name;
    if (host === "github" && (owner === null || name === null))
      throw new AppError("request.invalid", "a repository of GitHub has an owner and a name");
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
  return readProjectGit(deps, projectId, signal);
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
