/** The graph of a ticket's or a project's work: what waits for what, what decides the end, who is in whose way. */
import { findOverlap, planTasks, toWaves, type Timed } from "@drover/core";
import {
  AppError,
  ENDED_TASK_STATES,
  type Forecast,
  type Graph,
  type GraphEdge,
  type GraphNode,
  type Overlap,
  type ProjectId,
  type TaskId,
  type TicketId,
} from "@drover/contract";
import { listDiscoveriesOf, type DiscoveryRow } from "../store/discoveries.ts";
import { loadTypicalSeconds } from "../store/task-attempts.ts";
import { listDependents, listProjectTasks, listTasksAmong, listTicketTasks, type TaskRow } from "../store/tasks.ts";
import { listTickets, loadTicket, type TicketRow } from "../store/tickets.ts";
import type { Deps } from "./deps.ts";
import { requireTask } from "./manage-tasks.ts";

const LIMIT = 5_000;
const DEFAULT_SECONDS = 600;

export interface Inclusion {
  readonly include_resolved: boolean;
  readonly include_discoveries: boolean;
}

/** Observed where it is over, else estimated, else what tasks of this kind usually take. */
async function toTimed(deps: Deps, tasks: readonly TaskRow[]): Promise<readonly Timed<TaskId>[]> {
  const usual = new Map((await loadTypicalSeconds(deps.db)).map((one) => [one.task_type, one.seconds]));
  return tasks.map((task) => ({
    id: task.id,
    dependsOn: task.depends_on,
    seconds:
      task.started_at !== null && task.completed_at !== null
        ? (task.completed_at.getTime() - task.started_at.getTime()) / 1_000
        : (task.estimated_seconds ?? usual.get(task.task_type) ?? DEFAULT_SECONDS),
  }));
}

/** Pairs of tasks that are not over, of one ticket, that do not wait for each other anyway. */
function listOverlaps(tasks: readonly TaskRow[]): Overlap[] {
  const open = tasks.filter((task) => !ENDED_TASK_STATES.has(task.status) && task.owned_files.length > 0);
  const below = toReach(tasks);
  const overlaps: Overlap[] = [];
  for (const [index, one] of open.entries()) {
    for (const other of open.slice(index + 1)) {
      if (one.ticket_id !== other.ticket_id || below(one.id, other.id) || below(other.id, one.id)) continue;
      const found = findOverlap(one.owned_files, other.owned_files);
      if (found === undefined) continue;
      overlaps.push({ task_ids: [one.id, other.id], patterns: [...found.patterns], example: found.example });
    }
  }
  return overlaps;
}

/** Whether one task waits, over whatever others, for another. */
function toReach(tasks: readonly TaskRow[]): (from: TaskId, to: TaskId) => boolean {
  const edges = new Map(tasks.map((task) => [task.id, task.depends_on]));
  const known = new Map<TaskId, ReadonlySet<TaskId>>();
  const reachOf = (id: TaskId): ReadonlySet<TaskId> => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const reached = new Set<TaskId>(edges.get(id));
    // A set hands out what is added while it is walked.
    for (const one of reached) for (const next of edges.get(one) ?? []) reached.add(next);
    known.set(id, reached);
    return reached;
  };
  return (from, to) => reachOf(from).has(to);
}

const iso = (date: Date | null) => date?.toISOString() ?? null;

const BARE: Pick<
  GraphNode,
  | "task_type"
  | "phase_id"
  | "priority"
  | "assigned_agent_id"
  | "sandbox_id"
  | "started_at"
  | "completed_at"
  | "duration_seconds"
  | "earliest_start"
  | "earliest_finish"
  | "slack_seconds"
  | "is_critical"
  | "blocks_count"
> = {
  task_type: null,
  phase_id: null,
  priority: null,
  assigned_agent_id: null,
  sandbox_id: null,
  started_at: null,
  completed_at: null,
  duration_seconds: null,
  earliest_start: null,
  earliest_finish: null,
  slack_seconds: null,
  is_critical: false,
  blocks_count: 0,
};

const toTicketNode = (ticket: TicketRow, undone: ReadonlySet<TicketId>, taskCount: number): GraphNode => ({
  ...BARE,
  id: `ticket-${ticket.id}`,
  type: "ticket",
  label: ticket.title,
  description: ticket.description,
  status: ticket.status,
  phase_id: ticket.phase_id,
  priority: ticket.priority,
  ticket_id: ticket.id,
  is_blocked: ticket.is_blocked || ticket.blocked_by.some((id) => undone.has(id)),
  blocks_count: ticket.blocks.length,
  created_at: iso(ticket.created_at),
  task_count: taskCount,
  blocked_by: ticket.blocked_by,
});

const toDiscoveryNode = (found: DiscoveryRow): GraphNode => ({
  ...BARE,
  id: found.id.startsWith("discovery-") ? found.id : `discovery-${found.id}`,
  type: "discovery",
  label: found.discovery_type,
  description: found.description,
  status: found.resolution_status,
  ticket_id: found.ticket_id,
  is_blocked: false,
  blocks_count: found.spawned_task_ids.length,
  created_at: iso(found.discovered_at),
  discovery_type: found.discovery_type,
  spawned_count: found.spawned_task_ids.length,
  priority_boost: found.priority_boost,
  discovered_at: found.discovered_at.toISOString(),
});

async function toGraph(
  deps: Deps,
  all: readonly TaskRow[],
  tickets: readonly TicketRow[],
  discoveries: readonly DiscoveryRow[],
  includeResolved: boolean,
): Promise<Graph> {
  const timed = await toTimed(deps, all);
  const plan = planTasks(timed);
  const secondsOf = new Map(timed.map((one) => [one.id, one.seconds]));
  const critical = new Set(plan.path);
  const statusOf = new Map(all.map((task) => [task.id, task.status]));
  const isBlocked = (task: TaskRow) =>
    task.status === "blocked" ||
    (task.status === "pending" && task.depends_on.some((id) => statusOf.get(id) !== "completed"));
  const isResolved = (task: TaskRow) => ENDED_TASK_STATES.has(task.status);
  const shown = includeResolved ? all : all.filter((task) => !isResolved(task));
  const visible = new Set(shown.map((task) => task.id));
  const blocks = Map.groupBy(
    all.flatMap((task) => task.depends_on),
    (id) => id,
  );
  const toNode = (task: TaskRow): GraphNode => {
    const start = plan.earliestStart.get(task.id) ?? null;
    const seconds = secondsOf.get(task.id) ?? null;
    return {
      id: task.id,
      type: "task",
      label: task.title,
      description: task.description,
      status: task.status,
      phase_id: task.phase_id,
      priority: task.priority,
      task_type: task.task_type,
      ticket_id: task.ticket_id,
      is_blocked: isBlocked(task),
      blocks_count: blocks.get(task.id)?.length ?? 0,
      assigned_agent_id: task.sandbox_id,
      sandbox_id: task.sandbox_id,
      created_at: iso(task.created_at),
      started_at: iso(task.started_at),
      completed_at: iso(task.completed_at),
      duration_seconds: seconds,
      earliest_start: start,
      earliest_finish: start === null || seconds === null ? null : start + seconds,
      slack_seconds: plan.slack.get(task.id) ?? null,
      is_critical: critical.has(task.id),
    };
  };
  const edges: GraphEdge[] = [
    ...shown.flatMap((task) => [
      ...task.depends_on
        .filter((id) => visible.has(id))
        .map((id) => ({ source: id, target: task.id, type: "depends_on" as const, label: "depends on" })),
      ...(task.parent_task_id !== null && visible.has(task.parent_task_id)
        ? [{ source: task.parent_task_id, target: task.id, type: "parent_child" as const, label: "parent of" }]
        : []),
    ]),
    ...discoveries.flatMap((found) => [
      {
        source: found.source_task_id,
        target: toDiscoveryNode(found).id,
        type: "spawned_from" as const,
        label: "found",
      },
      ...found.spawned_task_ids
        .filter((id) => visible.has(id))
        .map((id) => ({ source: toDiscoveryNode(found).id, target: id, type: "spawned_from" as const, label: "made" })),
    ]),
    ...tickets.flatMap((ticket) => [
      ...shown
        .filter((task) => task.ticket_id === ticket.id)
        .map((task) => ({
          source: `ticket-${ticket.id}`,
          target: task.id as string,
          type: "ticket_contains" as const,
          label: "contains",
        })),
      ...ticket.blocked_by.map((id) => ({
        source: `ticket-${id}`,
        target: `ticket-${ticket.id}`,
        type: "ticket_blocks" as const,
        label: "blocks",
      })),
    ]),
  ];
  const counts = new Map([...Map.groupBy(all, (task) => task.ticket_id)].map(([id, some]) => [id, some.length]));
  const undone = new Set(tickets.filter((ticket) => ticket.status !== "done").map((ticket) => ticket.id));
  return {
    nodes: [
      ...tickets.map((ticket) => toTicketNode(ticket, undone, counts.get(ticket.id) ?? 0)),
      ...shown.map(toNode),
      ...discoveries.map(toDiscoveryNode),
    ],
    edges,
    metadata: {
      total_tasks: all.length,
      blocked_count: all.filter(isBlocked).length,
      resolved_count: all.filter(isResolved).length,
      total_edges: edges.length,
      critical_path_length: plan.path.length,
      critical_path: [...plan.path],
      critical_path_seconds: plan.totalSeconds,
    },
    overlaps: listOverlaps(all),
  };
}

export async function readTicketGraph(deps: Deps, id: TicketId, query: Inclusion): Promise<Graph> {
  const tasks = await listTicketTasks(deps.db, id, LIMIT);
  const found = query.include_discoveries ? await listDiscoveriesOf(deps.db, { ticketId: id }, LIMIT) : [];
  return toGraph(deps, tasks, [], found, query.include_resolved);
}

export async function readProjectGraph(deps: Deps, id: ProjectId, query: Inclusion): Promise<Graph> {
  const tasks = await listProjectTasks(deps.db, id, LIMIT);
  const filter = { projectId: id, statuses: undefined, approval: undefined, text: undefined, before: undefined };
  const tickets = await listTickets(deps.db, { ...filter, limit: LIMIT });
  const found = query.include_discoveries ? await listDiscoveriesOf(deps.db, { projectId: id }, LIMIT) : [];
  return toGraph(deps, tasks, tickets, found, query.include_resolved);
}

const toRef = ({ id, title, description, status }: TaskRow) => ({ id, title, description, status });

export async function readBlocked(deps: Deps, id: TaskId) {
  await requireTask(deps, id);
  const blocked = await listDependents(deps.db, [id], LIMIT);
  return { task_id: id, blocked_tasks: blocked.map(toRef), blocked_count: blocked.length };
}

export async function readBlocking(deps: Deps, id: TaskId) {
  const row = await requireTask(deps, id);
  const blocking = await listTasksAmong(deps.db, row.depends_on);
  return {
    task_id: id,
    blocking_tasks: blocking.map((one) => ({ ...toRef(one), is_complete: one.status === "completed" })),
    all_dependencies_complete: blocking.every((one) => one.status === "completed"),
  };
}

/** What is left to do, wave by wave: tasks of one wave may run at once. */
export async function readForecast(deps: Deps, id: TicketId): Promise<Forecast> {
  if ((await loadTicket.maybe(deps.db, id)) === undefined) throw new AppError("ticket.not_found");
  const tasks = await listTicketTasks(deps.db, id, LIMIT);
  const open = tasks.filter((task) => !ENDED_TASK_STATES.has(task.status));
  const timed = await toTimed(deps, open);
  const overlaps = listOverlaps(tasks);
  const pairs = new Set(overlaps.flatMap(({ task_ids: [a, b] }) => [`${a} ${b}`, `${b} ${a}`]));
  return {
    ticket_id: id,
    waves: toWaves(timed, (a, b) => pairs.has(`${a} ${b}`)).map((wave) => [...wave]),
    overlaps,
    remaining_seconds: planTasks(timed).totalSeconds,
  };
}
