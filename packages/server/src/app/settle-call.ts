/** What a call took, written down once: cost record, budgets, and the event that tells of it. */
import { isWarningDue, pickPrice, toCost, toDearest, type Metered, type ModelProtocol } from "@drover/core";
import type { JsonObject, ProjectId, SandboxId } from "@drover/contract";
import {
  deleteReservations,
  listBudgetsById,
  lockBudgets,
  markWarned,
  spendBudgets,
  type BudgetRow,
} from "../store/budgets.ts";
import { addTokens, insertCost, type CostDraft } from "../store/costs.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Db } from "../ports/db.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, draftSandboxEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { toBudgetData, type AgentCallPlan, type CallPlan } from "./reserve-call.ts";

/** What an answer took. */
export interface Taken {
  readonly protocol: ModelProtocol;
  readonly metered: Metered;
  readonly isReplay: boolean;
}

export interface SettledCall extends AgentCallPlan, Taken {}

export interface SettledOwnCall extends CallPlan, Taken {
  readonly purpose: Exclude<CostDraft["purpose"], "agent">;
  readonly projectId: ProjectId;
  readonly sandboxId: SandboxId | null;
}

/** A call that was never answered costs nothing. */
export async function releaseCall(deps: Deps, { callId }: CallPlan): Promise<void> {
  await deps.db.tx((tx) => deleteReservations(tx, callId));
}

/** A sandbox's own log tells of it too. */
function draftWarning(
  deps: Deps,
  sandbox: SandboxRow | undefined,
  projectId: ProjectId,
  budget: BudgetRow,
): readonly EventDraft[] {
  const data = toBudgetData(budget);
  const share = budget.limit_usd === 0 ? 1 : budget.spent_usd / budget.limit_usd;
  const entity = { type: "budget", id: budget.id, projectId: budget.project_id ?? projectId };
  const own = sandbox === undefined ? [] : [{ sandbox, data: { ...data, turn: sandbox.turn, share } }];
  return [
    ...own.map((one) => draftSandboxEvent(deps.ids, one.sandbox, { eventType: "budget.warning", data: one.data })),
    draftEvent(deps.ids, entity, { eventType: "cost.budget.warning", data }),
  ];
}

/** A model without a price is held against budgets at the dearest one known, so that a limit is one. */
async function spend(tx: Db, call: Pick<CallPlan, "scope" | "callId">, usd: number, isPriced: boolean) {
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

interface Spent extends Pick<CallPlan, "scope" | "callId"> {
  readonly purpose: CostDraft["purpose"];
  readonly projectId: ProjectId;
  /** Locked; undefined when the call is of no sandbox. */
  readonly sandbox: SandboxRow | undefined;
  readonly generation: number;
  readonly provider: ModelProtocol;
  readonly model: string;
  readonly metered: Metered;
}

/** The record, the budgets over it, and the events that tell of them. */
async function recordCall(tx: Db, deps: Deps, call: Spent): Promise<{ usd: number | null; events: EventDraft[] }> {
  const { scope, projectId, sandbox, model, provider } = call;
  const { usage, isEstimate } = call.metered;
  const prices = await deps.models.listPrices();
  const price = pickPrice(prices, model);
  const cost = price === undefined ? undefined : toCost(price, usage);
  await insertCost(tx, {
    id: call.callId,
    sandbox_id: sandbox?.id ?? null,
    purpose: call.purpose,
    project_id: projectId,
    task_id: scope.taskId,
    ticket_id: scope.ticketId,
    generation: call.generation,
    turn: sandbox?.turn ?? 0,
    provider,
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
  const warned = await spend(tx, call, charged.totalUsd, cost !== undefined);
  const usd = cost?.totalUsd ?? null;
  const recorded = draftEvent(
    deps.ids,
    { type: "cost_record", id: call.callId, projectId },
    {
      eventType: "cost.recorded",
      data: {
        sandbox_id: sandbox?.id ?? null,
        task_id: scope.taskId,
        ticket_id: scope.ticketId,
        purpose: call.purpose,
        provider,
        model,
        total_tokens: usage.input + usage.output + usage.cacheRead + usage.cacheWrite,
        total_cost: usd,
      },
    },
  );
  const warnings = warned.flatMap((budget) => draftWarning(deps, sandbox, projectId, budget));
  return { usd, events: [recorded, ...warnings] };
}

export async function settleCall(deps: Deps, call: SettledCall): Promise<void> {
  const { usage, isEstimate } = call.metered;
  const { model } = call.request;
  await writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = await lockSandboxes(tx, [call.sandbox.id]);
    if (sandbox === undefined) return;
    const toUsed = (usd: number | null) => {
      const data: JsonObject = {
        turn: sandbox.turn,
        provider: call.protocol,
        model,
        input_tokens: usage.input,
        output_tokens: usage.output,
        cache_read_tokens: usage.cacheRead,
        cache_write_tokens: usage.cacheWrite,
        cost_usd: usd,
        ...(usd === null ? { unpriced: true } : {}),
        ...(isEstimate ? { is_estimate: true } : {}),
        ...(call.isReplay ? { replayed: true } : {}),
      };
      return draftSandboxEvent(deps.ids, sandbox, { eventType: "agent.usage", data });
    };
    if (call.isReplay) {
      await deleteReservations(tx, call.callId);
      await addTokens(tx, sandbox.id, usage.input, usage.output, usage.cacheRead, usage.cacheWrite);
      await append([toUsed(0)]);
      return;
    }
    const { usd, events } = await recordCall(tx, deps, {
      callId: call.callId,
      scope: call.scope,
      purpose: "agent",
      projectId: sandbox.project_id,
      sandbox,
      generation: call.sandbox.generation,
      provider: call.protocol,
      model,
      metered: call.metered,
    });
    await append([toUsed(usd), ...events]);
  });
}

/** A call that the server made itself: on record and on the bill, and no word of the agent. */
export async function settleOwnCall(deps: Deps, call: SettledOwnCall): Promise<void> {
  await writeWithEvents(deps, async (tx, append) => {
    if (call.isReplay) return deleteReservations(tx, call.callId);
    const [sandbox] = call.sandboxId === null ? [] : await lockSandboxes(tx, [call.sandboxId]);
    const { events } = await recordCall(tx, deps, {
      callId: call.callId,
      scope: call.scope,
      purpose: call.purpose,
      projectId: call.projectId,
      sandbox,
      generation: sandbox?.generation ?? 0,
      provider: call.protocol,
      model: call.request.model,
      metered: call.metered,
    });
    await append(events);
  });
}
