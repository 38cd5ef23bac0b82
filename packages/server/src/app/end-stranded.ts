/** Tasks of a ticket that nobody works on any more are not kept waiting for it, nor is what waits for them. */
import { listStranded } from "../store/task-queue.ts";
import { changeTask } from "./change-task.ts";
import type { Deps } from "./deps.ts";

const BATCH = 1_000;

/** Of one ticket, or of all. */
export async function endStranded(deps: Deps, ticketId: string | null): Promise<number> {
  const stranded = await listStranded(deps.db, ticketId, BATCH);
  for (const { id, ticket_status: status, approval_status: approval } of stranded) {
    const error = `Task cancelled: its ticket is ${status === "done" ? status : approval}`;
    await changeTask(deps, id, (row) =>
      row.status === "pending" || row.status === "blocked"
        ? { on: "cancelled", reason: error, patch: { error_message: error } }
        : undefined,
    );
  }
  return stranded.length;
}
