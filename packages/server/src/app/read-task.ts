/** The task that a sandbox works on. */
import { AppError, type SandboxId, type TaskId } from "@drover/contract";
import { loadSandbox } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";

/** A sandbox that was made for a prompt has none, and a task that is only named is not kept here. */
export async function readSandboxTask(deps: Deps, id: SandboxId): Promise<{ id: TaskId }> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  throw new AppError("task.not_found", row.task_id === null ? "the sandbox works on no task" : undefined);
}
