/** Merges the branches of parallel tasks into their ticket's: the fewest conflicts first, tried again after every merge. */
import { pickMerge } from "@drover/core";
import { AppError, type MergeAttempt, type MergeAttemptId, type MergeAttemptStatus } from "@drover/contract";
import type { Conflict } from "../ports/git-objects.ts";
import { findTaskBranch, insertPush } from "../store/git.ts";
import { insertMergeAttempt, updateMergeAttempt, type MergeProgress } from "../store/pull-requests.ts";
import { ensureTicketBranch, persist, type TicketWork } from "./branch-workflow.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";

export interface Convergence {
  /** The task that goes on from there; null at the end of the ticket. */
  readonly task_id: string | null;
  readonly sources: readonly string[];
}

export interface Converged {
  readonly status: Exclude<MergeAttemptStatus, "in_progress">;
  readonly attempt_id: MergeAttemptId;
  readonly merged: readonly string[];
  readonly conflicts: MergeAttempt["conflicts"];
  /** A sentence for whoever has to go on. */
  readonly cause: string | null;
}

interface Source {
  readonly id: string;
  readonly branch: string;
  readonly commit: string;
}

interface Trial {
  readonly source: Source;
  readonly tree: string;
  readonly conflicts: readonly Conflict[] | null;
}

/** Only branches of their own, with something that the target has not. */
async function listSources(
  deps: Deps,
  ticket: TicketWork,
  target: string,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Source[]> {
  const { objects } = deps.git;
  const found: Source[] = [];
  for (const id of new Set(ids)) {
    const row = await findTaskBranch.maybe(deps.db, id);
    if (row === undefined || row.project_id !== ticket.project_id) continue;
    const commit = await objects.resolve(ticket.project_id, `refs/heads/${row.name}`, signal);
    if (commit === undefined) continue;
    const { aheadBy } = await objects.compare(ticket.project_id, target, commit, signal);
    if (aheadBy > 0) found.push({ id, branch: row.name, commit });
  }
  return found;
}

async function tryAll(
  deps: Deps,
  ticket: TicketWork,
  target: string,
  sources: readonly Source[],
  signal: AbortSignal,
): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  for (const source of sources) {
    // Expected: a branch that Git cannot merge at all; it comes last and is told.
    const trial = await deps.git.objects
      .tryMerge(ticket.project_id, target, source.commit, signal)
      .catch((error: unknown) => {
        deps.log.warn("merge.trial_failed", { branch: source.branch, reason: String(error) });
        return { tree: "", conflicts: null };
      });
    trials.push({ source, ...trial });
  }
  return trials;
}

const toRound = (trials: readonly Trial[], merged: string | null, commit: string | null) => ({
  scores: Object.fromEntries(
    trials.map(({ source, conflicts }) => [
      source.id,
      { count: conflicts?.length ?? null, files: conflicts?.map(({ path }) => path) ?? [] },
    ]),
  ),
  merged,
  commit,
});

const isBinary = (conflicts: readonly Conflict[]) => conflicts.some(({ kind }) => kind === "binary");

function toCause(branch: string, conflicts: MergeAttempt["conflicts"]): string {
  const told = conflicts
    .map(
      ({ branch: from, files }) =>
        `${from} (${files
          .map(({ path }) => path)
          .slice(0, 10)
          .join(", ")})`,
    )
    .join("; ");
  return `these branches conflict with ${branch}: ${told}. Merge them there, resolve and push; what is merged is not tried again.`;
}

/** One merge commit with two parents; the branch goes on from where it was, so nothing is ever forced. */
async function mergeOne(
  deps: Deps,
  git: ProjectGit,
  branch: string,
  target: string,
  trial: Trial,
  signal: AbortSignal,
): Promise<string> {
  const { projectId } = git.repo;
  const message = `Merge task ${trial.source.id.slice(0, 8)} (convergence point)\n`;
  const draft = { tree: trial.tree, parents: [target, trial.source.commit], message, author: "Drover" };
  const commit = await deps.git.objects.writeCommit(projectId, draft, signal);
  await persist(deps, () => git.host.ensureAdvanced(git.repo, branch, target, commit, signal), signal);
  await insertPush(deps.db, {
    project_id: projectId,
    branch,
    sandbox_id: null,
    token_id: null,
    from_commit: target,
    to_commit: commit,
  });
  return commit;
}

export async function convergeTicket(
  deps: Deps,
  ticket: TicketWork,
  wish: Convergence,
  signal: AbortSignal,
): Promise<Converged> {
  const branch = await ensureTicketBranch(deps, ticket, signal);
  const git = await openProjectGit(deps, ticket.project_id);
  const id = deps.ids.mergeAttempt();
  await insertMergeAttempt(deps.db, {
    id,
    project_id: ticket.project_id,
    ticket_id: ticket.id,
    task_id: wish.task_id,
    source_task_ids: wish.sources,
    target_branch: branch.name,
  });
  let target = branch.commit;
  const rounds: MergeAttempt["rounds"] = [];
  const order: string[] = [];
  const progress = (status: MergeAttemptStatus, more: Partial<MergeProgress> = {}): MergeProgress => ({
    status,
    merge_order: order,
    rounds,
    conflicts: [],
    error_message: null,
    ...more,
  });
  const end = async (status: Converged["status"], conflicts: MergeAttempt["conflicts"], cause: string | null) => {
    await writeWithEvents(deps, async (tx, append) => {
      await updateMergeAttempt.one(tx, id, progress(status, { conflicts, error_message: cause }));
      const data = {
        attempt_id: id,
        ticket_id: ticket.id,
        task_id: wish.task_id,
        target_branch: branch.name,
        status,
        merged: order,
        conflicts,
        cause,
      };
      const entity = { type: "merge_attempt", id, projectId: ticket.project_id };
      await append([draftEvent(deps.ids, entity, { eventType: "merge.attempted", data })]);
    });
    return { status, attempt_id: id, merged: order, conflicts, cause };
  };

  try {
    let remaining = await listSources(deps, ticket, target, wish.sources, signal);
    while (remaining.length > 0) {
      const trials = await tryAll(deps, ticket, target, remaining, signal);
      const next = pickMerge(
        trials.map(({ source, conflicts }) => ({ id: source.id, conflicts: conflicts?.length ?? null })),
      );
      const chosen = trials.find(({ source }) => source.id === next?.id);
      if (chosen?.conflicts?.length !== 0) {
        rounds.push(toRound(trials, null, null));
        const conflicts = trials.map(({ source, conflicts: files }) => ({
          task_id: source.id,
          branch: source.branch,
          files: [...(files ?? [])],
        }));
        const needsPerson = trials.some(({ conflicts: files }) => files === null || isBinary(files));
        return await end(needsPerson ? "manual" : "conflict", conflicts, toCause(branch.name, conflicts));
      }
      target = await mergeOne(deps, git, branch.name, target, chosen, signal);
      order.push(chosen.source.id);
      rounds.push(toRound(trials, chosen.source.id, target));
      remaining = await listSources(
        deps,
        ticket,
        target,
        remaining.map((one) => one.id),
        signal,
      );
      await updateMergeAttempt.one(deps.db, id, progress("in_progress"));
    }
    return await end("completed", [], null);
  } catch (error) {
    // Expected: the host is away, or somebody pushed meanwhile. What was merged stays; the next attempt goes on from there.
    if (!(error instanceof AppError)) throw error;
    return end("failed", [], error.message);
  }
}
