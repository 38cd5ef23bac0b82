/** What runs that are over cost and took. */
import type { ProjectId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

/** Null: of whatever project, with whatever model. */
export interface RunsLike {
  readonly projectId: ProjectId | null;
  readonly runtime: string;
  readonly model: string | null;
}

const Figure = z.number().nullable();

/** Of the newest two hundred that came to an end by themselves and asked a model; cost of those whose every call has a price. */
export const measureRuns = query(
  "costs.measure_runs",
  z.object({
    runs: z.number(),
    unpriced: z.number(),
    usd_half: Figure,
    usd_most: Figure,
    tokens_half: Figure,
    tokens_most: Figure,
    seconds_half: Figure,
    seconds_most: Figure,
  }),
  [SAMPLE_PROJECT, { projectId: SAMPLE_PROJECT, runtime: "claude", model: "a" }],
  (visibleProject: ProjectId | null, like: RunsLike) => sql`
  with done as (
    select s.unpriced_calls > 0 as is_unpriced, s.cost_usd,
      s.input_tokens + s.output_tokens + s.cache_read_tokens + s.cache_write_tokens as tokens,
      greatest(0, extract(epoch from coalesce(s.ended_at, s.last_event_at) - s.started_at)) as seconds
    from sandboxes s
    where s.state in ('completed', 'terminated') and s.turn > 0 and s.priced_calls + s.unpriced_calls > 0
      and s.started_at is not null and s.runtime = ${like.runtime}
      ${visibleProject === null ? empty : sql`and s.project_id = ${visibleProject}`}
      ${like.projectId === null ? empty : sql`and s.project_id = ${like.projectId}`}
      ${like.model === null ? empty : sql`and s.model = ${like.model}`}
    order by s.created_at desc, s.id desc limit 200)
  select count(*)::int as runs, (count(*) filter (where is_unpriced))::int as unpriced,
    percentile_cont(0.5) within group (order by cost_usd) filter (where not is_unpriced) as usd_half,
    percentile_cont(0.9) within group (order by cost_usd) filter (where not is_unpriced) as usd_most,
    percentile_cont(0.5) within group (order by tokens) as tokens_half,
    percentile_cont(0.9) within group (order by tokens) as tokens_most,
    percentile_cont(0.5) within group (order by seconds) as seconds_half,
    percentile_cont(0.9) within group (order by seconds) as seconds_most
  from done`,
);
