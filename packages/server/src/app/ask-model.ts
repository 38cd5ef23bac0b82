/** Asks the server's own model on somebody's account: not when their budget is used up, and every call is on record. */
import type { ProjectId, SandboxId } from "@drover/contract";
import type { Asked, Judge } from "../ports/judge.ts";
import { findTicket, listSpentBudgets } from "../store/budgets.ts";
import type { CostDraft } from "../store/costs.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents, type EventDraft } from "./event-log.ts";
import { recordCall } from "./settle-call.ts";

export interface Account {
  readonly purpose: Exclude<CostDraft["purpose"], "agent">;
  readonly projectId: ProjectId;
  /** Null: of no sandbox, or of several. */
  readonly sandboxId: SandboxId | null;
  readonly taskId: string | null;
}

/** Undefined where the judge has no answer, and where there is no money for one. */
export async function askModel<T>(
  deps: Deps,
  account: Account,
  ask: (judge: Judge) => Promise<Asked<T>>,
): Promise<T | undefined> {
  if (!deps.judge.isThere) return undefined;
  const { projectId, sandboxId, taskId } = account;
  const ticketId = taskId === null ? null : ((await findTicket.maybe(deps.db, taskId))?.ticket_id ?? null);
  const scope = { projectId, ticketId, taskId, sandboxId: sandboxId ?? "" };
  const [spent] = await listSpentBudgets(deps.db, scope);
  if (spent !== undefined) {
    deps.log.warn("judge.no_money", { project: projectId, budget: spent.id });
    return undefined;
  }
  const { answer, used } = await ask(deps.judge);
  if (used.length === 0) return answer;
  await writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = sandboxId === null ? [] : await lockSandboxes(tx, [sandboxId]);
    const events: EventDraft[] = [];
    for (const { provider, model, usage } of used) {
      const call = { callId: deps.ids.cost(), scope, purpose: account.purpose, projectId, sandbox, provider, model };
      const generation = sandbox?.generation ?? 0;
      const metered = { usage, isEstimate: false };
      events.push(...(await recordCall(tx, deps, { ...call, generation, metered })).events);
    }
    await append(events);
  });
  return answer;
}
