/** Names tasks by what is to be done. */
import { toTaskTitle } from "@drover/core";
import type { Task, TaskId } from "@drover/contract";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { changeTaskFields, getTask, pageTasks } from "./manage-tasks.ts";

const NEWEST = 500;

export async function generateTitle(deps: Deps, actor: Person, id: TaskId, context: string | undefined): Promise<Task> {
  const task = await getTask(deps, id);
  const title = toTaskTitle({ ...task, context });
  return title === task.title ? task : changeTaskFields(deps, actor, id, { title });
}

const isUnnamed = ({ title, task_type }: Task): boolean =>
  title.toLowerCase().replaceAll(/[_\s-]+/g, " ") === task_type.toLowerCase().replaceAll(/[_\s-]+/g, " ");

export async function generateTitles(deps: Deps, actor: Person, limit: number): Promise<{ tasks: Task[] }> {
  const { items } = await pageTasks(deps, actor, { limit: NEWEST });
  const tasks: Task[] = [];
  for (const task of items.filter((one) => isUnnamed(one) && one.description !== null).slice(0, limit))
    tasks.push(await generateTitle(deps, actor, task.id, undefined));
  return { tasks };
}
