/** A merged pull request ends its ticket: the work is in. */
import { listTicketWay, stepTask } from "@drover/core";
import { ENDED_TASK_STATES, type TicketId } from "@drover/contract";
import { endAttempt, loadOpenAttempt } from "../store/task-attempts.ts";
import { listTicketTasks } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { lockTask, moveTask } from "./change-task.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { changeTicket, toSteps } from "./manage-tickets.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { afterStop, draftStop } from "./stop-sandbox.ts";

const TASKS_LIMIT = 10_000;

export interface Merge {
  readonly pr_number: number | null;
  readonly commit: string | null;
}

/** Done twice it equals done once. A task that was still open is completed by the merge if that can be; else it stays. */
export async function closeTicketByMerge(deps: Deps, ticketId: string, merge: Merge): Promise<void> {
  if ((await loadTicket.maybe(deps.db, ticketId)) === undefined) return;
  const reason = merge.pr_number === null ? "its branch was merged" : `pull request ${merge.pr_number} was merged`;
  const tasks = await listTicketTasks(deps.db, ticketId, TASKS_LIMIT);
  for (const { id, status } of tasks) {
    if (ENDED_TASK_STATES.has(status)) continue;
    await writeWithEvents(deps, async (tx, append) => {
      const row = await lockTask(tx, id);
      const on = row.status === "validating" || row.status === "pending_validation" ? "validation_passed" : "completed";
      if (!stepTask(row.status, on).ok) return;
      const attempt = await loadOpenAttempt.maybe(tx, id);
      const moved = await moveTask(tx, deps, row, { on, reason, patch: { result: { ...row.result, ...merge } } });
      if (attempt === undefined) return void (await append(moved.drafts));
      await endAttempt(tx, attempt.sandbox_id, {
        outcome: "completed",
        error: null,
        result: null,
        at: deps.clock.now(),
      });
      await append([...moved.drafts, ...(await draftStop(tx, deps, attempt.sandbox_id, reason))]);
    });
  }
  afterStop(deps);
  await refreshAround(
    deps,
    tasks.map(({ id }) => id),
  );
  await changeTicket(deps, ticketId as TicketId, undefined, async (row) =>
    row.status === "done" ? undefined : toSteps(deps, row, listTicketWay(row.status, "done"), reason, "server"),
  );
}
