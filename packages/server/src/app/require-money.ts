/** Nothing is begun under a budget that is used up. */
import { AppError, type ProjectId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { findTicket, listSpentBudgets } from "../store/budgets.ts";
import { nameScope, usd } from "./reserve-call.ts";

export async function requireMoney(tx: Db, projectId: ProjectId, taskId: string | null): Promise<void> {
  // A sandbox may name a task that is none of ours; then only its project counts.
  const ticketId = taskId === null ? null : ((await findTicket.maybe(tx, taskId))?.ticket_id ?? null);
  const [spent] = await listSpentBudgets(tx, { projectId, ticketId, taskId, sandboxId: "" });
  if (spent === undefined) return;
  throw new AppError(
    "budget.exceeded",
    `the budget of ${nameScope(spent)} is used up: ${usd(spent.spent_usd)} of ${usd(spent.limit_usd)} are spent. ` +
      `Raise it with: drover budgets set ${spent.id} --limit <usd>`,
  );
}
