/** Splits and syncs: several tasks beside each other, and the point that enough of them have reached. */
import { AppError, type NewSplit, type NewSync, type Split, type Sync, type TaskId } from "@drover/contract";
import { loadProject } from "../store/projects.ts";
import { endSync, insertSync, listEndedSyncs, loadSync, type SyncRow } from "../store/syncs.ts";
import { insertEdges, listTasksAmong, loadTask, lockEdges } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { draftTaskEvent, lockTask } from "./change-task.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { insertOneTask, requireTasks } from "./create-task.ts";
import { requireNoCircle } from "./find-circle.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { toTask } from "./view-task.ts";

const BATCH = 100;

export async function splitTask(
  deps: Deps,
  actor: Person,
  id: TaskId,
  input: NewSplit,
  key: RequestKey | undefined,
): Promise<Split> {
  const continuation = input.continuation_task_id;
  const made = await createOnce(deps, key, async (tx, append) => {
    const source = await loadTask.maybe(tx, id);
    if (source === undefined) throw new AppError("task.not_found");
    await lockEdges(tx, source.project_id);
    const ticket = await loadTicket.one(tx, source.ticket_id);
    const { settings } = await loadProject.one(tx, source.project_id);
    const order = { ticket, settings, createdBy: actor.tokenId, discoveredBy: null, source: "user" } as const;
    const rows = [];
    const drafts: EventDraft[] = [];
    for (const task of input.tasks) {
      const { row, draft } = await insertOneTask(tx, deps, order, {
        ...task,
        max_retries: 3,
        parent_task_id: id,
        dependencies: { depends_on: [id] },
      });
      rows.push(row);
      drafts.push(draft);
    }
    const ids = rows.map((row) => row.id);
    if (continuation !== undefined) {
      await requireTasks(tx, source.project_id, [continuation]);
      const locked = await lockTask(tx, continuation);
      if (locked.status !== "pending" && locked.status !== "blocked")
        throw new AppError("task.illegal_transition", `a task that is ${locked.status} waits for nothing any more`);
      await requireNoCircle(tx, continuation, ids);
      await insertEdges(tx, continuation, ids);
      const told = { added: ids, depends_on: [...locked.depends_on, ...ids] };
      drafts.push(draftTaskEvent(deps, locked, "TASK_DEPENDENCY_UPDATED", told, "user"));
    }
    const data = { source_task_id: id, task_ids: ids, continuation_task_id: continuation ?? null };
    const told = draftTaskEvent(deps, source, "coordination.split.created", data, "user");
    await append([...drafts, told]);
    return { source_task_id: id, tasks: rows.map((row) => toTask(deps, row)) };
  });
  await refreshAround(deps, [
    id,
    ...made.tasks.map((task) => task.id),
    ...(continuation === undefined ? [] : [continuation]),
  ]);
  return made;
}

const toSync = (row: SyncRow): Sync => ({
  sync_id: row.id,
  task_ids: row.task_ids,
  required_count: row.required_count,
  completed_count: row.completed_count,
  status: row.status,
  deadline_at: row.deadline_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
  ended_at: row.ended_at?.toISOString() ?? null,
});

export async function createSync(
  deps: Deps,
  actor: Person,
  input: NewSync,
  key: RequestKey | undefined,
): Promise<Sync> {
  const ids = [...new Set(input.task_ids)];
  const required = input.required_count ?? ids.length;
  if (required > ids.length)
    throw new AppError("request.invalid", `only ${ids.length} tasks are named, so ${required} can never be completed`);
  const made = await createOnce(deps, key, async (tx) => {
    const [first] = await listTasksAmong(tx, ids.slice(0, 1));
    const mine = actor.grant.projectId;
    if (first === undefined || (mine !== null && mine !== first.project_id)) throw new AppError("task.not_found");
    await requireTasks(tx, first.project_id, ids);
    const row = await insertSync.one(tx, {
      id: deps.ids.sync(),
      project_id: first.project_id,
      task_ids: ids,
      required_count: required,
      deadline_at:
        input.timeout_seconds === undefined
          ? null
          : new Date(deps.clock.now().getTime() + input.timeout_seconds * 1_000),
    });
    return toSync(row);
  });
  deps.wake("join-tasks");
  return made;
}

export async function getSync(deps: Deps, actor: Person, id: string): Promise<Sync> {
  const row = await loadSync.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (row === undefined || (mine !== null && mine !== row.project_id)) throw new AppError("sync.not_found");
  return toSync(row);
}

/** Told once, whoever looks. */
export async function endSyncs(deps: Deps): Promise<void> {
  for (const { id } of await listEndedSyncs(deps.db, BATCH))
    await writeWithEvents(deps, async (tx, append) => {
      const row = await endSync.maybe(tx, id);
      if (row === undefined) return;
      const { sync_id, task_ids, required_count, completed_count, status } = toSync(row);
      const data = { sync_id, task_ids, required_count, completed_count };
      const entity = { type: "sync", id, projectId: row.project_id };
      await append([draftEvent(deps.ids, entity, { eventType: `coordination.sync.${status}`, data })]);
    });
}
