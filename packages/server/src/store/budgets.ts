/** Budgets, and what is held in them for calls under way. */
import { BudgetId, CostScope, ProjectId, type CostRecordId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const SAMPLE_ID = "bud-000000000000" as BudgetId;
const SAMPLE_CALL = "00000000-0000-7000-8000-000000000000" as CostRecordId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const BudgetRow = z.object({
  id: BudgetId,
  scope_type: CostScope,
  scope_id: z.string().nullable(),
  project_id: ProjectId.nullable(),
  limit_usd: z.number(),
  spent_usd: z.number(),
  reserved_usd: z.number(),
  unpriced_count: z.number(),
  warn_share: z.number(),
  warned_at: z.date().nullable(),
  period_start: z.date(),
  period_end: z.date().nullable(),
  created_at: z.date(),
  updated_at: z.date(),
});
export type BudgetRow = z.infer<typeof BudgetRow>;

const columns = sql`b.id, b.scope_type, b.scope_id, b.project_id, b.limit_usd::float8 as limit_usd, b.spent_usd::float8 as spent_usd,
  (select coalesce(sum(r.amount_usd), 0)::float8 from budget_reservations r where r.budget_id = b.id and r.expires_at > now()) as reserved_usd,
  b.unpriced_count, b.warn_share, b.warned_at, b.period_start, b.period_end, b.created_at, b.updated_at`;

export interface BudgetDraft {
  readonly id: BudgetId;
  readonly scope_type: CostScope;
  readonly scope_id: string | null;
  readonly project_id: string | null;
  readonly limit_usd: number;
  readonly spent_usd: number;
  readonly unpriced_count: number;
  readonly warn_share: number;
  readonly period_start: string | null;
  readonly period_end: string | null;
}

const SAMPLE_DRAFT: BudgetDraft = {
  id: SAMPLE_ID,
  scope_type: "global",
  scope_id: null,
  project_id: null,
  limit_usd: 1,
  spent_usd: 0,
  unpriced_count: 0,
  warn_share: 0.8,
  period_start: null,
  period_end: null,
};

export const insertBudget = command(
  "budgets.insert",
  [SAMPLE_DRAFT],
  (draft: BudgetDraft) => sql`
  insert into budgets (id, scope_type, scope_id, project_id, limit_usd, spent_usd, unpriced_count, warn_share, period_start, period_end)
  values (${draft.id}, ${draft.scope_type}, ${draft.scope_id}, ${draft.project_id}, ${draft.limit_usd}::float8, ${draft.spent_usd}::float8,
    ${draft.unpriced_count}, ${draft.warn_share}, coalesce(${draft.period_start}::timestamptz, now()), ${draft.period_end}::timestamptz)`,
);

export const loadBudget = query(
  "budgets.load",
  BudgetRow,
  [SAMPLE_ID],
  (id: BudgetId) => sql`select ${columns} from budgets b where b.id = ${id}`,
);

export interface BudgetFilter {
  /** Null: of all projects, and those of none. */
  readonly visibleProject: string | null;
  readonly scopeType: CostScope | undefined;
  readonly scopeId: string | undefined;
  readonly before: BudgetId | undefined;
  readonly limit: number;
}

export const listBudgets = query(
  "budgets.list",
  BudgetRow,
  [{ visibleProject: SAMPLE_PROJECT, scopeType: "task", scopeId: "a", before: SAMPLE_ID, limit: 10 }],
  (filter: BudgetFilter) => sql`
  select ${columns} from budgets b where true
    ${filter.visibleProject === null ? empty : sql`and b.project_id = ${filter.visibleProject}`}
    ${filter.scopeType === undefined ? empty : sql`and b.scope_type = ${filter.scopeType}`}
    ${filter.scopeId === undefined ? empty : sql`and b.scope_id = ${filter.scopeId}`}
    ${
      filter.before === undefined
        ? empty
        : sql`and (b.created_at, b.id) < (select created_at, id from budgets where id = ${filter.before})`
    }
  order by b.created_at desc, b.id desc limit ${filter.limit}`,
);

export interface BudgetPatch {
  readonly limit_usd: number | undefined;
  readonly warn_share: number | undefined;
  readonly period_end: string | null | undefined;
}

/** A budget that was raised above its warning is one that was not warned of. */
export const updateBudget = command(
  "budgets.update",
  [SAMPLE_ID, { limit_usd: 1, warn_share: 0.5, period_end: null }],
  (id: BudgetId, patch: BudgetPatch) => sql`
  with changed as (
    select id, ${patch.limit_usd === undefined ? sql`limit_usd` : sql`${patch.limit_usd}::float8::numeric`} as limit_usd,
      ${patch.warn_share === undefined ? sql`warn_share` : sql`${patch.warn_share}::float8`} as warn_share,
      ${patch.period_end === undefined ? sql`period_end` : sql`${patch.period_end}::timestamptz`} as period_end
    from budgets where id = ${id} for update)
  update budgets b set limit_usd = changed.limit_usd, warn_share = changed.warn_share, period_end = changed.period_end,
    warned_at = case when b.spent_usd < changed.limit_usd * changed.warn_share then null else b.warned_at end, updated_at = now()
  from changed where b.id = changed.id`,
);

export const deleteBudget = command(
  "budgets.delete",
  [SAMPLE_ID],
  (id: BudgetId) => sql`delete from budgets where id = ${id}`,
);

/** What a call belongs to. */
export interface BudgetScope {
  readonly sandboxId: string;
  readonly taskId: string | null;
  readonly ticketId: string | null;
  readonly projectId: string;
}

const SAMPLE_SCOPE: BudgetScope = { sandboxId: "a", taskId: null, ticketId: null, projectId: "a" };

const isOver = (scope: BudgetScope) => sql`
  (b.scope_type = 'global'
    or (b.scope_type = 'project' and b.scope_id = ${scope.projectId}::text)
    or (b.scope_type = 'phase' and b.scope_id = (select k.phase_id from tasks k where k.id = ${scope.taskId}::text))
    or (b.scope_type = 'ticket' and b.scope_id = ${scope.ticketId}::text)
    or (b.scope_type = 'task' and b.scope_id = ${scope.taskId}::text)
    or (b.scope_type = 'sandbox' and b.scope_id = ${scope.sandboxId}::text))
  and b.period_start <= now() and (b.period_end is null or b.period_end > now())`;

/** The ticket that a task belongs to. */
export const findTicket = query(
  "budgets.find_ticket",
  z.object({ ticket_id: z.string() }),
  ["a"],
  (taskId: string) => sql`select ticket_id from tasks where id = ${taskId}`,
  { prepared: true },
);

/** Budgets over a call, without a lock: most calls have none. */
export const countBudgets = query(
  "budgets.count_over",
  z.object({ count: z.number() }),
  [SAMPLE_SCOPE],
  (scope: BudgetScope) => sql`select count(*) as count from budgets b where ${isOver(scope)}`,
  { prepared: true },
);

/** Those that are used up: nothing new is begun under them. */
export const listSpentBudgets = query(
  "budgets.spent_over",
  BudgetRow,
  [SAMPLE_SCOPE],
  (scope: BudgetScope) => sql`
  select ${columns} from budgets b where ${isOver(scope)} and b.spent_usd >= b.limit_usd order by b.id limit 100`,
);

/** In the order of ids, so that two calls never wait for each other. Sums of reservations are asked for after it: they are
 *  what others held when the lock was given, not when it was asked for. */
export const lockBudgets = query(
  "budgets.lock_over",
  z.object({ id: BudgetId }),
  [SAMPLE_SCOPE],
  (scope: BudgetScope) => sql`select b.id from budgets b where ${isOver(scope)} order by b.id limit 1000 for update`,
);

export const listBudgetsById = query(
  "budgets.list_by_id",
  BudgetRow,
  [[SAMPLE_ID]],
  (ids: readonly string[]) =>
    sql`select ${columns} from budgets b where b.id = any(${ids}::text[]) order by b.id limit 1000`,
);

/** Longer than any answer takes. */
const HOLD_SECONDS = 3_600;

export const insertReservations = command(
  "budgets.reserve",
  [SAMPLE_CALL, [SAMPLE_ID], 0.1, "host:1"],
  (callId: CostRecordId, ids: readonly string[], amount: number, instance: string) => sql`
  insert into budget_reservations (call_id, budget_id, amount_usd, instance, expires_at)
  select ${callId}, id, ${amount}::float8, ${instance}, now() + make_interval(secs => ${HOLD_SECONDS}) from budgets where id = any(${ids}::text[])`,
);

export const deleteReservations = command(
  "budgets.release",
  [SAMPLE_CALL],
  (callId: CostRecordId) => sql`delete from budget_reservations where call_id = ${callId}`,
);

export const deleteExpiredReservations = command(
  "budgets.release_expired",
  [],
  () => sql`delete from budget_reservations where expires_at < now()`,
);

export const spendBudgets = command(
  "budgets.spend",
  [[SAMPLE_ID], 0.1, 0],
  (ids: readonly string[], usd: number, unpriced: number) => sql`
  update budgets set spent_usd = spent_usd + ${usd}::float8, unpriced_count = unpriced_count + ${unpriced}, updated_at = now()
  where id = any(${ids}::text[])`,
);

export const markWarned = command(
  "budgets.mark_warned",
  [[SAMPLE_ID]],
  (ids: readonly string[]) => sql`update budgets set warned_at = now() where id = any(${ids}::text[])`,
);
