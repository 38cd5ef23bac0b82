/** Names tasks by what is to be done: a model is asked where there is one, a rule is there always. */
import { randomBytes } from "node:crypto";
import { toTaskTitle } from "@drover/core";
import type { NamedTask, Task, TaskId } from "@drover/contract";
import { askModel } from "./ask-model.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { changeTaskFields, getTask, pageTasks } from "./manage-tasks.ts";

const NEWEST = 500;
const DESCRIPTION_CHARACTERS = 8_000;

/** Undefined: there is no model, it has no answer, or nothing is described. */
async function askForTitle(
  deps: Deps,
  task: Task,
  context: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const described = [task.description ?? "", context ?? ""].filter((text) => text.trim() !== "").join("\n\n");
  if (described === "") return undefined;
  const marker = randomBytes(12).toString("hex");
  const description = `Type: ${task.task_type}\n${described}`.slice(0, DESCRIPTION_CHARACTERS);
  const account = { purpose: "title", projectId: task.project_id, sandboxId: null, taskId: task.id } as const;
  const answer = await askModel(deps, account, (judge, wire) => judge.name({ description, marker }, wire, signal));
  // Cut and cleaned like any other text: a model may say more than it was asked for.
  return answer === undefined || answer.title.trim() === ""
    ? undefined
    : toTaskTitle({ task_type: task.task_type, description: answer.title });
}

export async function generateTitle(
  deps: Deps,
  actor: Person,
  id: TaskId,
  context: string | undefined,
  signal: AbortSignal,
): Promise<NamedTask> {
  const task = await getTask(deps, id);
  const asked = await askForTitle(deps, task, context, signal);
  const title = asked ?? toTaskTitle({ ...task, context });
  const named = title === task.title ? task : await changeTaskFields(deps, actor, id, { title });
  return { ...named, title_origin: asked === undefined ? "rule" : "model" };
}

const isUnnamed = ({ title, task_type }: Task): boolean =>
  title.toLowerCase().replaceAll(/[_\s-]+/g, " ") === task_type.toLowerCase().replaceAll(/[_\s-]+/g, " ");

export async function generateTitles(
  deps: Deps,
  actor: Person,
  limit: number,
  signal: AbortSignal,
): Promise<{ tasks: NamedTask[] }> {
  const { items } = await pageTasks(deps, actor, { limit: NEWEST });
  const tasks: NamedTask[] = [];
  for (const task of items.filter((one) => isUnnamed(one) && one.description !== null).slice(0, limit))
    tasks.push(await generateTitle(deps, actor, task.id, undefined, signal));
  return { tasks };
}
