/** The Git endpoint: who may fetch from and push to a project's repository, and what a push leaves in the log. */
import type { Readable } from "node:stream";
import { decideAccess, decidePush, type PushCommand, type Pusher, type PushRefusal } from "@drover/core";
import { AppError, type JsonObject, type ProjectId } from "@drover/contract";
import type { PackService } from "../ports/git-objects.ts";
import { countForeignPushes, insertPush } from "../store/git.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import type { Principal } from "./credential.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, draftSandboxEvent, writeWithEvents } from "./event-log.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";
import { requireRoom } from "./require-room.ts";
import { ensureSandboxBranch } from "./sandbox-branch.ts";

const MEGABYTE = 1024 * 1024;
const COMMITS_TOLD = 50;

export interface GitAccess {
  readonly principal: Principal;
  readonly git: ProjectGit;
  readonly pusher: Pusher;
}

/** Asked before every exchange: a generation that was replaced a moment ago is refused. */
export async function openGitAccess(
  deps: Deps,
  principal: Principal,
  projectId: ProjectId,
  service: PackService["service"],
  signal: AbortSignal,
): Promise<GitAccess> {
  if (principal.kind === "worker") {
    if (principal.scope === "gateway") throw new AppError("auth.forbidden", "this token is for models only");
    if (principal.projectId !== projectId) throw new AppError("project.not_found");
    const row = await loadForWorker(deps.db, principal);
    const { git, name } = await ensureSandboxBranch(deps, row, signal);
    return { principal, git, pusher: { kind: "sandbox", branch: name } };
  }
  if (principal.kind === "watcher") throw new AppError("auth.forbidden", "a link only shows one run");
  const decision = decideAccess(principal.grant, service === "git-upload-pack" ? "read" : "operate", projectId);
  if (decision === "hidden") throw new AppError("project.not_found");
  if (decision === "forbidden") throw new AppError("auth.forbidden", `the role ${principal.grant.role} may not push`);
  const git = await openProjectGit(deps, projectId);
  const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
  return { principal, git, pusher: { kind: "person", defaultBranch } };
}

export const toPushLimit = (deps: Deps): number => deps.config.gitPushLimitMb * MEGABYTE;

export const refusePush = (access: GitAccess, commands: readonly PushCommand[]): readonly PushRefusal[] =>
  decidePush(access.pusher, commands);

/** A sandbox may rewrite what nobody else has put anything on; the default branch is rewritten by nobody. */
async function isRewriteAllowed(deps: Deps, access: GitAccess, commands: readonly PushCommand[]): Promise<boolean> {
  const { principal, pusher } = access;
  if (pusher.kind === "person") return commands.every(({ ref }) => ref !== `refs/heads/${pusher.defaultBranch}`);
  if (principal.kind !== "worker") return false;
  const { count } = await countForeignPushes.one(deps.db, principal.projectId, pusher.branch, principal.sandboxId);
  return count === 0;
}

export const advertise = (
  deps: Deps,
  access: GitAccess,
  service: PackService["service"],
  input: Readable,
  signal: AbortSignal,
): Readable =>
  deps.git.objects.serve(
    access.git.repo.projectId,
    { service, isAdvertisement: true, isRewriteAllowed: false, maxInputBytes: MEGABYTE },
    input,
    signal,
  );

export const uploadPack = (deps: Deps, access: GitAccess, input: Readable, signal: AbortSignal): Readable =>
  deps.git.objects.serve(
    access.git.repo.projectId,
    { service: "git-upload-pack", isAdvertisement: false, isRewriteAllowed: false, maxInputBytes: MEGABYTE },
    input,
    signal,
  );

export async function receivePack(
  deps: Deps,
  access: GitAccess,
  commands: readonly PushCommand[],
  input: Readable,
  signal: AbortSignal,
): Promise<Readable> {
  if (access.principal.kind === "worker") requireRoom(deps);
  return deps.git.objects.serve(
    access.git.repo.projectId,
    {
      service: "git-receive-pack",
      isAdvertisement: false,
      isRewriteAllowed: await isRewriteAllowed(deps, access, commands),
      maxInputBytes: toPushLimit(deps),
    },
    input,
    signal,
  );
}

async function toPushed(deps: Deps, projectId: ProjectId, command: PushCommand, signal: AbortSignal) {
  const { ref, from, to } = command;
  const isBranch = ref.startsWith("refs/heads/");
  const told =
    to === null || !isBranch
      ? { aheadBy: 0, behindBy: 0, commits: [] }
      : await deps.git.objects.compare(projectId, from ?? (await findStart(deps, projectId, to, signal)), to, signal);
  return {
    branch: ref.replace(/^refs\/(?:heads|tags)\//, ""),
    ref,
    from_commit: from,
    to_commit: to,
    is_rewritten: from !== null && told.behindBy > 0,
    commit_count: told.aheadBy,
    commits: told.commits.slice(0, COMMITS_TOLD).map((one) => ({ ...one, subject: one.subject.slice(0, 200) })),
  } satisfies JsonObject;
}

/** A new branch is told from where it left the default one. */
const findStart = async (deps: Deps, projectId: ProjectId, to: string, signal: AbortSignal) =>
  (await deps.git.objects.resolve(projectId, "HEAD", signal)) ?? to;

/** What of a push has really happened: seen in the repository, brought to the host, written down. */
export async function recordPush(
  deps: Deps,
  access: GitAccess,
  commands: readonly PushCommand[],
  signal: AbortSignal,
): Promise<void> {
  const { principal, git } = access;
  const { projectId } = git.repo;
  const happened: PushCommand[] = [];
  for (const command of commands) {
    const now = await deps.git.objects.resolve(projectId, command.ref, signal);
    if ((now ?? null) === command.to) happened.push(command);
  }
  for (const { ref, from, to } of happened)
    if (ref.startsWith("refs/heads/"))
      await git.host.ensurePublished(git.repo, ref.slice("refs/heads/".length), from, to, signal);
  const pushed = await Promise.all(happened.map((command) => toPushed(deps, projectId, command, signal)));
  if (pushed.length === 0) return;
  await writeWithEvents(deps, async (tx, append) => {
    const sandboxId = principal.kind === "worker" ? principal.sandboxId : null;
    const [row] = sandboxId === null ? [] : await lockSandboxes(tx, [sandboxId]);
    for (const { branch, from_commit, to_commit } of pushed)
      await insertPush(tx, {
        project_id: projectId,
        branch,
        sandbox_id: sandboxId,
        token_id: principal.kind === "person" ? principal.tokenId : null,
        from_commit,
        to_commit,
      });
    const entity = { type: "project", id: projectId, projectId };
    await append(
      pushed.map((data) =>
        row === undefined
          ? draftEvent(deps.ids, entity, { eventType: "git.pushed", data, source: "user" })
          : draftSandboxEvent(deps.ids, row, { eventType: "git.pushed", data }),
      ),
    );
  });
}
