/** Merges the branches of parallel tasks into their ticket's: the fewest conflicts first, tried again after every merge. */
import { pickMerge, toMergePrompt } from "@drover/core";
import {
  AppError,
  type MergeAttempt,
  type MergeAttemptId,
  type MergeAttemptStatus,
  type MergeTests,
  type ProjectSettings,
} from "@drover/contract";
import type { Conflict } from "../ports/git-objects.ts";
import { findSourceBranch, insertPush } from "../store/git.ts";
import {
  findLastMerge,
  insertMergeAttempt,
  listOpenMerges,
  updateMergeAttempt,
  type MergeProgress,
  type MergeRow,
} from "../store/pull-requests.ts";
import { listTasksAmong } from "../store/tasks.ts";
import { ensureTicketBranch, persist, type TicketWork } from "./branch-workflow.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { draftMergeEvent, openMergeTask, settleMerges, waitForMerge, type MergeHelp } from "./merge-task.ts";
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

/** Branches with something that the target has not: own ones of the ticket's tasks, and those where another ticket's tasks have worked. What
 *  another ticket has merged is on the base. */
async function listSources(
  deps: Deps,
  ticket: TicketWork,
  { base, target }: { readonly base: string; readonly target: string },
  ids: readonly string[],
  signal: AbortSignal,
): Promise<readonly Source[]> {
  const { objects } = deps.git;
  const resolve = (name: string) => objects.resolve(ticket.project_id, `refs/heads/${name}`, signal);
  const found: Source[] = [];
  for (const id of new Set(ids)) {
    const row = await findSourceBranch.maybe(deps.db, id, ticket.id);
    if (row === undefined || row.project_id !== ticket.project_id) continue;
    const tip = await resolve(row.name);
    const branch = tip === undefined && row.ticket_id !== ticket.id ? base : row.name;
    const commit = tip ?? (await resolve(branch));
    if (commit === undefined) continue;
    const { aheadBy } = await objects.compare(ticket.project_id, target, commit, signal);
    if (aheadBy > 0) found.push({ id, branch, commit });
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

/** One merge commit with two parents. No branch has it yet. */
function writeMerge(deps: Deps, projectId: string, target: string, trial: Trial, signal: AbortSignal): Promise<string> {
  const message = `Merge task ${trial.source.id.slice(0, 8)} (convergence point)\n`;
  const draft = { tree: trial.tree, parents: [target, trial.source.commit], message, author: "Drover" };
  return deps.git.objects.writeCommit(projectId, draft, signal);
}

/** The branch goes on from where it was, so nothing is ever forced. */
async function keep(deps: Deps, git: ProjectGit, branch: string, from: string, to: string, signal: AbortSignal) {
  await persist(deps, () => git.host.ensureAdvanced(git.repo, branch, from, to, signal), signal);
  const { projectId } = git.repo;
  const push = { project_id: projectId, branch, sandbox_id: null, token_id: null, from_commit: from, to_commit: to };
  await insertPush(deps.db, push);
}

/** What an agent is to do about the conflicts, if the project has one that may, and they are not too many for it. */
async function toResolution(
  deps: Deps,
  { conflict_resolver: resolver, merge_tests: tests }: ProjectSettings,
  branch: string,
  conflicts: MergeAttempt["conflicts"],
): Promise<MergeHelp["task"] | undefined> {
  const files = new Set(conflicts.flatMap((one) => one.files.map(({ path }) => path)));
  if (resolver === undefined || files.size > resolver.max_conflicts) return undefined;
  const tasks = new Map(
    (
      await listTasksAmong(
        deps.db,
        conflicts.map((one) => one.task_id),
      )
    ).map((row) => [String(row.id), row]),
  );
  const branches = conflicts.map((one) => ({
    branch: one.branch,
    title: tasks.get(one.task_id)?.title ?? one.task_id,
    description: tasks.get(one.task_id)?.description ?? null,
    files: one.files.map(({ path }) => path),
  }));
  const { timeout_seconds, max_conflicts: _most, ...given } = resolver;
  return {
    title: `Resolve conflicts in ${[...files].slice(0, 3).join(", ")}`.slice(0, 500),
    description: toMergePrompt(branch, branches, tests?.argv),
    task_type: "resolve_conflicts",
    timeout_seconds,
    execution_config: { ...given, force_execute: true },
  };
}

const toTesting = ({ argv, timeout_seconds }: MergeTests): MergeHelp["task"] => ({
  title: "Test the merged branches",
  description: `Runs \`${argv.join(" ")}\` on them; they are kept when it succeeds.`.slice(0, 10_000),
  task_type: "test_merge",
  // Time to make the sandbox is none of the tests'.
  timeout_seconds: timeout_seconds + 300,
  execution_config: {
    runtime: "scripted",
    execution_mode: "validation",
    force_execute: true,
    script: { steps: [{ command: { argv, timeout: timeout_seconds, required: true } }] },
  },
});

const toWaiting = (open: MergeRow): Converged => ({
  status: open.status as Converged["status"],
  attempt_id: open.id,
  merged: [],
  conflicts: open.conflicts,
  cause: null,
});

export async function convergeTicket(
  deps: Deps,
  ticket: TicketWork,
  wish: Convergence,
  signal: AbortSignal,
): Promise<Converged> {
  await settleMerges(deps, ticket.id, signal);
  const [open] = await listOpenMerges(deps.db, ticket.id, 1);
  if (open !== undefined) {
    await waitForMerge(deps, open, wish.task_id);
    return toWaiting(open);
  }
  const last = await findLastMerge.maybe(deps.db, ticket.id);
  // Its branch holds the others', so it has no conflicts and comes first. It is asked once; then a person is.
  const resolved = last?.status === "resolved" ? last.merge_task_id : null;
  const branch = await ensureTicketBranch(deps, ticket, signal);
  const git = await openProjectGit(deps, ticket.project_id);
  const { settings } = git.project;
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
    from_commit: branch.commit,
    result_commit: target,
    ...more,
  });
  const end = async (status: Converged["status"], conflicts: MergeAttempt["conflicts"], cause: string | null) => {
    await writeWithEvents(deps, async (tx, append) => {
      const row = await updateMergeAttempt.one(tx, id, progress(status, { conflicts, error_message: cause }));
      await append([draftMergeEvent(deps, row)]);
    });
    return { status, attempt_id: id, merged: order, conflicts, cause };
  };
  const ask = async (task: MergeHelp["task"], given: MergeProgress): Promise<Converged | undefined> => {
    const help = { attempt: id, ticketId: ticket.id, waits: wish.task_id, progress: given, task };
    const opened = await openMergeTask(deps, help);
    return opened === undefined ? undefined : { ...toWaiting(opened), merged: order };
  };

  try {
    let remaining = await listSources(
      deps,
      ticket,
      { base: branch.base, target },
      resolved === null ? wish.sources : [resolved, ...wish.sources],
      signal,
    );
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
        const cause = toCause(branch.name, conflicts);
        if (trials.some(({ conflicts: files }) => files === null || isBinary(files)))
          return await end("manual", conflicts, cause);
        const task = resolved === null ? await toResolution(deps, settings, branch.name, conflicts) : undefined;
        const asked = task === undefined ? undefined : await ask(task, progress("resolving", { conflicts }));
        return asked ?? (await end("conflict", conflicts, cause));
      }
      const merged = await writeMerge(deps, ticket.project_id, target, chosen, signal);
      // Behind tests nothing is kept before all of it has passed.
      if (settings.merge_tests === undefined) await keep(deps, git, branch.name, target, merged, signal);
      target = merged;
      order.push(chosen.source.id);
      rounds.push(toRound(trials, chosen.source.id, target));
      remaining = await listSources(
        deps,
        ticket,
        { base: branch.base, target },
        remaining.map((one) => one.id),
        signal,
      );
      await updateMergeAttempt.one(deps.db, id, progress("in_progress"));
    }
    if (settings.merge_tests !== undefined && target !== branch.commit) {
      const asked = await ask(toTesting(settings.merge_tests), progress("testing"));
      if (asked !== undefined) return asked;
      await keep(deps, git, branch.name, branch.commit, target, signal);
    }
    return await end("completed", [], null);
  } catch (error) {
    // Expected: the host is away, or somebody pushed meanwhile. What was kept stays; the next attempt goes on from there.
    if (!(error instanceof AppError)) throw error;
    return end("failed", [], error.message);
  }
}
