/** An agent found more to do: noted, and made into tasks of its ticket, within a limit. */
import {
  AppError,
  type Discovery,
  type NewDiscovery,
  type Priority,
  type ProjectId,
  type TaskId,
} from "@drover/contract";
import {
  countDiscovered,
  insertDiscovery,
  listDiscoveries,
  listDiscoveriesOf,
  loadDiscoveryProject,
  type DiscoveryRow,
} from "../store/discoveries.ts";
import { loadProject } from "../store/projects.ts";
import { loadAttemptOfSandbox } from "../store/task-attempts.ts";
import { insertEdges, loadTask, lockEdges, lockTasks } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { insertOneTask, requireTasks } from "./create-task.ts";
import { requireNoCircle } from "./find-circle.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { loadForWorker } from "./current-worker.ts";
import { refuseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, type EventDraft } from "./event-log.ts";
import type { WorkerIdentity } from "./ingest-events.ts";
import { refreshAround } from "./requeue-tasks.ts";

const toDiscovery = (row: DiscoveryRow): Discovery => ({ ...row, discovered_at: row.discovered_at.toISOString() });

const BOOSTED: Readonly<Record<Priority, Priority>> = {
  LOW: "MEDIUM",
  MEDIUM: "HIGH",
  HIGH: "CRITICAL",
  CRITICAL: "CRITICAL",
};

const LIST_LIMIT = 1_000;

export const listTaskDiscoveries = async (deps: Deps, id: TaskId) => ({
  items: (await listDiscoveriesOf(deps.db, { taskId: id }, LIST_LIMIT)).map(toDiscovery),
});

interface DiscoveryQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly project_id?: ProjectId | undefined;
  readonly discovery_type?: string | undefined;
}

export async function pageDiscoveries(deps: Deps, actor: Person, query: DiscoveryQuery) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  if (query.cursor !== undefined) {
    const found = await loadDiscoveryProject.maybe(deps.db, query.cursor);
    if (found === undefined || (mine !== null && mine !== found.project_id)) throw refuseCursor();
  }
  const rows = await listDiscoveries(deps.db, {
    projectId: query.project_id ?? mine,
    type: query.discovery_type,
    before: query.cursor,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return { items: items.map(toDiscovery), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

/** Identity comes from the token: the ticket is that of the task which this very sandbox works on. */
export async function reportDiscovery(
  deps: Deps,
  worker: WorkerIdentity,
  input: NewDiscovery,
  key: RequestKey | undefined,
): Promise<Discovery> {
  const sandbox = await loadForWorker(deps.db, worker);
  const attempt = await loadAttemptOfSandbox.maybe(deps.db, sandbox.id);
  if (attempt === undefined) throw new AppError("task.not_yours", "the sandbox works on no task");
  const made = await createOnce(deps, key, async (tx, append) => {
    const source = await loadTask.one(tx, attempt.task_id);
    const ticket = await loadTicket.one(tx, source.ticket_id);
    await lockEdges(tx, source.project_id);
    const { count } = await countDiscovered.one(tx, ticket.id);
    if (count + input.tasks.length > deps.config.maxDiscoveredTasks)
      throw new AppError("task.limit_reached", `agents may add ${deps.config.maxDiscoveredTasks} tasks to a ticket`);
    const { settings } = await loadProject.one(tx, ticket.project_id);
    const order = { ticket, settings, createdBy: sandbox.id, discoveredBy: source.id, source: "server" } as const;
    const ids: TaskId[] = [];
    const drafts: EventDraft[] = [];
    for (const { after, blocks, ...fields } of input.tasks) {
      const dependsOn = after.flatMap((position) => ids[position] ?? []);
      if (dependsOn.length < after.length)
        throw new AppError("request.invalid", "`after` names positions of earlier tasks in the list");
      const { row, draft } = await insertOneTask(tx, deps, order, {
        ...fields,
        priority: input.priority_boost ? BOOSTED[fields.priority] : fields.priority,
        parent_task_id: source.id,
        max_retries: 3,
        dependencies: { depends_on: dependsOn },
        // What the implementer of the source runs as, its discoveries run as too, except for its own script.
        execution_config: source.execution_config["force_execute"] === true ? { force_execute: true } : {},
      });
      ids.push(row.id);
      drafts.push(draft);
      const held = await requireTasks(tx, source.project_id, blocks);
      for (const other of held) {
        if (other.ticket_id !== ticket.id || other.status !== "pending")
          throw new AppError("task.illegal_transition", "only pending tasks of the same ticket can wait for more");
        await lockTasks(tx, [other.id]);
        await requireNoCircle(tx, other.id, [row.id]);
        await insertEdges(tx, other.id, [row.id]);
      }
    }
    const row = await insertDiscovery.one(tx, {
      id: deps.ids.discovery(),
      source_task_id: source.id,
      ticket_id: ticket.id,
      discovery_type: input.discovery_type,
      description: input.description,
      spawned_task_ids: ids,
      priority_boost: input.priority_boost,
    });
    const told = draftEvent(
      deps.ids,
      { type: "discovery", id: row.id, projectId: source.project_id },
      {
        eventType: "DISCOVERY_REPORTED",
        data: {
          source_task_id: source.id,
          ticket_id: ticket.id,
          discovery_type: input.discovery_type,
          spawned_task_ids: ids,
          sandbox_id: sandbox.id,
        },
      },
    );
    await append([told, ...drafts]);
    return toDiscovery(row);
  });
  await refreshAround(deps, made.spawned_task_ids);
  return made;
}
