/** The task that a sandbox works on. */
import { AppError, type SandboxId, type Task } from "@drover/contract";
import { loadSandbox } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { getTask } from "./manage-tasks.ts";

/** A sandbox that was made for a prompt has none, and a task that is only named may not be ours. */
export async function readSandboxTask(deps: Deps, id: SandboxId): Promise<Task> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  if (row.task_id === null) throw new AppError("task.not_found", "the sandbox works on no task");
  const task = await getTask(deps, row.task_id);
  if (task.project_id !== row.project_id) throw new AppError("task.not_found");
  return task;
}
