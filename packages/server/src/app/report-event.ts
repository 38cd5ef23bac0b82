/** An event told by way of a task: it is one of the sandbox that works on it, and of no other. */
import { AppError, type JsonObject, type SandboxId, type TaskId } from "@drover/contract";
import { loadAttemptOfSandbox } from "../store/task-attempts.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

export async function reportTaskEvent(
  deps: Deps,
  worker: WorkerIdentity,
  taskId: TaskId,
  body: {
    readonly agent_id?: SandboxId | undefined;
    readonly event_type: string;
    readonly event_data: JsonObject;
  },
) {
  const { id: sandbox_id } = await loadForWorker(deps.db, worker);
  if (body.agent_id !== undefined && body.agent_id !== sandbox_id) throw new AppError("sandbox.not_found");
  const attempt = await loadAttemptOfSandbox.maybe(deps.db, sandbox_id);
  if (attempt?.task_id !== taskId) throw new AppError("task.not_found");
  const { event_type, event_data } = body;
  const { event_id, seq } = await deps.ingest.one(worker, { event_type, event_data, source: "agent" });
  return { success: true as const, task_id: taskId, sandbox_id, event_id, seq };
}
