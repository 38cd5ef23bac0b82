/** A sandbox that a person made for a task takes the task up when its worker speaks of it: a try like any other. */
import { AppError } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import { insertAttempt, loadOpenAttempt } from "../store/task-attempts.ts";
import type { TaskRow } from "../store/tasks.ts";
import { moveTask, type Moved } from "./change-task.ts";
import type { Deps } from "./deps.ts";

const isFree = async (tx: Db, task: TaskRow, sandbox: SandboxRow): Promise<boolean> =>
  task.status === "pending" &&
  task.project_id === sandbox.project_id &&
  (await loadOpenAttempt.maybe(tx, task.id)) === undefined;

/** The task's row is locked by the caller. One that somebody else works on, or that is over, is not taken. */
export async function takeUpTask(tx: Db, deps: Deps, task: TaskRow, sandbox: SandboxRow): Promise<Moved> {
  if (!(await isFree(tx, task, sandbox)))
    throw new AppError("task.not_yours", "another sandbox works on the task, or it is over");
  const attempt = await insertAttempt.one(tx, task.id, "work", sandbox.id, null);
  const claimed = await moveTask(tx, deps, task, { on: "claimed" });
  const assigned = await moveTask(tx, deps, claimed.row, {
    on: "assigned",
    patch: { sandbox_id: sandbox.id, not_before: null },
    data: { agent_id: sandbox.id, attempt: attempt.number, resumes: null },
  });
  return { ...assigned, drafts: [...claimed.drafts, ...assigned.drafts] };
}
