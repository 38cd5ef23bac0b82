/** Holds money for a call before it is made, or refuses it: then the sandbox is paused and a person is asked. */
import {
  decideReserve,
  estimateCost,
  pickPrice,
  SANDBOX,
  step,
  toDearest,
  type ModelRequest,
  type SandboxTrigger,
} from "@drover/core";
import { AppError, type CostRecordId, type JsonObject, type SandboxState } from "@drover/contract";
import {
  countBudgets,
  insertReservations,
  listBudgetsById,
  lockBudgets,
  type BudgetRow,
  type BudgetScope,
} from "../store/budgets.ts";
import { loadSandbox, lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, draftSandboxEvent, draftTransition, writeWithEvents } from "./event-log.ts";
import { loadStanding } from "./load-standing.ts";

export interface CallPlan {
  readonly callId: CostRecordId;
  readonly scope: BudgetScope;
  readonly request: ModelRequest;
  readonly requestCharacters: number;
}

export interface AgentCallPlan extends CallPlan {
  readonly sandbox: SandboxRow;
}

const toStanding = (row: BudgetRow) => ({
  row,
  limitUsd: row.limit_usd,
  spentUsd: row.spent_usd,
  reservedUsd: row.reserved_usd,
  warnShare: row.warn_share,
});

export const nameScope = ({ scope_type, scope_id }: BudgetRow) =>
  scope_id === null ? scope_type : `${scope_type} ${scope_id}`;

export const toBudgetData = (row: BudgetRow): JsonObject => ({
  budget_id: row.id,
  scope_type: row.scope_type,
  scope_id: row.scope_id,
  limit_usd: row.limit_usd,
  spent_usd: row.spent_usd,
});

export const usd = (amount: number) => `$${amount.toFixed(amount < 1 ? 4 : 2)}`;

const toRefusal = (row: BudgetRow, estimateUsd: number): string =>
  `the budget of ${nameScope(row)} is used up: ${usd(row.spent_usd)} of ${usd(row.limit_usd)} are spent and this call is expected to cost ` +
  `${usd(estimateUsd)}. A person was asked; raise it with: drover budgets set ${row.id} --limit <usd>, then resume the sandbox.`;

/** Whoever asks for a model runs, whatever is known of it so far. */
function walk(from: SandboxState): readonly SandboxState[] {
  const passed: SandboxState[] = [];
  for (const on of ["started", "worked", "paused"] as const) {
    const next = step<SandboxState, SandboxTrigger>(SANDBOX, passed.at(-1) ?? from, on);
    if (next.ok) passed.push(next.to);
  }
  return passed;
}

/** Its events once: calls that follow while it is paused change nothing. */
async function askPerson(deps: Deps, plan: AgentCallPlan, budget: BudgetRow, estimateUsd: number): Promise<boolean> {
  return writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [plan.sandbox.id]);
    if (row === undefined || row.state === "paused") return false;
    const data = {
      ...toBudgetData(budget),
      turn: row.turn,
      model: plan.request.model,
      estimate_usd: estimateUsd,
      question: `Raise the budget of ${nameScope(budget)} (now ${usd(budget.limit_usd)}) and resume, or end the sandbox?`,
    };
    const exceeded = draftSandboxEvent(deps.ids, row, { eventType: "budget.exceeded", data });
    const entity = { type: "budget", id: budget.id, projectId: budget.project_id ?? row.project_id };
    const told = draftEvent(deps.ids, entity, { eventType: "cost.budget.exceeded", data: toBudgetData(budget) });
    const passed = walk(row.state);
    const transitions = passed.map((to, index) =>
      draftTransition(deps.ids, row, { from: passed[index - 1] ?? row.state, to, cause: "budget" }, exceeded.id),
    );
    await append([exceeded, told, ...transitions]);
    return passed.at(-1) === "paused";
  });
}

/** What stands at a provider is stopped; others are only told so, and get no model. */
async function pause(deps: Deps, plan: AgentCallPlan, signal: AbortSignal): Promise<void> {
  if (plan.sandbox.provider === "external") return;
  const { provider, ref } = await loadStanding(deps, plan.sandbox.id);
  if (!provider.capabilities.pause) return;
  await provider.pause(ref, signal);
  const now = await loadSandbox.maybe(deps.db, plan.sandbox.id);
  // Somebody was faster and let it go on: nothing that is not paused stays stopped.
  if (now?.state !== "paused") await provider.resume(ref, signal);
}

/** Resolves to what is to be done once the refusal is on its way to the agent. */
export interface Refused {
  readonly error: AppError;
  readonly afterwards: (signal: AbortSignal) => Promise<void>;
}

/** The budget that it does not fit into, and what it was expected to cost. Undefined: go on; whoever reserved must settle. */
export async function holdMoney(
  deps: Deps,
  plan: CallPlan,
): Promise<{ readonly budget: BudgetRow; readonly estimateUsd: number } | undefined> {
  if ((await countBudgets.one(deps.db, plan.scope)).count === 0) return undefined;
  const prices = await deps.models.listPrices();
  const price = pickPrice(prices, plan.request.model) ?? toDearest(prices);
  const estimateUsd = estimateCost(price, plan.requestCharacters, plan.request.maxOutputTokens);
  const decision = await deps.db.tx(async (tx) => {
    const locked = await lockBudgets(tx, plan.scope);
    const ids = locked.map(({ id }) => id);
    const decided = decideReserve((await listBudgetsById(tx, ids)).map(toStanding), estimateUsd);
    if (decided.kind === "reserved") await insertReservations(tx, plan.callId, ids, estimateUsd, deps.instance);
    return decided;
  });
  if (decision.kind === "reserved") return undefined;
  const { row } = decision.budget;
  if (decision.kind === "busy")
    throw new AppError("budget.busy", `what is left of the budget of ${nameScope(row)} is held for calls under way`, {
      retryAfterSeconds: 1,
    });
  return { budget: row, estimateUsd };
}

/** Undefined: go on, as above. */
export async function reserveCall(deps: Deps, plan: AgentCallPlan): Promise<Refused | undefined> {
  const short = await holdMoney(deps, plan);
  if (short === undefined) return undefined;
  const { budget, estimateUsd } = short;
  const isPaused = await askPerson(deps, plan, budget, estimateUsd);
  return {
    error: new AppError("budget.exceeded", toRefusal(budget, estimateUsd)),
    afterwards: async (signal) => {
      if (isPaused) await pause(deps, plan, signal);
    },
  };
}
