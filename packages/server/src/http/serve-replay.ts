/** Which use case answers which endpoint of replay, and what a link to watch may not read. */
import { AppError, type ArtifactId, type replayEndpoints, type SandboxId } from "@drover/contract";
import { isRecording } from "../app/list-recordings.ts";
import { createShare, endShare, pageShares } from "../app/manage-shares.ts";
import { readMoment, readWorkspaceDiff } from "../app/read-moment.ts";
import { person, type Context, type Handlers } from "./context.ts";

/** Who watches by a link sees what was kept of the run, and never into the sandbox itself. */
export function requireKept({ principal }: Context, atSeq: number | undefined): void {
  if (principal?.kind === "watcher" && atSeq === undefined)
    throw new AppError("auth.forbidden", "a link shows files as they were kept: at_seq is needed");
}

/** Artifacts are also what an agent remembers and whole workspaces; a link shows recordings of terminals. */
export async function requireRecording(context: Context, sandboxId: SandboxId, artifactId: ArtifactId): Promise<void> {
  if (context.principal?.kind !== "watcher") return;
  if (!(await isRecording(context.deps, sandboxId, artifactId))) throw new AppError("artifact.not_found");
}

export const replayHandlers: Pick<Handlers, keyof typeof replayEndpoints> = {
  getMoment: ({ deps, signal }, { params, query }) => readMoment(deps, params.sandbox_id, query, signal),
  getWorkspaceDiff: ({ deps, signal }, { params, query }) => readWorkspaceDiff(deps, params.sandbox_id, query, signal),
  listShares: ({ deps }, { params, query }) => pageShares(deps, params.sandbox_id, query),
  createShare: (context, { params, body }) =>
    createShare(context.deps, person(context), params.sandbox_id, body, context.requestKey),
  revokeShare: (context, { params }) => endShare(context.deps, person(context), params.sandbox_id, params.share_id),
};
