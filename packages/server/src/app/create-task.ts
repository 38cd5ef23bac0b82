/** Makes a task of a ticket. What it waits for exists, and nothing waits in a circle. */
import { isTicketOver, toScoreWeights, toTaskTitle } from "@drover/core";
import { AppError, type JsonObject, type NewTask, type ProjectSettings, type Task } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { loadProject } from "../store/projects.ts";
import { refreshTasks } from "../store/task-queue.ts";
import { insertEdges, insertTask, listTasksAmong, loadTask, lockEdges, type TaskRow } from "../store/tasks.ts";
import { loadTicket, type TicketRow } from "../store/tickets.ts";
import { draftTaskEvent } from "./change-task.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import type { EventDraft } from "./event-log.ts";
import { requireNoCircle } from "./find-circle.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { toTask } from "./view-task.ts";

const FRONT_END = ["vite", "next", "react", "vue", "frontend", "front-end", "preview", "ui", "web", "css", "html"];

/** What a text says an agent must be able to do. */
function inferCapabilities(text: string): readonly string[] {
  const words = new Set(text.toLowerCase().split(/[^a-z-]+/));
  return FRONT_END.some((word) => words.has(word)) ? ["frontend"] : [];
}

/** The ticket, if the caller may see it. */
async function requireTicket(db: Db, actor: Person, id: string): Promise<TicketRow> {
  const ticket = await loadTicket.maybe(db, id);
  if (ticket === undefined || (actor.grant.projectId !== null && actor.grant.projectId !== ticket.project_id))
    throw new AppError("ticket.not_found");
  return ticket;
}

/** Work that is added to a ticket which is over would never be begun, or never be merged. */
export function requireOpen(ticket: TicketRow): void {
  if (isTicketOver(ticket))
    throw new AppError(
      "ticket.illegal_transition",
      `the ticket is ${ticket.status === "done" ? ticket.status : ticket.approval_status}`,
    );
}

/** Dependencies lie in the same project: what another project does is none of this one's business. */
export async function requireTasks(db: Db, projectId: string, ids: readonly string[]): Promise<readonly TaskRow[]> {
  const found = await listTasksAmong(db, ids);
  const known = new Set<string>(found.filter((row) => row.project_id === projectId).map((row) => row.id));
  const missing = ids.find((id) => !known.has(id));
  if (missing !== undefined) throw new AppError("task.not_found", `there is no task ${missing} to depend on`);
  return found;
}

export interface TaskOrder {
  readonly ticket: TicketRow;
  readonly settings: ProjectSettings;
  readonly createdBy: string;
  readonly discoveredBy: string | null;
  readonly source: "user" | "server";
}

/** Stores a task inside a transaction that holds the lock of the project's edges. */
export async function insertOneTask(
  tx: Db,
  deps: Pick<Deps, "ids" | "clock" | "config">,
  order: TaskOrder,
  input: Omit<NewTask, "ticket_id">,
): Promise<{ readonly row: TaskRow; readonly draft: EventDraft }> {
  const { ticket, settings } = order;
  requireOpen(ticket);
  const dependsOn = [...new Set(input.dependencies?.depends_on ?? [])];
  const id = deps.ids.task();
  await requireTasks(tx, ticket.project_id, [
    ...dependsOn,
    ...(input.parent_task_id === undefined ? [] : [input.parent_task_id]),
  ]);
  await insertTask(tx, {
    id,
    project_id: ticket.project_id,
    ticket_id: ticket.id,
    parent_task_id: input.parent_task_id ?? null,
    phase_id: input.phase_id,
    task_type: input.task_type,
    title: input.title ?? toTaskTitle({ task_type: input.task_type, description: input.description ?? null }),
    description: input.description ?? null,
    priority: input.priority,
    owned_files: input.owned_files,
    required_capabilities:
      input.required_capabilities ?? inferCapabilities(`${input.title ?? ""} ${input.description ?? ""}`),
    execution_config: JSON.parse(JSON.stringify(input.execution_config ?? {})) as JsonObject,
    max_retries: input.max_retries,
    timeout_seconds: input.timeout_seconds ?? settings.task_timeout_seconds ?? null,
    deadline_at: input.deadline_at === undefined ? null : new Date(input.deadline_at),
    estimated_seconds: input.estimated_seconds ?? null,
    validation_enabled: input.validation_enabled ?? settings.validation_enabled ?? false,
    discovered_by: order.discoveredBy,
    created_by: order.createdBy,
  });
  await insertEdges(tx, id, dependsOn);
  // Nothing depends on it yet, but a ticket is over only when its tasks are, and others may wait for the ticket.
  if (dependsOn.length > 0) await requireNoCircle(tx, id);
  // Nobody else knows the row yet, so it may be put at its place here.
  await refreshTasks(tx, toScoreWeights(deps.config), [id]);
  const row = await loadTask.one(tx, id);
  return { row, draft: draftTaskEvent(deps, row, "TASK_CREATED", {}, order.source) };
}

export async function createTask(
  deps: Deps,
  actor: Person,
  input: NewTask,
  key: RequestKey | undefined,
): Promise<Task> {
  const created = await createOnce(deps, key, async (tx, append) => {
    const ticket = await requireTicket(tx, actor, input.ticket_id);
    await lockEdges(tx, ticket.project_id);
    const { settings } = await loadProject.one(tx, ticket.project_id);
    const order = { ticket, settings, createdBy: actor.tokenId, discoveredBy: null, source: "user" } as const;
    const { row, draft } = await insertOneTask(tx, deps, order, input);
    await append([draft]);
    return toTask(deps, row);
  });
  await refreshAround(deps, [created.id]);
  return created;
}
