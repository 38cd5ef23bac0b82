/** What tasks wait for: told, checked and changed by people. */
import { AppError, type TaskDependencies, type TaskId } from "@drover/contract";
import {
  deleteEdges,
  insertEdges,
  listDependents,
  listTasksAmong,
  loadTask,
  lockEdges,
  type TaskRow,
} from "../store/tasks.ts";
import { draftTaskEvent, lockTask } from "./change-task.ts";
import { requireTasks } from "./create-task.ts";
import { findCircle, requireNoCircle } from "./find-circle.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { requireTask } from "./manage-tasks.ts";
import { refreshAround } from "./requeue-tasks.ts";

const BLOCKED_LIMIT = 1_000;

async function toDependencies(deps: Deps, row: TaskRow): Promise<TaskDependencies> {
  const found = await listTasksAmong(deps.db, row.depends_on);
  return {
    task_id: row.id,
    depends_on: row.depends_on,
    dependencies_complete: found.every((one) => one.status === "completed"),
  };
}

export async function getDependencies(deps: Deps, id: TaskId) {
  const row = await requireTask(deps, id);
  const dependents = await listDependents(deps.db, [id], BLOCKED_LIMIT);
  return {
    ...(await toDependencies(deps, row)),
    blocked_tasks: dependents.map((one) => ({ id: one.id, description: one.description, status: one.status })),
  };
}

export async function checkCircular(deps: Deps, id: TaskId, dependsOn: readonly TaskId[]) {
  await requireTask(deps, id);
  const cycle = await findCircle(deps.db, id, dependsOn);
  return { has_circular_dependency: cycle !== undefined, cycle: cycle === undefined ? null : [...cycle] };
}

/** What has begun no longer waits for anything. */
const EDITABLE: ReadonlySet<string> = new Set(["pending", "blocked", "failed", "cancelled", "skipped"]);

async function edit(
  deps: Deps,
  id: TaskId,
  toDependsOn: (row: TaskRow) => readonly TaskId[],
): Promise<TaskDependencies> {
  const touched = new Set<string>([id]);
  await writeWithEvents(deps, async (tx, append) => {
    const known = await loadTask.maybe(tx, id);
    if (known === undefined) throw new AppError("task.not_found");
    // Edges before rows: whoever ties tasks together locks in this order.
    await lockEdges(tx, known.project_id);
    const row = await lockTask(tx, id);
    const wanted = [...new Set(toDependsOn(row))];
    const added = wanted.filter((one) => !row.depends_on.includes(one));
    const removed = row.depends_on.filter((one) => !wanted.includes(one));
    if (added.length + removed.length === 0) return;
    if (!EDITABLE.has(row.status))
      throw new AppError("task.illegal_transition", `a task that is ${row.status} waits for nothing any more`);
    await requireTasks(tx, row.project_id, added);
    await requireNoCircle(tx, id, added);
    await insertEdges(tx, id, added);
    await deleteEdges(tx, id, removed);
    for (const one of [...added, ...removed]) touched.add(one);
    const data = { depends_on: wanted, added, removed, old_depends_on: row.depends_on };
    await append([draftTaskEvent(deps, row, "TASK_DEPENDENCY_UPDATED", data, "user")]);
  });
  await refreshAround(deps, [...touched]);
  deps.wake("tend-tasks");
  return toDependencies(deps, await requireTask(deps, id));
}

export const addDependencies = (deps: Deps, id: TaskId, more: readonly TaskId[]): Promise<TaskDependencies> =>
  edit(deps, id, (row) => [...row.depends_on, ...more]);

export const setDependencies = (deps: Deps, id: TaskId, all: readonly TaskId[]): Promise<TaskDependencies> =>
  edit(deps, id, () => all);

export const removeDependency = (deps: Deps, id: TaskId, one: TaskId): Promise<TaskDependencies> =>
  edit(deps, id, (row) => {
    if (!row.depends_on.includes(one)) throw new AppError("task.not_a_dependency");
    return row.depends_on.filter((other) => other !== one);
  });
