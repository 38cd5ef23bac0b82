/** Finds tickets that are stuck, says why, and makes one task that is to set them going again: within limits that hold for ever. */
import { randomBytes } from "node:crypto";
import {
  classifyErrors,
  decideStuck,
  diagnose,
  toRecovery,
  type DiagnosticLimits,
  type StuckVerdict,
} from "@drover/core";
import { AppError, type DiagnosticRun, type DiagnosticRunId, type StuckTicket, type TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import {
  claimEndedRuns,
  insertRun,
  listFailed,
  listMotionless,
  listRuns,
  listStands,
  loadRun,
  type RunRow,
  type StandRow,
} from "../store/diagnostics.ts";
import { insertDiscovery } from "../store/discoveries.ts";
import { loadProject } from "../store/projects.ts";
import { lockEdges } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { insertOneTask } from "./create-task.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type Append } from "./event-log.ts";
import { changeTicket, draftTicketEvent } from "./manage-tickets.ts";
import { refreshAround } from "./requeue-tasks.ts";

const BATCH = 100;
const MOST = 500;
const FAILED = 15;
const MOTIONLESS_MS = 30 * 60_000;
const TITLE_CHARACTERS = 200;
const toLimits = ({ config }: Deps): DiagnosticLimits => ({
  coolDownMs: config.diagnosticCoolDownSeconds * 1_000,
  stuckMs: config.diagnosticStuckSeconds * 1_000,
  mostFailedRuns: config.diagnosticMaxFailures,
  mostRuns: config.diagnosticMaxRuns,
});

const judge = (deps: Deps, row: StandRow): StuckVerdict =>
  decideStuck(
    {
      isDone: row.is_done,
      isHeld: row.is_held,
      tasks: row.tasks,
      active: row.active,
      completed: row.completed,
      failed: row.failed,
      lastEndedMs: row.last_ended_at?.getTime() ?? null,
      runs: row.runs,
      lastRunMs: row.last_run_at?.getTime() ?? null,
      failedRuns: row.failed_runs,
      isRecoveredInVain: row.recovered,
    },
    toLimits(deps),
    deps.clock.now().getTime(),
  );

const toIdle = (deps: Deps, { last_ended_at: at }: StandRow): number | null =>
  at === null ? null : Math.max(0, (deps.clock.now().getTime() - at.getTime()) / 1_000);

/** One without a task has found something out, and that is all it was for. */
const isWell = ({ task_id, task_status }: RunRow): boolean => task_id === null || task_status === "completed";

const toRun = (row: RunRow): DiagnosticRun => ({
  id: row.id,
  workflow_id: row.ticket_id,
  ticket_id: row.ticket_id,
  project_id: row.project_id,
  trigger: row.trigger,
  sandbox_id: row.sandbox_id,
  status: row.ended_at === null ? "running" : isWell(row) ? "completed" : "failed",
  total_tasks_at_trigger: row.total_tasks,
  done_tasks_at_trigger: row.done_tasks,
  failed_tasks_at_trigger: row.failed_tasks,
  time_since_last_task_seconds: row.idle_seconds,
  diagnosis: row.diagnosis,
  diagnostic_task_id: row.task_id,
  tasks_created_ids: row.task_id === null ? [] : [row.task_id],
  triggered_at: row.created_at.toISOString(),
  completed_at: row.ended_at?.toISOString() ?? null,
});

export const draftRunEvent = (deps: Deps, row: RunRow, eventType: "diagnostic.triggered" | "diagnostic.completed") =>
  draftEvent(
    deps.ids,
    row.ticket_id === null
      ? { type: "diagnostic_run", id: row.id, projectId: row.project_id }
      : { type: "ticket", id: row.ticket_id, projectId: row.project_id },
    {
      eventType,
      data: {
        run_id: row.id,
        workflow_id: row.ticket_id,
        ticket_id: row.ticket_id,
        sandbox_id: row.sandbox_id,
        task_id: row.task_id,
        root_cause: row.diagnosis.root_cause,
        trigger: row.trigger,
        ...(eventType === "diagnostic.completed" ? { status: toRun(row).status } : {}),
      },
    },
  );

/** The diagnosis, its discovery and its one task, in one transaction that holds the project's edges: two who look make one. */
async function helpOnce(
  tx: Db,
  append: Append,
  deps: Deps,
  ticketId: TicketId,
  by: { readonly trigger: "automatic" | "manual"; readonly createdBy: string },
): Promise<RunRow | undefined> {
  const ticket = await loadTicket.one(tx, ticketId);
  await lockEdges(tx, ticket.project_id);
  const [stand] = await listStands(tx, { projectId: null, ticketId, limit: 1 });
  const failed = await listFailed(tx, ticketId, FAILED);
  const [source] = failed;
  if (stand === undefined || source === undefined || stand.active > 0) return undefined;
  if (by.trigger === "automatic" && judge(deps, stand) !== "stuck") return undefined;
  const diagnosis = diagnose(failed);
  const { settings } = await loadProject.one(tx, ticket.project_id);
  const { row: task, draft } = await insertOneTask(
    tx,
    deps,
    { ticket, settings, createdBy: by.createdBy, discoveredBy: source.id, source: "server" },
    {
      title: `Set going again: ${ticket.title}`.slice(0, TITLE_CHARACTERS),
      description: toRecovery(ticket.title, diagnosis),
      task_type: "diagnostic",
      priority: "HIGH",
      phase_id: source.phase_id,
      parent_task_id: source.id,
      owned_files: [],
      max_retries: 0,
      dependencies: { depends_on: [] },
    },
  );
  await insertDiscovery.one(tx, {
    id: deps.ids.discovery(),
    source_task_id: source.id,
    ticket_id: ticketId,
    discovery_type: "diagnostic_no_result",
    description: diagnosis.root_cause,
    spawned_task_ids: [task.id],
    priority_boost: true,
  });
  const id = `dia-${randomBytes(6).toString("hex")}` as DiagnosticRunId;
  await insertRun(tx, {
    id,
    ticketId,
    sandboxId: null,
    projectId: ticket.project_id,
    trigger: by.trigger,
    tasks: stand.tasks,
    completed: stand.completed,
    failed: failed.length,
    idleSeconds: toIdle(deps, stand),
    diagnosis,
    taskId: task.id,
  });
  const run = await loadRun.one(tx, id);
  await append([draft, draftRunEvent(deps, run, "diagnostic.triggered")]);
  return run;
}

/** That a recovery is over is told once, by whoever sees it first. */
async function tellEnded(deps: Deps): Promise<void> {
  await writeWithEvents(deps, async (tx, append) => {
    const ids = (await claimEndedRuns(tx, BATCH)).map(({ id }) => id);
    const rows = await Promise.all(ids.map((id) => loadRun.one(tx, id)));
    await append(rows.map((row) => draftRunEvent(deps, row, "diagnostic.completed")));
  });
}

export async function diagnoseTicketsOnce(deps: Deps): Promise<{ helped: number }> {
  if (!deps.config.diagnosticEnabled) return { helped: 0 };
  const stands = await listStands(deps.db, { projectId: null, ticketId: null, limit: BATCH });
  let helped = 0;
  for (const stand of stands) {
    // Where nobody starts tasks by themselves a new one would only wait too.
    if (!stand.is_autonomous || judge(deps, stand) !== "stuck") continue;
    const by = { trigger: "automatic", createdBy: "diagnostics" } as const;
    const run = await writeWithEvents(deps, (tx, append) => helpOnce(tx, append, deps, stand.id, by));
    if (run === undefined) continue;
    helped += 1;
    if (run.task_id !== null) await refreshAround(deps, [run.task_id]);
  }
  await tellEnded(deps);
  return { helped };
}

export async function triggerDiagnosis(
  deps: Deps,
  actor: Person,
  ticketId: TicketId,
  key: RequestKey | undefined,
): Promise<DiagnosticRun> {
  const made = await createOnce(deps, key, async (tx, append) => {
    const run = await helpOnce(tx, append, deps, ticketId, { trigger: "manual", createdBy: actor.tokenId });
    if (run === undefined)
      throw new AppError(
        "ticket.illegal_transition",
        "nothing of the ticket has failed, or something of it still runs or waits",
      );
    return toRun(run);
  });
  if (made.diagnostic_task_id !== null) await refreshAround(deps, [made.diagnostic_task_id]);
  return made;
}

export async function readStuck(deps: Deps, actor: Person): Promise<{ items: StuckTicket[]; next_cursor: null }> {
  const rows = await listStands(deps.db, { projectId: actor.grant.projectId, ticketId: null, limit: MOST });
  const items = rows.flatMap((row) => {
    const verdict = judge(deps, row);
    if (verdict === "not_stuck") return [];
    return {
      ticket_id: row.id,
      project_id: row.project_id,
      title: row.title,
      total_tasks: row.tasks,
      done_tasks: row.completed,
      failed_tasks: row.failed,
      seconds_since_last_task: toIdle(deps, row),
      diagnostic_runs: row.runs,
      verdict,
    };
  });
  return { items, next_cursor: null };
}

export async function getRun(deps: Deps, actor: Person, id: DiagnosticRunId): Promise<DiagnosticRun> {
  const row = await loadRun.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (row === undefined || (mine !== null && row.project_id !== mine)) throw new AppError("diagnostic.not_found");
  return toRun(row);
}

export async function pageRuns(
  deps: Deps,
  actor: Person,
  query: { limit: number; cursor?: string | undefined; ticket_id?: TicketId | undefined },
) {
  const rows = await listRuns(deps.db, {
    projectId: actor.grant.projectId,
    ticketId: query.ticket_id,
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toRun);
}

/** A ticket under way that nothing moves any more is marked, with what its errors speak of, so that a person looks at it. */
export async function detectBlockingOnce(deps: Deps): Promise<{ blocked: number }> {
  const before = new Date(deps.clock.now().getTime() - MOTIONLESS_MS);
  const found = await listMotionless(deps.db, before, BATCH);
  for (const { id, errors } of found) {
    const reason = classifyErrors(errors);
    await changeTicket(deps, id, undefined, async (row, tx) => {
      const isStill = (await listMotionless(tx, before, MOST)).some((one) => one.id === id);
      if (row.is_blocked || !isStill) return undefined;
      const patch = { is_blocked: true, blocked_reason: reason, blocked_at: deps.clock.now() };
      const data = { reason, detected: true };
      return { patch, drafts: [draftTicketEvent(deps, { ...row, ...patch }, "TICKET_BLOCKED", data, "server")] };
    });
  }
  return { blocked: found.length };
}
