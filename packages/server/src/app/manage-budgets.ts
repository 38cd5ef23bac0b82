/** Budgets: made, read, raised, taken away. */
import {
  AppError,
  BudgetId,
  type Budget,
  type BudgetChange,
  type CostScope,
  type ErrorCode,
  type NewBudget,
  type ProjectId,
  type SandboxId,
  type TaskId,
  type TicketId,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import { deleteBudget, insertBudget, listBudgets, loadBudget, updateBudget, type BudgetRow } from "../store/budgets.ts";
import { sumCosts } from "../store/costs.ts";
import { updateSandboxBudget, type SandboxRow } from "../store/sandboxes.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { locateProject, locateSandbox, locateTask, locateTicket } from "./locate.ts";
import { toBudgetData } from "./reserve-call.ts";

const toBudget = (row: BudgetRow): Budget => {
  const held = row.spent_usd + row.reserved_usd;
  return {
    id: row.id,
    scope_type: row.scope_type,
    scope_id: row.scope_id,
    project_id: row.project_id,
    limit_amount: row.limit_usd,
    spent_amount: row.spent_usd,
    reserved_amount: row.reserved_usd,
    remaining_amount: Math.max(0, row.limit_usd - held),
    utilization: row.limit_usd === 0 ? 1 : row.spent_usd / row.limit_usd,
    exceeded: row.spent_usd >= row.limit_usd,
    alert_threshold: row.warn_share,
    alert_triggered: row.warned_at !== null,
    unpriced_count: row.unpriced_count,
    period_start: row.period_start.toISOString(),
    period_end: row.period_end?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
};

interface Scope {
  readonly scope_type: CostScope;
  readonly scope_id?: string | undefined;
}

/** Phases are the same in all projects: like everything together they belong to none. */
type NamedScope = Exclude<CostScope, "global" | "phase">;

const MISSING: Readonly<Record<NamedScope, ErrorCode>> = {
  project: "project.not_found",
  ticket: "ticket.not_found",
  task: "task.not_found",
  sandbox: "sandbox.not_found",
};

const LOCATE: Readonly<Record<NamedScope, (db: Db, id: string) => Promise<ProjectId | undefined>>> = {
  project: (db, id) => locateProject(db, id as ProjectId),
  ticket: (db, id) => locateTicket(db, id as TicketId),
  task: (db, id) => locateTask(db, id as TaskId),
  sandbox: (db, id) => locateSandbox(db, id as SandboxId),
};

/** The project that a scope lies in; null for all of them. What is hidden from the caller is not there. */
async function findProject(deps: Deps, actor: Person, { scope_type, scope_id = "" }: Scope): Promise<ProjectId | null> {
  if (scope_type !== "global" && scope_type !== "phase") return requireScope(deps, actor, scope_type, scope_id);
  if (actor.grant.projectId !== null)
    throw new AppError("auth.forbidden", "only somebody of all projects limits something of all of them");
  return null;
}

/** The project of what is named. */
export async function requireScope(
  deps: Deps,
  actor: Person,
  scope_type: NamedScope,
  scope_id: string,
): Promise<ProjectId> {
  const mine = actor.grant.projectId;
  const found = await LOCATE[scope_type](deps.db, scope_id);
  if (found === undefined || (mine !== null && mine !== found)) throw new AppError(MISSING[scope_type]);
  return found;
}

async function requireBudget(db: Db, actor: Person, id: BudgetId): Promise<BudgetRow> {
  const row = await loadBudget.maybe(db, id);
  const isHidden = actor.grant.projectId !== null && row?.project_id !== actor.grant.projectId;
  if (row === undefined || isHidden) throw new AppError("budget.not_found");
  return row;
}

const audit = (actor: Person, action: string, row: BudgetRow) => ({
  actor: actor.tokenId,
  action,
  target: row.id,
  project_id: row.project_id,
  detail: { scope_type: row.scope_type, scope_id: row.scope_id, limit_usd: row.limit_usd },
  request_id: null,
});

const draftChange = (deps: Deps, eventType: string, row: BudgetRow) =>
  draftEvent(
    deps.ids,
    { type: "budget", id: row.id, projectId: row.project_id },
    { eventType, data: toBudgetData(row), source: "user" },
  );

export async function createBudget(
  deps: Deps,
  actor: Person,
  input: NewBudget,
  key: RequestKey | undefined,
): Promise<Budget> {
  const projectId = await findProject(deps, actor, input);
  // It would be kept, shown as a limit, and stop nothing.
  if (input.period_end !== undefined && Date.parse(input.period_end) <= deps.clock.now().getTime())
    throw new AppError("request.invalid", "`period_end` is over");
  return createOnce(deps, key, async (tx, append) => {
    const spent =
      input.period_start === undefined
        ? []
        : await sumCosts(tx, {
            visibleProject: projectId,
            scopes: [{ type: input.scope_type, id: input.scope_id ?? null }],
            since: input.period_start,
          });
    const id = deps.ids.budget();
    await insertBudget(tx, {
      id,
      scope_type: input.scope_type,
      scope_id: input.scope_id ?? null,
      project_id: projectId,
      limit_usd: input.limit_amount,
      spent_usd: spent.reduce((total, row) => total + row.usd, 0),
      unpriced_count: spent.reduce((total, row) => total + row.unpriced, 0),
      warn_share: input.alert_threshold,
      period_start: input.period_start ?? null,
      period_end: input.period_end ?? null,
    });
    const row = await loadBudget.one(tx, id);
    await insertAudit(tx, audit(actor, "budget.create", row));
    await append([draftChange(deps, "budget.created", row)]);
    return toBudget(row);
  });
}

/** The budget that a sandbox is made with. */
export async function limitSandbox(tx: Db, deps: Deps, sandbox: SandboxRow, usd: number): Promise<void> {
  await insertBudget(tx, {
    id: deps.ids.budget(),
    scope_type: "sandbox",
    scope_id: sandbox.id,
    project_id: sandbox.project_id,
    limit_usd: usd,
    spent_usd: 0,
    unpriced_count: 0,
    warn_share: deps.config.budgetWarnShare,
    period_start: null,
    period_end: null,
  });
}

export async function getBudget(deps: Deps, actor: Person, id: BudgetId): Promise<Budget> {
  return toBudget(await requireBudget(deps.db, actor, id));
}

/** The limit that a sandbox was made with is the one that its view shows. */
export async function changeBudget(deps: Deps, actor: Person, id: BudgetId, change: BudgetChange): Promise<Budget> {
  return writeWithEvents(deps, async (tx, append) => {
    const before = await requireBudget(tx, actor, id);
    if (before.project_id === null && actor.grant.projectId !== null) throw new AppError("budget.not_found");
    await updateBudget(tx, id, {
      limit_usd: change.limit_amount,
      warn_share: change.alert_threshold,
      period_end: change.period_end,
    });
    const row = await loadBudget.one(tx, id);
    if (row.scope_type === "sandbox" && row.scope_id !== null && change.limit_amount !== undefined)
      await updateSandboxBudget(tx, row.scope_id as SandboxId, change.limit_amount);
    await insertAudit(tx, audit(actor, "budget.change", row));
    await append([draftChange(deps, "budget.changed", row)]);
    return toBudget(row);
  });
}

export async function removeBudget(deps: Deps, actor: Person, id: BudgetId): Promise<Budget> {
  return writeWithEvents(deps, async (tx, append) => {
    const row = await requireBudget(tx, actor, id);
    await deleteBudget(tx, id);
    await insertAudit(tx, audit(actor, "budget.delete", row));
    await append([draftChange(deps, "budget.deleted", row)]);
    return toBudget(row);
  });
}

interface BudgetQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly scope_type?: CostScope | undefined;
  readonly scope_id?: string | undefined;
}

export async function pageBudgets(deps: Deps, actor: Person, query: BudgetQuery) {
  const before = parseCursor(BudgetId, query.cursor);
  if (before !== undefined) await requireBudget(deps.db, actor, before);
  const rows = await listBudgets(deps.db, {
    visibleProject: actor.grant.projectId,
    scopeType: query.scope_type,
    scopeId: query.scope_id,
    before,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return { items: items.map(toBudget), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

const CHECKED = 500;

export async function checkBudgets(deps: Deps, actor: Person, scope: Scope) {
  const rows = await listBudgets(deps.db, {
    visibleProject: actor.grant.projectId,
    scopeType: scope.scope_type,
    scopeId: scope.scope_type === "global" ? undefined : scope.scope_id,
    before: undefined,
    limit: CHECKED,
  });
  const budgets = rows.map(toBudget);
  return {
    scope_type: scope.scope_type,
    scope_id: scope.scope_type === "global" ? null : (scope.scope_id ?? null),
    available: budgets.every((budget) => !budget.exceeded),
    budgets,
  };
}
