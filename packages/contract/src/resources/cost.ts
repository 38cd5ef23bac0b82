/** What models cost: records of calls, prices, budgets. Money is in US dollars; null says that nobody knows the price. */
import { z } from "zod";
import { HeaderWord } from "./header-word.ts";
import { BudgetId, CostRecordId, ProjectId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";

const Tokens = z.int().nonnegative();
const Usd = z.number().nonnegative();

/** A name of something; what it names is looked for, not parsed. */
const ScopeId = z.string().min(1).max(200);

export const ModelProtocolName = z.enum(["anthropic", "openai", "gemini"]);
export type ModelProtocolName = z.infer<typeof ModelProtocolName>;

export const CostRecord = z.object({
  id: CostRecordId,
  /** Null: the server asked a model itself, about no sandbox or about several. */
  sandbox_id: SandboxId.nullable(),
  /** `agent`: a call of an agent; `judge` and `title`: calls of the server, to judge runs and to name tasks. */
  purpose: z.enum(["agent", "judge", "title"]),
  project_id: ProjectId,
  task_id: z.string().nullable(),
  ticket_id: z.string().nullable(),
  provider: ModelProtocolName,
  model: z.string(),
  turn: z.int().nonnegative(),
  /** With what was read from or written to a cache. */
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  total_tokens: Tokens,
  cache_read_tokens: Tokens,
  cache_write_tokens: Tokens,
  prompt_cost: Usd.nullable(),
  completion_cost: Usd.nullable(),
  total_cost: Usd.nullable(),
  /** The answer broke off: what the vendor had not said yet was counted from what had arrived. */
  is_estimate: z.boolean(),
  recorded_at: Timestamp,
});
export type CostRecord = z.infer<typeof CostRecord>;

export const CostScope = z.enum(["global", "project", "phase", "ticket", "task", "sandbox"]);
export type CostScope = z.infer<typeof CostScope>;

/** As it is asked for: an agent is a sandbox. */
export const AskedCostScope = z
  .enum([...CostScope.options, "agent"])
  .transform((scope): CostScope => (scope === "agent" ? "sandbox" : scope));

const CostTotals = {
  total_cost: Usd,
  total_tokens: Tokens,
  prompt_tokens: Tokens,
  completion_tokens: Tokens,
  cache_read_tokens: Tokens,
  cache_write_tokens: Tokens,
  record_count: z.int().nonnegative(),
  /** Calls of models without a price: they are in the tokens and not in the cost. */
  unpriced_count: z.int().nonnegative(),
};

export const CostSummary = z.object({
  scope_type: CostScope,
  scope_id: z.string().nullable(),
  ...CostTotals,
  breakdown: z.array(z.object({ provider: ModelProtocolName, model: z.string(), ...CostTotals })),
});
export type CostSummary = z.infer<typeof CostSummary>;

export const CostSummaryQuery = z
  .strictObject({ scope_type: AskedCostScope.default("global"), scope_id: ScopeId.optional() })
  .refine((query) => query.scope_type === "global" || query.scope_id !== undefined, {
    path: ["scope_id"],
    message: "is needed unless the scope is global",
  });

/** Into what costs are broken down; a day is one of UTC. */
export const CostBreakdownBy = z.enum(["model", "project", "ticket", "task", "sandbox", "phase", "day"]);

export const CostBreakdownQuery = z
  .strictObject({
    by: CostBreakdownBy.default("model"),
    scope_type: AskedCostScope.default("global"),
    scope_id: ScopeId.optional(),
    since: Timestamp.optional(),
    until: Timestamp.optional(),
  })
  .refine((query) => query.scope_type === "global" || query.scope_id !== undefined, {
    path: ["scope_id"],
    message: "is needed unless the scope is global",
  });
export type CostBreakdownQuery = z.infer<typeof CostBreakdownQuery>;

/** Dearest first; days in their order. */
export const CostBreakdown = z.object({
  by: CostBreakdownBy,
  items: z.array(z.object({ key: z.string(), label: z.string(), ...CostTotals })),
});
export type CostBreakdown = z.infer<typeof CostBreakdown>;

export const CostForecastRequest = z.strictObject({
  pending_task_count: z.int().positive().max(1_000_000),
  avg_tokens_per_task: z.int().positive().max(1_000_000_000).optional(),
  provider: z.string().min(1).max(100).default("anthropic"),
  model: z.string().min(1).max(200).default("claude-sonnet-4.5"),
});
export type CostForecastRequest = z.infer<typeof CostForecastRequest>;

export const CostForecast = z.object({
  pending_task_count: z.int().positive(),
  /** As asked for, else as measured on finished tasks, else 5,000. */
  avg_tokens_per_task: z.number().positive(),
  avg_tokens_origin: z.enum(["given", "measured", "default"]),
  provider: z.string(),
  model: z.string(),
  buffer_multiplier: z.number(),
  estimated_tokens: z.number(),
  /** Null: nobody knows the model's price. */
  estimated_cost: Usd.nullable(),
});
export type CostForecast = z.infer<typeof CostForecast>;

export const CostRecordFilter = {
  sandbox_id: SandboxId.optional(),
  /** The same: an agent is a sandbox. */
  agent_id: SandboxId.optional(),
  task_id: ScopeId.optional(),
  ticket_id: ScopeId.optional(),
  project_id: ProjectId.optional(),
  model: z.string().min(1).max(200).optional(),
};

const Share = z.number().min(0.01).max(1);
const Limit = z.number().positive().max(1_000_000);

export const NewBudget = z
  .strictObject({
    scope_type: AskedCostScope,
    scope_id: ScopeId.optional(),
    limit_amount: Limit,
    alert_threshold: Share.default(0.8),
    /** What was spent since then counts; from now on unless given. */
    period_start: Timestamp.optional(),
    period_end: Timestamp.optional(),
  })
  .refine((budget) => (budget.scope_type === "global") === (budget.scope_id === undefined), {
    path: ["scope_id"],
    message: "is needed unless the scope is global, and not given then",
  });
export type NewBudget = z.infer<typeof NewBudget>;

export const BudgetChange = z.strictObject({
  limit_amount: Limit.optional(),
  alert_threshold: Share.optional(),
  period_end: Timestamp.nullable().optional(),
});
export type BudgetChange = z.infer<typeof BudgetChange>;

export const Budget = z.object({
  id: BudgetId,
  scope_type: CostScope,
  scope_id: z.string().nullable(),
  project_id: ProjectId.nullable(),
  limit_amount: Usd,
  spent_amount: Usd,
  /** Held for calls under way. */
  reserved_amount: Usd,
  remaining_amount: Usd,
  utilization: z.number().nonnegative(),
  exceeded: z.boolean(),
  alert_threshold: z.number(),
  alert_triggered: z.boolean(),
  /** Calls of models without a price; the budget counts them at the dearest price known. */
  unpriced_count: z.int().nonnegative(),
  period_start: Timestamp,
  period_end: Timestamp.nullable(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Budget = z.infer<typeof Budget>;

export const BudgetFilter = { scope_type: AskedCostScope.optional(), scope_id: ScopeId.optional() };

/** The budgets of one scope, and whether a call would still be let through. */
export const BudgetCheck = z.object({
  scope_type: CostScope,
  scope_id: z.string().nullable(),
  available: z.boolean(),
  budgets: z.array(Budget),
});

/** US dollars for a million tokens. */
const PriceFields = {
  input: z.number().nonnegative().max(100_000),
  output: z.number().nonnegative().max(100_000),
  cache_read: z.number().nonnegative().max(100_000).nullable(),
  cache_write: z.number().nonnegative().max(100_000).nullable(),
};

export const PricedModel = z
  .string()
  .regex(/^[A-Za-z0-9*][A-Za-z0-9*._:-]{0,119}$/, "must be a model's name; * stands for anything");

const ContextTokens = z.int().positive().max(100_000_000).nullable();

export const PriceChange = z.strictObject({
  model: PricedModel,
  ...PriceFields,
  cache_read: PriceFields.cache_read.default(null),
  cache_write: PriceFields.cache_write.default(null),
  /** What is not given stays as it is. */
  context_tokens: ContextTokens.optional(),
});
export type PriceChange = z.infer<typeof PriceChange>;

export const Price = z.object({
  model: z.string(),
  ...PriceFields,
  /** `list`: came with Drover, read from the vendor's list on that day; `edited`: somebody's own. */
  origin: z.enum(["list", "edited"]),
  as_of: z.string(),
  /** How many tokens the model takes at once; null: nobody said. */
  context_tokens: ContextTokens.default(null),
});
export type Price = z.infer<typeof Price>;

/** Where a vendor's calls go. The key itself is never told. */
export const ModelUpstream = z.object({
  protocol: ModelProtocolName,
  base_url: z.string().nullable(),
  has_key: z.boolean(),
  /** `environment` stands for all that configures a server; it wins over what was stored. */
  origin: z.enum(["environment", "stored", "none"]),
});
export type ModelUpstream = z.infer<typeof ModelUpstream>;

export const ModelUpstreamChange = z.strictObject({
  base_url: z
    .url({ protocol: /^https?$/ })
    .max(500)
    .optional(),
  api_key: HeaderWord.max(1_000).optional(),
});
export type ModelUpstreamChange = z.infer<typeof ModelUpstreamChange>;
