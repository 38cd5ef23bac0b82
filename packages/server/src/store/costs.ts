/** Model calls and what they cost. */
import {
  CostRecord,
  CostRecordId,
  ModelProtocolName,
  ProjectId,
  SandboxId,
  type CostBreakdown,
  type CostScope,
} from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { command, query } from "./query.ts";
import { empty, join, sql } from "./sql.ts";

const SAMPLE_ID = "00000000-0000-7000-8000-000000000000" as CostRecordId;
const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const CostRow = z.object({
  id: CostRecordId,
  sandbox_id: SandboxId.nullable(),
  purpose: CostRecord.shape.purpose,
  project_id: ProjectId,
  task_id: z.string().nullable(),
  ticket_id: z.string().nullable(),
  turn: z.number(),
  provider: ModelProtocolName,
  model: z.string(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  input_usd: z.number().nullable(),
  output_usd: z.number().nullable(),
  is_estimate: z.boolean(),
  recorded_at: z.date(),
});
export type CostRow = z.infer<typeof CostRow>;

export interface CostDraft {
  readonly id: CostRecordId;
  readonly sandbox_id: SandboxId | null;
  readonly purpose: CostRow["purpose"];
  readonly project_id: ProjectId;
  readonly task_id: string | null;
  readonly ticket_id: string | null;
  readonly generation: number;
  readonly turn: number;
  readonly provider: string;
  readonly model: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
  readonly input_usd: number | null;
  readonly output_usd: number | null;
  readonly is_estimate: boolean;
}

const SAMPLE_DRAFT: CostDraft = {
  id: SAMPLE_ID,
  sandbox_id: SAMPLE_SANDBOX,
  purpose: "agent",
  project_id: SAMPLE_PROJECT,
  task_id: null,
  ticket_id: null,
  generation: 1,
  turn: 1,
  provider: "anthropic",
  model: "a",
  input_tokens: 1,
  output_tokens: 1,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  input_usd: 0.1,
  output_usd: null,
  is_estimate: false,
};

/** The record, and the sandbox's sums with it, if it is of one; the sandbox's row is locked by this transaction. */
export const insertCost = command(
  "costs.insert",
  [SAMPLE_DRAFT],
  (draft: CostDraft) => sql`
  with recorded as (
    insert into cost_records (id, sandbox_id, purpose, project_id, task_id, ticket_id, generation, turn, provider, model, input_tokens,
      output_tokens, cache_read_tokens, cache_write_tokens, input_usd, output_usd, is_estimate)
    values (${draft.id}, ${draft.sandbox_id}, ${draft.purpose}, ${draft.project_id}, ${draft.task_id}, ${draft.ticket_id},
      ${draft.generation}, ${draft.turn}, ${draft.provider}, ${draft.model}, ${draft.input_tokens}, ${draft.output_tokens},
      ${draft.cache_read_tokens}, ${draft.cache_write_tokens}, ${draft.input_usd}::float8, ${draft.output_usd}::float8,
      ${draft.is_estimate})
    returning sandbox_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, input_usd + output_usd as usd)
  update sandboxes s set
    cost_usd = s.cost_usd + coalesce(recorded.usd, 0),
    priced_calls = s.priced_calls + (recorded.usd is not null)::int,
    unpriced_calls = s.unpriced_calls + (recorded.usd is null)::int,
    input_tokens = s.input_tokens + recorded.input_tokens,
    output_tokens = s.output_tokens + recorded.output_tokens,
    cache_read_tokens = s.cache_read_tokens + recorded.cache_read_tokens,
    cache_write_tokens = s.cache_write_tokens + recorded.cache_write_tokens
  from recorded where s.id = recorded.sandbox_id`,
);

/** Tokens of a call that was replayed: nobody was paid for it. */
export const addTokens = command(
  "costs.add_tokens",
  [SAMPLE_SANDBOX, 1, 1, 0, 0],
  (id: SandboxId, input: number, output: number, cacheRead: number, cacheWrite: number) => sql`
  update sandboxes set input_tokens = input_tokens + ${input}, output_tokens = output_tokens + ${output},
    cache_read_tokens = cache_read_tokens + ${cacheRead}, cache_write_tokens = cache_write_tokens + ${cacheWrite}
  where id = ${id}`,
);

type CostBreakdownBy = CostBreakdown["by"];

const SCOPE_COLUMNS: Readonly<Record<Exclude<CostScope, "global">, Statement>> = {
  project: sql`project_id`,
  phase: sql`(select k.phase_id from tasks k where k.id = cost_records.task_id)`,
  ticket: sql`ticket_id`,
  task: sql`task_id`,
  sandbox: sql`sandbox_id`,
};

export interface CostFilter {
  /** Null: of all projects. */
  readonly visibleProject: string | null;
  readonly scopes: readonly { readonly type: CostScope; readonly id: string | null }[];
  readonly model?: string | undefined;
  readonly since?: string | undefined;
}

function toWhere(filter: CostFilter, more: readonly Statement[] = []): Statement {
  const conditions = [
    ...(filter.visibleProject === null ? [] : [sql`project_id = ${filter.visibleProject}`]),
    ...filter.scopes.flatMap(({ type, id }) => (type === "global" ? [] : [sql`${SCOPE_COLUMNS[type]} = ${id}`])),
    ...(filter.model === undefined ? [] : [sql`model = ${filter.model}`]),
    ...(filter.since === undefined ? [] : [sql`recorded_at >= ${filter.since}::timestamptz`]),
    ...more,
  ];
  return conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`;
}

const SAMPLE_FILTER: CostFilter = {
  visibleProject: SAMPLE_PROJECT,
  scopes: [{ type: "task", id: "a" }],
  model: "a",
  since: "2026-01-01T00:00:00Z",
};

export const listCosts = query(
  "costs.list",
  CostRow,
  [SAMPLE_FILTER, SAMPLE_ID, 10],
  (filter: CostFilter, before: CostRecordId | undefined, limit: number) => sql`
  select id, sandbox_id, purpose, project_id, task_id, ticket_id, turn, provider, model, input_tokens, output_tokens, cache_read_tokens,
    cache_write_tokens, input_usd::float8 as input_usd, output_usd::float8 as output_usd, is_estimate, recorded_at
  from cost_records ${toWhere(filter, before === undefined ? [] : [sql`id < ${before}::uuid`])}
  order by id desc limit ${limit}`,
);

const SumRow = z.object({
  provider: ModelProtocolName,
  model: z.string(),
  usd: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  records: z.number(),
  unpriced: z.number(),
});
export type CostSumRow = z.infer<typeof SumRow>;

export const sumCosts = query(
  "costs.sum",
  SumRow,
  [SAMPLE_FILTER],
  (filter: CostFilter) => sql`
  select provider, model, coalesce(sum(input_usd + output_usd), 0)::float8 as usd, sum(input_tokens)::bigint as input_tokens,
    sum(output_tokens)::bigint as output_tokens, sum(cache_read_tokens)::bigint as cache_read_tokens,
    sum(cache_write_tokens)::bigint as cache_write_tokens, count(*) as records,
    count(*) filter (where input_usd is null or output_usd is null) as unpriced
  from cost_records ${toWhere(filter)} group by provider, model order by usd desc, provider, model limit 1000`,
);

const BREAKDOWN_COLUMNS: Readonly<Record<CostBreakdownBy, { readonly key: Statement; readonly label: Statement }>> = {
  model: { key: sql`c.model`, label: sql`c.model` },
  project: { key: sql`c.project_id`, label: sql`coalesce(p.name, c.project_id)` },
  ticket: { key: sql`c.ticket_id`, label: sql`coalesce(k.title, c.ticket_id)` },
  task: { key: sql`c.task_id`, label: sql`coalesce(t.title, c.task_id)` },
  sandbox: { key: sql`c.sandbox_id`, label: sql`c.sandbox_id` },
  phase: { key: sql`t.phase_id`, label: sql`t.phase_id` },
  day: {
    key: sql`to_char(c.recorded_at at time zone 'UTC', 'YYYY-MM-DD')`,
    label: sql`to_char(c.recorded_at at time zone 'UTC', 'YYYY-MM-DD')`,
  },
};

const BreakdownRow = SumRow.omit({ provider: true, model: true }).extend({ key: z.string(), label: z.string() });

/** What belongs to nothing of the kind (no task, no ticket) stands under "". */
export const breakDownCosts = query(
  "costs.break_down",
  BreakdownRow,
  ["phase", { ...SAMPLE_FILTER, model: undefined }, null],
  (by: CostBreakdownBy, filter: CostFilter, until: string | null) => sql`
  select coalesce(${BREAKDOWN_COLUMNS[by].key}, '') as key, coalesce(max(${BREAKDOWN_COLUMNS[by].label}), '') as label,
    coalesce(sum(c.input_usd + c.output_usd), 0)::float8 as usd, sum(c.input_tokens)::bigint as input_tokens,
    sum(c.output_tokens)::bigint as output_tokens, sum(c.cache_read_tokens)::bigint as cache_read_tokens,
    sum(c.cache_write_tokens)::bigint as cache_write_tokens, count(*) as records,
    count(*) filter (where c.input_usd is null or c.output_usd is null) as unpriced
  from (select * from cost_records ${toWhere(filter)}) c left join projects p on p.id = c.project_id
    left join tasks t on t.id = c.task_id left join tickets k on k.id = c.ticket_id
  where ${until}::timestamptz is null or c.recorded_at < ${until}::timestamptz
  group by 1 order by ${by === "day" ? sql`1` : sql`usd desc, 1`} limit 1000`,
);

/** Tokens of finished tasks, each with all its calls, newest first. */
export const measureTaskTokens = query(
  "costs.task_tokens",
  z.object({ tasks: z.number(), tokens: z.number().nullable() }),
  [null],
  (projectId: string | null) => sql`
  select count(*)::int as tasks, avg(tokens)::float8 as tokens from (
    select sum(c.input_tokens + c.output_tokens + c.cache_read_tokens + c.cache_write_tokens) as tokens
    from (select id from tasks where status = 'completed' ${projectId === null ? empty : sql`and project_id = ${projectId}`}
      order by completed_at desc nulls last limit 200) t join cost_records c on c.task_id = t.id group by t.id) as done`,
);
