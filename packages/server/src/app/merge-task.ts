/** Merging with help: a task in which an agent resolves what conflicts, or one that runs the tests on what was merged. Both run in
 *  sandboxes, never here; what they end with is looked at before anything is kept. */
import { ENDED_TASK_STATES, type JsonObject, type NewTask, type TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { findTaskBranch, insertPush } from "../store/git.ts";
import { loadProject } from "../store/projects.ts";
import {
  endMerge,
  findMergeOfTask,
  listOpenMerges,
  updateMergeAttempt,
  type MergeProgress,
  type MergeRow,
} from "../store/pull-requests.ts";
import { deleteEdges, insertEdges, listDependents, loadTask, lockEdges, type TaskRow } from "../store/tasks.ts";
import { lockTicket } from "../store/tickets.ts";
import { blockByConflict } from "./block-ticket.ts";
import { ensureStartedBranch, persist, type TicketWork } from "./branch-workflow.ts";
import { insertOneTask } from "./create-task.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { openProjectGit } from "./project-git.ts";
import { refreshAround } from "./requeue-tasks.ts";

/** Who is noted as the maker of such tasks: their failure is told on the ticket and is none of its own work's. */
export const MERGER = "convergence";
const BATCH = 50;
const DEPENDENTS = 1_000;
const PATCH_LIMIT = 8 * 1024 * 1024;
const MARKER = /^\+(?:<{7}|>{7}|\|{7})(?: |$)/m;

export const draftMergeEvent = (deps: Pick<Deps, "ids">, row: MergeRow): EventDraft =>
  draftEvent(
    deps.ids,
    { type: "merge_attempt", id: row.id, projectId: row.project_id },
    {
      eventType: "merge.attempted",
      data: {
        attempt_id: row.id,
        ticket_id: row.ticket_id,
        task_id: row.task_id,
        target_branch: row.target_branch,
        status: row.status,
        merged: row.merge_order,
        conflicts: row.conflicts,
        cause: row.error_message,
        merge_task_id: row.merge_task_id,
        result_commit: row.result_commit,
      } as JsonObject,
    },
  );

export interface MergeHelp {
  readonly attempt: MergeRow["id"];
  readonly ticketId: string;
  /** The task that goes on behind it, if there is one. */
  readonly waits: string | null;
  readonly progress: MergeProgress;
  readonly task: Pick<NewTask, "title" | "description" | "task_type" | "timeout_seconds" | "execution_config">;
}

const waitFor = async (tx: Db, taskId: string | null, mergeTaskId: string | null): Promise<void> => {
  if (taskId !== null && mergeTaskId !== null) await insertEdges(tx, taskId, [mergeTaskId]);
};

/** A ticket has one of them at a time; undefined when there is no such ticket. The task that goes on waits for it. */
export async function openMergeTask(deps: Deps, help: MergeHelp): Promise<MergeRow | undefined> {
  const opened = await writeWithEvents(deps, async (tx, append) => {
    const ticket = await lockTicket.maybe(tx, help.ticketId as TicketId);
    if (ticket === undefined) return undefined;
    await lockEdges(tx, ticket.project_id);
    const [open] = await listOpenMerges(tx, ticket.id, 1);
    if (open !== undefined) {
      await waitFor(tx, help.waits, open.merge_task_id);
      return open;
    }
    const { settings } = await loadProject.one(tx, ticket.project_id);
    const order = { ticket, settings, createdBy: MERGER, discoveredBy: null, source: "server" } as const;
    const { row: task, draft } = await insertOneTask(tx, deps, order, {
      ...help.task,
      priority: ticket.priority,
      phase_id: "PHASE_IMPLEMENTATION",
      owned_files: [],
      required_capabilities: [],
      max_retries: 1,
      validation_enabled: false,
    });
    await waitFor(tx, help.waits, task.id);
    const row = await updateMergeAttempt.one(tx, help.attempt, { ...help.progress, merge_task_id: task.id });
    await append([draft, draftMergeEvent(deps, row)]);
    return row;
  });
  if (opened !== undefined && opened.merge_task_id !== null) await refreshAround(deps, [opened.merge_task_id]);
  return opened;
}

/** Another task that comes upon a merge which is under way waits for it too. */
export async function waitForMerge(deps: Deps, open: MergeRow, taskId: string | null): Promise<void> {
  if (taskId === null || open.merge_task_id === null) return;
  await deps.db.tx(async (tx) => {
    await lockEdges(tx, open.project_id);
    await waitFor(tx, taskId, open.merge_task_id);
  });
}

/** The branch that such a task works on begins with what was merged so far. Undefined for any other task. */
export async function ensureMergeBranch(
  deps: Deps,
  ticket: TicketWork,
  task: Pick<TaskRow, "id" | "created_by">,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (task.created_by !== MERGER) return undefined;
  const attempt = await findMergeOfTask.maybe(deps.db, task.id);
  if (attempt === undefined || attempt.from_commit === null || attempt.result_commit === null) return undefined;
  const start = { from: attempt.from_commit, commit: attempt.result_commit };
  return (await ensureStartedBranch(deps, ticket, task.id, start, signal)).name;
}

/** Nothing was kept: a person goes on, and whoever waited for it waits for the ticket instead. */
async function giveUp(deps: Deps, attempt: MergeRow, task: TaskRow | undefined, why: string): Promise<void> {
  const waiting = task === undefined ? [] : await listDependents(deps.db, [task.id], DEPENDENTS);
  const what =
    attempt.status === "testing" ? "the tests fail on the merged branches" : "the conflicts were not resolved";
  const cause = `${what}: ${why}`.slice(0, 2_000);
  const ended = await writeWithEvents(deps, async (tx, append) => {
    await lockEdges(tx, attempt.project_id);
    const row = await endMerge.maybe(tx, attempt.id, attempt.status === "testing" ? "tests_failed" : "conflict", cause);
    if (row === undefined) return undefined;
    if (task !== undefined) for (const one of waiting) await deleteEdges(tx, one.id, [task.id]);
    await append([draftMergeEvent(deps, row)]);
    return row;
  });
  if (ended === undefined) return;
  await blockByConflict(deps, ended.ticket_id as TicketId, cause);
  await refreshAround(
    deps,
    waiting.map(({ id }) => id),
  );
  deps.wake("tend-tasks");
}

async function end(deps: Deps, attempt: MergeRow, status: "resolved" | "completed" | "failed", error: string | null) {
  await writeWithEvents(deps, async (tx, append) => {
    const row = await endMerge.maybe(tx, attempt.id, status, error);
    if (row !== undefined) await append([draftMergeEvent(deps, row)]);
  });
}

/** Why what the agent pushed is no resolution; undefined when it may be one. */
async function findFlaw(
  deps: Deps,
  attempt: MergeRow,
  task: TaskRow,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { objects } = deps.git;
  const branch = await findTaskBranch.maybe(deps.db, task.id);
  const tip =
    branch === undefined ? undefined : await objects.resolve(attempt.project_id, `refs/heads/${branch.name}`, signal);
  if (tip === undefined || tip === attempt.result_commit) return "the agent pushed nothing";
  const { patch } = await objects.diff(attempt.project_id, attempt.result_commit ?? tip, tip, PATCH_LIMIT, signal);
  return MARKER.test(patch) ? `${branch?.name ?? ""} has conflict markers` : undefined;
}

/** Follows the task of a merge to its end. Twice equals once. */
export async function settleMerge(deps: Deps, attempt: MergeRow, signal: AbortSignal): Promise<void> {
  const task = attempt.merge_task_id === null ? undefined : await loadTask.maybe(deps.db, attempt.merge_task_id);
  if (task !== undefined && !ENDED_TASK_STATES.has(task.status)) return;
  if (task?.status !== "completed")
    return giveUp(deps, attempt, task, task?.error_message ?? `its task was ${task?.status ?? "lost"}`);
  if (attempt.status === "resolving") {
    const flaw = await findFlaw(deps, attempt, task, signal);
    return flaw === undefined ? end(deps, attempt, "resolved", null) : giveUp(deps, attempt, task, flaw);
  }
  const { from_commit: from, result_commit: to, target_branch: branch, project_id } = attempt;
  if (from === null || to === null) return giveUp(deps, attempt, task, "nothing was merged");
  const git = await openProjectGit(deps, project_id);
  const tip = await deps.git.objects.resolve(project_id, `refs/heads/${branch}`, signal);
  // What was tested is not what would be there now: the next attempt tests that.
  if (tip !== from && tip !== to) return end(deps, attempt, "failed", `${branch} has moved while the tests ran`);
  await persist(deps, () => git.host.ensureAdvanced(git.repo, branch, from, to, signal), signal);
  const push = { project_id, branch, sandbox_id: null, token_id: null, from_commit: from, to_commit: to };
  await insertPush(deps.db, push);
  await end(deps, attempt, "completed", null);
}

export async function settleMerges(deps: Deps, ticketId: string, signal: AbortSignal): Promise<void> {
  for (const attempt of await listOpenMerges(deps.db, ticketId, BATCH)) await settleMerge(deps, attempt, signal);
}
