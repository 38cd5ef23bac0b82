/** What a call took, written down once: cost record, budgets, and the event that tells of it. */
import { isWarningDue, pickPrice, toCost, toDearest, type Metered, type ModelProtocol } from "@drover/core";
import type { JsonObject } from "@drover/contract";
import {
  deleteReservations,
  listBudgetsById,
  lockBudgets,
  markWarned,
  spendBudgets,
  type BudgetRow,
} from "../store/budgets.ts";
import { addTokens, insertCost } from "../store/costs.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Db } from "../ports/db.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, draftSandboxEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { toBudgetData, type CallPlan } from "./reserve-call.ts";

export interface SettledCall extends CallPlan {
  readonly protocol: ModelProtocol;
  readonly metered: Metered;
  readonly isReplay: boolean;
}

/** A call that was never answered costs nothing. */
export async function releaseCall(deps: Deps, { callId }: CallPlan): Promise<void> {
  await deps.db.tx((tx) => deleteReservations(tx, callId));
}

const draftWarning = (deps: Deps, sandbox: SandboxRow, budget: BudgetRow): readonly EventDraft[] => {
  const data = toBudgetData(budget);
  const share = budget.limit_usd === 0 ? 1 : budget.spent_usd / budget.limit_usd;
  const entity = { type: "budget", id: budget.id, projectId: budget.project_id ?? sandbox.project_id };
  return [
    draftSandboxEvent(deps.ids, sandbox, { eventType: "budget.warning", data: { ...data, turn: sandbox.turn, share } }),
    draftEvent(deps.ids, entity, { eventType: "cost.budget.warning", data }),
  ];
};

/** A model without a price is held against budgets at the dearest one known, so that a limit is one. */
async function spend(tx: Db, deps: Deps, call: SettledCall, usd: number, isPriced: boolean) {
  const ids = (await lockBudgets(tx, call.scope)).map(({ id }) => id);
  if (ids.length === 0) return [];
  await deleteReservations(tx, call.callId);
  await spendBudgets(tx, ids, usd, isPriced ? 0 : 1);
  const due = (await listBudgetsById(tx, ids)).filter((row) =>
    isWarningDue(
      { limitUsd: row.limit_usd, spentUsd: row.spent_usd, reservedUsd: 0, warnShare: row.warn_share },
      row.warned_at !== null,
    ),
  );
  if (due.length > 0)
    await markWarned(
      tx,
      due.map(({ id }) => id),
    );
  return due;
}

export async function settleCall(deps: Deps, call: SettledCall): Promise<void> {
  const { usage, isEstimate } = call.metered;
  const { model } = call.request;
  const prices = await deps.models.listPrices();
  const price = pickPrice(prices, model);
  const cost = price === undefined ? undefined : toCost(price, usage);
  await writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = await lockSandboxes(tx, [call.sandbox.id]);
    if (sandbox === undefined) return;
    const data: JsonObject = {
      turn: sandbox.turn,
      provider: call.protocol,
      model,
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      cost_usd: call.isReplay ? 0 : (cost?.totalUsd ?? null),
      ...(cost === undefined && !call.isReplay ? { unpriced: true } : {}),
      ...(isEstimate ? { is_estimate: true } : {}),
      ...(call.isReplay ? { replayed: true } : {}),
    };
    const used = draftSandboxEvent(deps.ids, sandbox, { eventType: "agent.usage", data });
    if (call.isReplay) {
      await deleteReservations(tx, call.callId);
      await addTokens(tx, sandbox.id, usage.input, usage.output, usage.cacheRead, usage.cacheWrite);
      await append([used]);
      return;
    }
    await insertCost(tx, {
      id: call.callId,
      sandbox_id: sandbox.id,
      project_id: sandbox.project_id,
      task_id: sandbox.task_id,
      ticket_id: call.scope.ticketId,
      generation: call.sandbox.generation,
      turn: sandbox.turn,
      provider: call.protocol,
      model,
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_read_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite,
      input_usd: cost?.inputUsd ?? null,
      output_usd: cost?.outputUsd ?? null,
      is_estimate: isEstimate,
    });
    const charged = cost ?? toCost(toDearest(prices), usage);
    const warned = await spend(tx, deps, call, charged.totalUsd, cost !== undefined);
    await append([used, ...warned.flatMap((budget) => draftWarning(deps, sandbox, budget))]);
  });
}
