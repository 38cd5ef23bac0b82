/** Which repositories may be named by whom. */
import { parseRepoAddress } from "@drover/core";
import { AppError } from "@drover/contract";
import type { Person } from "./credential.ts";

/** A path names files of the server's machine: only who administers all of it may hand those into a sandbox or a project. */
export function requireReadable(actor: Person, repo: string): void {
  const parsed = parseRepoAddress(repo);
  if (parsed === undefined)
    throw new AppError("request.invalid", "repo is an https, http, ssh or git address, or an absolute path", {
      fields: [{ path: "repo", message: "is not an address of a repository" }],
    });
  if (parsed.kind === "local" && (actor.grant.role !== "admin" || actor.grant.projectId !== null))
    throw new AppError("auth.forbidden", "only an admin of all projects may use a repository of the server's own disk");
}
