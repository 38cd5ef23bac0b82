/** What models cost, by call and by scope. */
import {
  CostRecordId,
  type CostBreakdown,
  type CostBreakdownQuery,
  type CostRecord,
  type CostScope,
  type CostSummary,
  type ProjectId,
  type SandboxId,
} from "@drover/contract";
import { breakDownCosts, listCosts, sumCosts, type CostFilter, type CostRow, type CostSumRow } from "../store/costs.ts";
import type { Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { requireScope } from "./manage-budgets.ts";

const toRecord = (row: CostRow): CostRecord => {
  const prompt = row.input_tokens + row.cache_read_tokens + row.cache_write_tokens;
  const isPriced = row.input_usd !== null && row.output_usd !== null;
  return {
    id: row.id,
    sandbox_id: row.sandbox_id,
    purpose: row.purpose,
    project_id: row.project_id,
    task_id: row.task_id,
    ticket_id: row.ticket_id,
    provider: row.provider,
    model: row.model,
    turn: row.turn,
    prompt_tokens: prompt,
    completion_tokens: row.output_tokens,
    total_tokens: prompt + row.output_tokens,
    cache_read_tokens: row.cache_read_tokens,
    cache_write_tokens: row.cache_write_tokens,
    prompt_cost: row.input_usd,
    completion_cost: row.output_usd,
    total_cost: isPriced ? (row.input_usd ?? 0) + (row.output_usd ?? 0) : null,
    is_estimate: row.is_estimate,
    recorded_at: row.recorded_at.toISOString(),
  };
};

interface CostQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly sandbox_id?: SandboxId | undefined;
  readonly agent_id?: SandboxId | undefined;
  readonly task_id?: string | undefined;
  readonly ticket_id?: string | undefined;
  readonly project_id?: ProjectId | undefined;
  readonly model?: string | undefined;
}

export async function pageCosts(deps: Deps, actor: Person, query: CostQuery) {
  const scopes = [
    { type: "sandbox" as const, id: query.sandbox_id },
    { type: "sandbox" as const, id: query.agent_id },
    { type: "task" as const, id: query.task_id },
    { type: "ticket" as const, id: query.ticket_id },
    { type: "project" as const, id: query.project_id },
  ].flatMap(({ type, id }) => (id === undefined ? [] : [{ type, id }]));
  const filter: CostFilter = { visibleProject: actor.grant.projectId, scopes, model: query.model };
  const rows = await listCosts(deps.db, filter, parseCursor(CostRecordId, query.cursor), query.limit + 1);
  const items = rows.slice(0, query.limit);
  return { items: items.map(toRecord), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

type Sums = Omit<CostSumRow, "provider" | "model">;

const toTotals = (rows: readonly Sums[]) => {
  const sum = (pick: (row: Sums) => number) => rows.reduce((total, row) => total + pick(row), 0);
  const cacheRead = sum((row) => row.cache_read_tokens);
  const cacheWrite = sum((row) => row.cache_write_tokens);
  const prompt = sum((row) => row.input_tokens) + cacheRead + cacheWrite;
  const completion = sum((row) => row.output_tokens);
  return {
    total_cost: sum((row) => row.usd),
    total_tokens: prompt + completion,
    prompt_tokens: prompt,
    completion_tokens: completion,
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite,
    record_count: sum((row) => row.records),
    unpriced_count: sum((row) => row.unpriced),
  };
};

/** What lies in projects that the caller may not see is not in the sums. */
export async function summariseCosts(
  deps: Deps,
  actor: Person,
  scope: { readonly scope_type: CostScope; readonly scope_id?: string | undefined },
): Promise<CostSummary> {
  const id = scope.scope_id ?? null;
  if (scope.scope_type !== "global" && scope.scope_type !== "phase" && id !== null)
    await requireScope(deps, actor, scope.scope_type, id);
  const rows = await sumCosts(deps.db, {
    visibleProject: actor.grant.projectId,
    scopes: [{ type: scope.scope_type, id }],
  });
  return {
    scope_type: scope.scope_type,
    scope_id: scope.scope_type === "global" ? null : id,
    ...toTotals(rows),
    breakdown: rows.map((row) => ({ provider: row.provider, model: row.model, ...toTotals([row]) })),
  };
}

export async function readBreakdown(deps: Deps, actor: Person, query: CostBreakdownQuery): Promise<CostBreakdown> {
  const rows = await breakDownCosts(
    deps.db,
    query.by,
    {
      visibleProject: actor.grant.projectId,
      scopes: [{ type: query.scope_type, id: query.scope_id ?? null }],
      since: query.since,
    },
    query.until ?? null,
  );
  return { by: query.by, items: rows.map(({ key, label, ...sums }) => ({ key, label, ...toTotals([sums]) })) };
}
