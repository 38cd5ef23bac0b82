/** Phases of a ticket: whether one is done, what one begins with, and what stands in the ticket's way. */
import {
  AppError,
  PHASES,
  type NewTask,
  type PhaseCompletion,
  type PhaseId,
  type Task,
  type TicketBlocking,
  type TicketId,
} from "@drover/contract";
import { loadProject } from "../store/projects.ts";
import { listTicketTasks, lockEdges } from "../store/tasks.ts";
import { loadTicket, type TicketRow } from "../store/tickets.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { insertOneTask, requireOpen } from "./create-task.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { toTask } from "./view-task.ts";

const TASKS_LIMIT = 10_000;

/** What a phase begins with. Nothing begins in the backlog, and nothing after the end. */
const FIRST: Partial<Record<PhaseId, { readonly task_type: string; readonly verb: string; readonly reads?: true }>> = {
  PHASE_REQUIREMENTS: { task_type: "analyze_requirements", verb: "Analyse", reads: true },
  PHASE_DESIGN: { task_type: "create_design", verb: "Design", reads: true },
  PHASE_IMPLEMENTATION: { task_type: "implement_feature", verb: "Implement" },
  PHASE_TESTING: { task_type: "run_tests", verb: "Test" },
  PHASE_DEPLOYMENT: { task_type: "deploy", verb: "Deploy" },
};

async function requireTicket(deps: Deps, id: TicketId): Promise<TicketRow> {
  const ticket = await loadTicket.maybe(deps.db, id);
  if (ticket === undefined) throw new AppError("ticket.not_found");
  return ticket;
}

export async function checkPhase(deps: Deps, id: TicketId, named: PhaseId | undefined): Promise<PhaseCompletion> {
  const ticket = await requireTicket(deps, id);
  const phase = named ?? ticket.phase_id;
  const tasks = (await listTicketTasks(deps.db, id, TASKS_LIMIT)).filter((task) => task.phase_id === phase);
  const wanted = tasks.filter((task) => task.status !== "cancelled");
  const open = wanted.filter((task) => task.status !== "completed");
  return {
    ticket_id: id,
    phase_id: phase,
    is_complete: wanted.length > 0 && open.length === 0,
    total_tasks: tasks.length,
    completed_tasks: wanted.length - open.length,
    open_task_ids: open.map((task) => task.id),
    next_phase_id: PHASES[PHASES.indexOf(phase) + 1] ?? null,
  };
}

/** Asked for again it makes nothing more: a phase that has tasks is left to them. */
export async function spawnPhaseTasks(
  deps: Deps,
  actor: Person,
  id: TicketId,
  named: PhaseId | undefined,
  key: RequestKey | undefined,
): Promise<{ ticket_id: TicketId; phase_id: PhaseId; tasks: Task[] }> {
  const phase = named ?? (await requireTicket(deps, id)).phase_id;
  const first = FIRST[phase];
  if (first === undefined) throw new AppError("ticket.illegal_transition", `nothing begins in ${phase}`);
  const made = await createOnce(deps, key, async (tx, append) => {
    const ticket = await loadTicket.one(tx, id);
    requireOpen(ticket);
    await lockEdges(tx, ticket.project_id);
    const known = (await listTicketTasks(tx, id, TASKS_LIMIT)).filter((task) => task.phase_id === phase);
    if (known.length > 0) return { ticket_id: id, phase_id: phase, tasks: [] };
    const { settings } = await loadProject.one(tx, ticket.project_id);
    const order = { ticket, settings, createdBy: actor.tokenId, discoveredBy: null, source: "user" } as const;
    const input: Omit<NewTask, "ticket_id"> = {
      title: `${first.verb}: ${ticket.title}`.slice(0, 500),
      ...(ticket.description === null ? {} : { description: ticket.description }),
      task_type: first.task_type,
      priority: ticket.priority,
      phase_id: phase,
      owned_files: [],
      max_retries: 3,
      execution_config: { execution_mode: first.reads === true ? "exploration" : "implementation" },
    };
    const { row, draft } = await insertOneTask(tx, deps, order, input);
    await append([draft]);
    return { ticket_id: id, phase_id: phase, tasks: [toTask(deps, row)] };
  });
  await refreshAround(
    deps,
    made.tasks.map((task) => task.id),
  );
  return made;
}

const STUCK: ReadonlySet<string> = new Set(["failed", "blocked", "skipped"]);

export async function detectBlocking(deps: Deps, id: TicketId): Promise<TicketBlocking> {
  const ticket = await requireTicket(deps, id);
  const project = await loadProject.one(deps.db, ticket.project_id);
  const before = await Promise.all(ticket.blocked_by.map((one) => loadTicket.one(deps.db, one)));
  const tasks = await listTicketTasks(deps.db, id, TASKS_LIMIT);
  const { blocked_cause: cause } = ticket.context;
  const reasons: TicketBlocking["reasons"] = [
    ...(ticket.is_blocked
      ? [{ kind: "flag" as const, id: null, detail: typeof cause === "string" ? cause : (ticket.blocked_reason ?? "") }]
      : []),
    ...(ticket.approval_status === "approved"
      ? []
      : [{ kind: "approval" as const, id: null, detail: `the ticket is ${ticket.approval_status}` }]),
    ...(project.status === "active"
      ? []
      : [{ kind: "project" as const, id: project.id, detail: `the project is ${project.status}` }]),
    ...before
      .filter((one) => one.status !== "done")
      .map((one) => ({ kind: "ticket" as const, id: one.id, detail: `ticket ${one.id} is ${one.status}` })),
    ...tasks
      .filter((task) => STUCK.has(task.status))
      .map((task) => ({
        kind: "task" as const,
        id: task.id,
        detail: `${task.title} is ${task.status}: ${task.error_message ?? task.status_reason ?? "nobody knows why"}`,
      })),
  ];
  return { ticket_id: id, is_blocked: reasons.length > 0, reasons };
}
