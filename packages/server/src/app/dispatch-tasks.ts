/** Starts what is ready: claims, then makes branch and sandbox row, and lets the provider do the rest. */
import { toTaskPrompt } from "@drover/core";
import {
  AppError,
  ExecutionConfig,
  type NewSandbox,
  type Provider,
  type SandboxId,
  type TaskId,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { loadProject, type ProjectRow } from "../store/projects.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import { insertAttempt, listAttempts, type AttemptRow } from "../store/task-attempts.ts";
import { loadTask, updateTaskRow, type TaskRow } from "../store/tasks.ts";
import { loadTicket, type TicketRow } from "../store/tickets.ts";
import { requireRuntime } from "./agent-packages.ts";
import { changeTask, draftTaskEvent, lockTask, moveTask } from "./change-task.ts";
import { claimForValidation, claimReady } from "./claim-tasks.ts";
import type { Deps } from "./deps.ts";
import { failWork } from "./end-task.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { insertSandboxRow } from "./insert-sandbox.ts";
import { joinTasksOnce } from "./join-tasks.ts";
import { prepareResume } from "./resume-run.ts";
import { refreshAround, ripenTasks } from "./requeue-tasks.ts";
import { afterStop, draftStop } from "./stop-sandbox.ts";
import { ensureBranch } from "./task-branch.ts";
import { draftRestart } from "./tell-restart.ts";

const DISPATCHER = "orchestrator";
/** When a Git host that is away is asked again. */
const REST_SECONDS = 5;

interface Order {
  readonly task: TaskRow;
  readonly ticket: TicketRow;
  readonly project: ProjectRow;
  readonly kind: "work" | "validation";
}

/** A session that was lost is gone on with; any other try begins anew. */
const pickResume = (last: AttemptRow | undefined): SandboxId | null =>
  last?.outcome === "lost" ? last.sandbox_id : null;

function toInput(deps: Deps, { task, ticket, project, kind }: Order, resumes: SandboxId | null) {
  const config = ExecutionConfig.parse(task.execution_config);
  const { settings } = project;
  const provider: Provider =
    config.provider ??
    settings.provider ??
    (deps.config.daytonaExecution ? ("daytona" as const) : deps.config.provider);
  const script = kind === "validation" ? config.validator_script : config.script;
  const given: { readonly [Key in keyof NewSandbox]: NewSandbox[Key] | undefined } = {
    task_id: task.id,
    prompt: toTaskPrompt({ ticket, task, mode: kind }),
    runtime: config.runtime ?? settings.runtime,
    model: config.model ?? settings.model,
    network: config.network ?? settings.network,
    permission_mode: settings.permission_mode,
    execution_mode: kind === "validation" ? "validation" : (config.execution_mode ?? "implementation"),
    continuous: kind === "validation" ? undefined : config.continuous,
    budget_usd: config.budget_usd,
    timeout_s: task.timeout_seconds ?? undefined,
    resources: config.resources,
    resume_from: resumes ?? undefined,
    script,
    labels: { ticket: task.ticket_id, task_type: task.task_type.slice(0, 255), kind },
  };
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as NewSandbox;
  return { ...input, provider, ...(config.cassette === undefined ? {} : { cassette: config.cassette }) };
}

/** A task has at most one try under way: whoever reported failure and works on is stopped when the next one begins. */
async function draftStopOf(tx: Db, deps: Deps, last: AttemptRow | undefined): Promise<readonly EventDraft[]> {
  if (last === undefined) return [];
  const isDone = (await loadSandbox.maybe(tx, last.sandbox_id))?.state === "completed";
  return isDone ? [] : draftStop(tx, deps, last.sandbox_id, "another try at its task begins");
}

/** The sandbox's row is there before anything is started: whatever dies, nothing runs that no row knows. */
async function assign(deps: Deps, order: Order, branch: string | null, signal: AbortSignal): Promise<boolean> {
  const { task, project, kind } = order;
  const last = (await listAttempts(deps.db, task.id)).findLast((one) => one.kind === kind);
  const resumes = pickResume(last);
  const input = toInput(deps, order, resumes);
  if (input.provider !== "external") {
    await deps.providers.open(input.provider);
    await requireRuntime(deps, input.runtime);
  }
  const made = await writeWithEvents(deps, async (tx, append) => {
    const locked = await lockTask(tx, task.id);
    // Somebody cancelled it, or the claim was stale and another has it.
    const isMine =
      locked.claimed_by === deps.instance && locked.status === (kind === "work" ? "claiming" : "validating");
    if (!isMine) return undefined;
    const stopped = await draftStopOf(tx, deps, last);
    const { row: sandbox, drafts } = await insertSandboxRow(tx, deps, {
      createdBy: DISPATCHER,
      source: "server",
      projectId: project.id,
      branch,
      input,
    });
    const attempt = await insertAttempt.one(tx, task.id, kind, sandbox.id, resumes);
    const spawned = {
      sandbox_id: sandbox.id,
      task_id: task.id,
      ticket_id: task.ticket_id,
      agent_id: sandbox.id,
      phase_id: task.phase_id,
      attempt: attempt.number,
    };
    if (kind === "validation") {
      await updateTaskRow(tx, task.id, { sandbox_id: sandbox.id });
      const told = { ...spawned, execution_mode: "validation" };
      const entity = { type: "sandbox", id: sandbox.id, projectId: project.id };
      await append([
        ...stopped,
        ...drafts,
        // Its name has the sandbox in it already: no row of the log, which would put the word before it.
        draftEvent(deps.ids, entity, { eventType: "VALIDATION_SANDBOX_SPAWNED", data: told }),
        draftTaskEvent(deps, { ...locked, sandbox_id: sandbox.id }, "TASK_STATUS_CHANGED", {
          old_status: "pending_validation",
        }),
      ]);
      return sandbox;
    }
    const lost = resumes === null ? [] : [draftRestart(deps, { ...sandbox, id: resumes }, sandbox, "lost")];
    const moved = await moveTask(tx, deps, locked, {
      on: "assigned",
      patch: { sandbox_id: sandbox.id, not_before: null },
      data: { agent_id: sandbox.id, attempt: attempt.number, resumes },
    });
    await append([...stopped, ...drafts, ...moved.drafts, ...lost]);
    return sandbox;
  });
  if (last !== undefined) afterStop(deps);
  // Where a provider makes the sandbox this is a step of making it.
  if (made?.provider === "external" && resumes !== null) await prepareResume(deps, made, signal);
  return made !== undefined;
}

const BROKE_SECONDS = 30;

/** A spawn that fails is a failed try; a validator's goes back to wait for another. */
async function giveBack(deps: Deps, order: Order, error: unknown, signal: AbortSignal): Promise<void> {
  const detail = error instanceof AppError ? error.message : String(error);
  deps.log.warn("task.spawn_failed", { task: order.task.id, reason: detail });
  const isMine = (row: TaskRow) => row.claimed_by === deps.instance;
  // The ticket is blocked by now, or the Git host is away: the task waits, and nothing is held against it.
  const isGit = error instanceof AppError && (error.code === "git.conflict" || error.code === "git.unavailable");
  // A server that stops takes nothing with it: another one starts the task.
  if (order.kind === "work" && signal.aborted) {
    const release = { on: "released", reason: "the server stops", patch: { claimed_by: null } } as const;
    await changeTask(deps, order.task.id, (row) => (row.status === "claiming" && isMine(row) ? release : undefined));
    return;
  }
  if (order.kind === "work" && isGit) {
    const restMs = (error.retryAfterSeconds ?? REST_SECONDS) * 1_000;
    const notBefore = error.code === "git.conflict" ? null : new Date(deps.clock.now().getTime() + restMs);
    const release = { on: "released", reason: detail, patch: { claimed_by: null, not_before: notBefore } } as const;
    await changeTask(deps, order.task.id, (row) => (row.status === "claiming" && isMine(row) ? release : undefined));
    return;
  }
  // Nothing is held against a task that there is no money for: it waits until somebody raises the budget.
  if (order.kind === "work" && error instanceof AppError && error.code === "budget.exceeded") {
    const notBefore = new Date(deps.clock.now().getTime() + BROKE_SECONDS * 1_000);
    const release = { on: "released", reason: detail, patch: { claimed_by: null, not_before: notBefore } } as const;
    await changeTask(deps, order.task.id, (row) => (row.status === "claiming" && isMine(row) ? release : undefined));
    return;
  }
  if (order.kind === "validation") {
    const notBefore = new Date(deps.clock.now().getTime() + 5_000);
    await changeTask(deps, order.task.id, (row) =>
      row.status === "validating" && isMine(row)
        ? { on: "released", reason: detail, patch: { not_before: notBefore, claimed_by: null } }
        : undefined,
    );
    return;
  }
  await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, order.task.id);
    if (row.status !== "claiming" || !isMine(row)) return;
    const failure = { error: `Sandbox spawn failed: ${detail}`, outcome: "failed" as const };
    const { drafts } = await failWork(tx, deps, row, undefined, failure);
    await append(drafts);
  });
  await refreshAround(deps, [order.task.id]);
}

async function start(deps: Deps, id: TaskId, kind: "work" | "validation", signal: AbortSignal): Promise<boolean> {
  const task = await loadTask.one(deps.db, id);
  const order = {
    task,
    kind,
    ticket: await loadTicket.one(deps.db, task.ticket_id),
    project: await loadProject.one(deps.db, task.project_id),
  };
  try {
    return await assign(deps, order, await ensureBranch(deps, order.ticket, task, signal), signal);
  } catch (error) {
    // Expected: the Git host or the provider is away or refuses. The task says so and is tried again.
    await giveBack(deps, order, error, signal);
    return false;
  }
}

export async function dispatchTasksOnce(deps: Deps, signal: AbortSignal): Promise<{ started: number }> {
  let started = 0;
  // A continuation knows what came before it when it begins.
  await joinTasksOnce(deps);
  for (;;) {
    const room = deps.config.maxParallelSpawns;
    // The order is exact at this moment only where everybody stands in the lane of this moment.
    await ripenTasks(deps);
    const toValidate = deps.config.taskValidationEnabled ? await claimForValidation(deps, room) : [];
    const ready = await claimReady(deps, room);
    const spawned = await Promise.all([
      ...toValidate.map((id) => start(deps, id, "validation", signal)),
      ...ready.map((id) => start(deps, id, "work", signal)),
    ]);
    const count = spawned.filter(Boolean).length;
    started += count;
    if (count > 0) deps.wake("provision-sandboxes");
    // More may be ready than one round takes.
    if (signal.aborted || ready.length + toValidate.length < room) return { started };
  }
}
