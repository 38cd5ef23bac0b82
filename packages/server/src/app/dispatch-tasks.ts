/** Starts what is ready: claims, then makes branch and sandbox row, and lets the provider do the rest. */
import { isTicketOver, pickExecutionMode, toTaskPrompt } from "@drover/core";
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
import { loadTicket, lockTicket, type TicketRow } from "../store/tickets.ts";
import { requireRuntime } from "./agent-packages.ts";
import { openApart } from "./apart.ts";
import { changeTask, draftTaskEvent, lockTask, moveTask } from "./change-task.ts";
import { claimForValidation, claimReady } from "./claim-tasks.ts";
import type { Deps } from "./deps.ts";
import { endStranded } from "./end-stranded.ts";
import { failWork } from "./end-task.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { insertSandboxRow } from "./insert-sandbox.ts";
import { joinTasksOnce } from "./join-tasks.ts";
import { prepareResume } from "./resume-run.ts";
import { refreshAround, ripenTasks } from "./requeue-tasks.ts";
import { afterStop, draftStop } from "./stop-sandbox.ts";
import { ensureBranch } from "./task-branch.ts";
import { draftRestart } from "./tell-restart.ts";
import { awaitValidator } from "./validate-task.ts";

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
    runtime: config.runtime ?? settings.runtime ?? deps.config.sandboxRuntime,
    model: config.model ?? settings.model,
    network: config.network ?? settings.network,
    permission_mode: settings.permission_mode,
    execution_mode: kind === "validation" ? "validation" : (config.execution_mode ?? pickExecutionMode(task.task_type)),
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
    const ticket = await lockTicket.one(tx, task.ticket_id);
    const locked = await lockTask(tx, task.id);
    // Somebody cancelled it, or the claim was stale and another has it.
    const isMine =
      locked.claimed_by === deps.instance && locked.status === (kind === "work" ? "claiming" : "validating");
    if (!isMine) return undefined;
    // Between the claim and this moment somebody ended or blocked the ticket.
    if (kind === "work" && (isTicketOver(ticket) || ticket.is_blocked)) {
      const why = { on: "released", reason: "the ticket is over or blocked", patch: { claimed_by: null } } as const;
      await append((await moveTask(tx, deps, locked, why)).drafts);
      return "held";
    }
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
  if (made === "held") {
    await refreshAround(deps, [task.id]);
    await endStranded(deps, task.ticket_id);
    return false;
  }
  if (last !== undefined) afterStop(deps);
  // Where a provider makes the sandbox this is a step of making it.
  if (made?.provider === "external" && resumes !== null) await prepareResume(deps, made, signal);
  return made !== undefined;
}

const BROKE_SECONDS = 30;
const MUTE_SECONDS = 5;

/** How long a task waits for what passes by itself; nothing is held against it. Undefined: the spawn has failed. */
function toRest(error: unknown): number | undefined {
  if (!(error instanceof AppError)) return undefined;
  // The ticket is blocked by now, or waits for a merge: that frees it.
  if (error.code === "git.conflict") return 0;
  if (error.code === "git.unavailable") return error.retryAfterSeconds ?? REST_SECONDS;
  // Until somebody raises the budget.
  return error.code === "budget.exceeded" ? BROKE_SECONDS : undefined;
}

/** A spawn that fails is a failed try; a validator's goes back to wait for another, as often as a validator may fail. */
async function giveBack(deps: Deps, order: Order, error: unknown, signal: AbortSignal): Promise<void> {
  const detail = error instanceof AppError ? error.message : String(error);
  deps.log.warn("task.spawn_failed", { task: order.task.id, reason: detail });
  const claimed = order.kind === "work" ? "claiming" : "validating";
  const isMine = (row: TaskRow) => row.claimed_by === deps.instance && row.status === claimed;
  // A server that stops takes nothing with it: another one starts the task.
  const rest = signal.aborted ? 0 : toRest(error);
  if (rest !== undefined) {
    const notBefore = rest === 0 ? null : new Date(deps.clock.now().getTime() + rest * 1_000);
    const reason = signal.aborted ? "the server stops" : detail;
    const release = { on: "released", reason, patch: { claimed_by: null, not_before: notBefore } } as const;
    await changeTask(deps, order.task.id, (row) => (isMine(row) ? release : undefined));
    return;
  }
  await writeWithEvents(deps, async (tx, append) => {
    const row = await lockTask(tx, order.task.id);
    if (!isMine(row)) return;
    const reason = `Sandbox spawn failed: ${detail}`;
    const moved =
      order.kind === "work"
        ? await failWork(tx, deps, row, undefined, { error: reason, outcome: "failed" })
        : await awaitValidator(tx, deps, row, reason, MUTE_SECONDS);
    await append(moved.drafts);
  });
  await refreshAround(deps, [order.task.id]);
}

async function start(deps: Deps, id: TaskId, kind: "work" | "validation", signal: AbortSignal): Promise<boolean> {
  const task = await loadTask.one(deps.db, id);
  const order: Order = {
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

/** As many at once as are allowed. A start that waits for somebody else, such as a Git host, is no longer counted after a while. */
export async function dispatchTasksOnce(deps: Deps, signal: AbortSignal): Promise<{ started: number }> {
  let started = 0;
  const starts = openApart(deps.clock, (task, error) =>
    deps.log.warn("task.start_failed", { task, reason: String(error) }),
  );
  // A continuation knows what came before it when it begins.
  await joinTasksOnce(deps);
  for (;;) {
    const room = deps.config.maxParallelSpawns;
    // The order is exact at this moment only where everybody stands in the lane of this moment.
    await ripenTasks(deps);
    const toValidate = deps.config.taskValidationEnabled ? await claimForValidation(deps, room) : [];
    const ready = await claimReady(deps, room);
    const begin = (kind: Order["kind"]) => (id: TaskId) =>
      starts.start(id, async () => {
        if (!(await start(deps, id, kind, signal))) return;
        started += 1;
        deps.wake("provision-sandboxes");
      });
    toValidate.forEach(begin("validation"));
    ready.forEach(begin("work"));
    const isIdle = await starts.wait(signal);
    // More may be ready than one round takes.
    if (signal.aborted || (isIdle && ready.length + toValidate.length < room)) return { started };
  }
}
