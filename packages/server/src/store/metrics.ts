/** Figures over time: measured, made coarser as they age, and read for charts. */
import { MetricName, METRICS } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

export const RAW_SECONDS = 30;
export const COARSER = [300, 3_600] as const;
type Step = typeof RAW_SECONDS | (typeof COARSER)[number];

const namesOf = (fold: "sum" | "max"): readonly string[] =>
  Object.entries(METRICS).flatMap(([name, metric]) => (metric.fold === fold ? [name] : []));
const SUMS = namesOf("sum");
const MAXES = namesOf("max");

const CursorRow = z.object({
  at: z.date().nullable(),
  event_seq: z.number(),
  rolled_300: z.date().nullable(),
  rolled_3600: z.date().nullable(),
  totals: z.record(z.string(), z.number()),
  health: z.string().nullable(),
});
export type MetricCursor = z.infer<typeof CursorRow>;

const cursor = sql`nullif(at, '-infinity') as at, event_seq, nullif(rolled_300, '-infinity') as rolled_300,
  nullif(rolled_3600, '-infinity') as rolled_3600, totals, health`;

/** None while another replica measures. */
export const lockMetricCursor = query(
  "metrics.lock_cursor",
  CursorRow,
  [],
  () => sql`select ${cursor} from metric_cursor for update skip locked`,
);

export const loadMetricCursor = query(
  "metrics.load_cursor",
  CursorRow,
  [],
  () => sql`select ${cursor} from metric_cursor`,
);

export const saveMetricCursor = command(
  "metrics.save_cursor",
  [{ at: new Date(0), event_seq: 0, rolled_300: null, rolled_3600: null, totals: {}, health: null }],
  (one: MetricCursor) => sql`
  update metric_cursor set at = ${one.at}, event_seq = ${one.event_seq}, totals = ${json(one.totals)}::jsonb, health = ${one.health},
    rolled_300 = coalesce(${one.rolled_300}::timestamptz, '-infinity'), rolled_3600 = coalesce(${one.rolled_3600}::timestamptz, '-infinity')`,
);

const Figure = z.object({ metric: MetricName, scope: z.string(), value: z.number() });
export type Figure = z.infer<typeof Figure>;

export interface Span {
  readonly since: Date;
  readonly until: Date;
  /** Events after the first, up to the second. */
  readonly fromSeq: number;
  readonly toSeq: number;
  /** Sorts before every cost record of the span. */
  readonly fromCostId: string;
  readonly freshSeconds: number;
}

const SAMPLE_SPAN: Span = {
  since: new Date(0),
  until: new Date(30_000),
  fromSeq: 0,
  toSeq: 10,
  fromCostId: "00000000-0000-7000-8000-000000000000",
  freshSeconds: 600,
};

/** Of a phase in a project, of each of them, and over all; the bits say what a row is not of: 2 a project, 1 a phase. */
const sets = sql`group by grouping sets ((project_id, phase_id), (project_id), (phase_id), ())`;
const level = sql`project_id, phase_id, grouping(project_id, phase_id) as level`;

/** By project, by phase of the work, and over all: what stands now, and what happened in the span. Where there is nothing there is no row,
 *  and none for a phase of what belongs to no task. */
export const gatherFigures = query(
  "metrics.gather",
  Figure,
  [SAMPLE_SPAN],
  ({ since, until, fromSeq, toSeq, fromCostId, freshSeconds }: Span) => sql`
  with live as (
    select s.id, s.project_id, t.phase_id, s.state, s.created_at, v.condition from sandboxes s
      left join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id
    where s.closed_at is null and s.state in ('pending', 'creating', 'running', 'paused', 'completing')),
  spent as (
    select c.project_id, t.phase_id, input_tokens + output_tokens + cache_read_tokens + cache_write_tokens as tokens,
      (input_usd + output_usd)::float8 as usd
    from cost_records c left join tasks t on t.id = c.task_id
    where c.id >= ${fromCostId}::uuid and recorded_at > ${since} and recorded_at <= ${until}),
  judged as (
    select l.project_id, l.phase_id, (a.verdict ->> 'alignment_score')::float8 as alignment from live l
      join lateral (select verdict from guardian_analyses g where g.sandbox_id = l.id
        and g.created_at > ${until}::timestamptz - make_interval(secs => ${freshSeconds}) order by position desc limit 1) a on true
    where l.state = 'running'),
  failed as (
    select t.project_id, t.phase_id from task_attempts a join tasks t on t.id = a.task_id
    where a.ended_at > ${since} and a.ended_at <= ${until} and a.outcome in ('failed', 'lost', 'timed_out')),
  heard as (
    select e.project_id, t.phase_id, e.count from (
      select project_id, task_id, count(*) as count from events where seq > ${fromSeq} and seq <= ${toSeq} group by project_id, task_id) e
      left join tasks t on t.id = e.task_id),
  intervened as (
    select i.project_id, t.phase_id from interventions i join sandboxes s on s.id = i.sandbox_id left join tasks t on t.id = s.task_id
    where i.created_at > ${since} and i.created_at <= ${until} and i.rung <> 'note'),
  figures as (
    select 'queue_depth' as metric, ${level}, count(*)::float8 as value from tasks where status = 'pending' ${sets}
    union all select 'time_to_assign_seconds', ${level},
      avg(extract(epoch from assigned_at - greatest(created_at, coalesce(not_before, created_at))))::float8
      from tasks where assigned_at > ${since} and assigned_at <= ${until} ${sets}
    union all select 'task_failures', ${level}, count(*)::float8 from failed ${sets}
    union all select 'event_rate', ${level},
      coalesce(sum(count), 0)::float8 / greatest(1, extract(epoch from ${until}::timestamptz - ${since}::timestamptz))::float8 from heard ${sets}
    union all select 'active_sandboxes', ${level}, count(*)::float8 from live ${sets}
    union all select 'sandbox_age_seconds', ${level}, max(extract(epoch from ${until}::timestamptz - created_at))::float8 from live ${sets}
    union all select 'stuck_sandboxes', ${level},
      count(*) filter (where state = 'running' and condition in ('idle', 'stuck', 'warned', 'dead'))::float8 from live ${sets}
    union all select 'waiting_for_answer', ${level},
      count(*) filter (where state = 'running' and condition = 'waiting')::float8 from live ${sets}
    union all select 'tokens', ${level}, coalesce(sum(tokens), 0)::float8 from spent ${sets}
    union all select 'cost_usd', ${level}, coalesce(sum(usd), 0)::float8 from spent ${sets}
    union all select 'interventions', ${level}, count(*)::float8 from intervened ${sets}
    union all select 'alignment', ${level}, avg(alignment) from judged ${sets}
    union all select 'coherence', project_id, null, (project_id is null)::int * 2 + 1, coherence_score from (
      select distinct on (project_id) project_id, coherence_score from conductor_analyses
      where created_at > ${until}::timestamptz - make_interval(secs => ${freshSeconds}) order by project_id, position desc) c)
  select metric, concat_ws(' ', project_id, phase_id) as scope, value from figures
  where value is not null and (level & 2 = 2 or project_id is not null) and (level & 1 = 1 or phase_id is not null) limit 100000`,
);

/** Age in seconds of the oldest event that was not passed on yet. */
export const loadLag = query(
  "metrics.lag",
  z.object({ seconds: z.number() }),
  [0, new Date(0)],
  (headSeq: number, now: Date) => sql`
  select coalesce(greatest(0, extract(epoch from ${now}::timestamptz - (select created_at from events where seq > ${headSeq} order by seq limit 1))), 0)::float8
    as seconds`,
);

export const insertFigures = command(
  "metrics.insert",
  [new Date(0), [{ metric: "tokens", scope: "", value: 1 }]],
  (at: Date, figures: readonly Figure[]) => sql`
  insert into metric_rows (metric, scope, step, at, value)
  select metric, scope, ${RAW_SECONDS}::int, ${at}::timestamptz, value from jsonb_to_recordset(${json(figures)}::jsonb) as given (metric text, scope text, value float8)
  on conflict do nothing`,
);

const folded = sql`case when metric = any(${SUMS}::text[]) then sum(value) when metric = any(${MAXES}::text[]) then max(value) else avg(value) end`;

/** Finished spans of the finer rows as one row each. */
export const rollUp = command(
  "metrics.roll_up",
  [300, new Date(0), new Date(0)],
  (step: (typeof COARSER)[number], from: Date, to: Date) => sql`
  insert into metric_rows (metric, scope, step, at, value)
  select metric, scope, ${step}::int, to_timestamp(floor(extract(epoch from at) / ${step}::int) * ${step}::int), ${folded}
  from metric_rows where step = ${step === 300 ? RAW_SECONDS : 300} and at >= ${from} and at < ${to} group by 1, 2, 4
  on conflict do nothing`,
);

export const deleteOldMetrics = command(
  "metrics.delete_old",
  [30, new Date(0)],
  (step: Step, before: Date) => sql`delete from metric_rows where step = ${step} and at < ${before}`,
);

export interface SeriesQuery {
  readonly metrics: readonly MetricName[];
  readonly scope: string;
  readonly from: Date;
  readonly to: Date;
  /** Rows to read, and, after `finerFrom`, measured ones in their place. */
  readonly step: Step;
  readonly finerFrom: Date;
  readonly binSeconds: number;
}

const SeriesRow = z.object({ metric: MetricName, at: z.date(), value: z.number() });

export const listSeries = query(
  "metrics.series",
  SeriesRow,
  [
    {
      metrics: ["tokens"],
      scope: "",
      from: new Date(0),
      to: new Date(0),
      step: 300,
      finerFrom: new Date(0),
      binSeconds: 300,
    },
  ],
  (one: SeriesQuery) => sql`
  select metric, to_timestamp(floor(extract(epoch from at) / ${one.binSeconds}::int) * ${one.binSeconds}::int) as at, ${folded} as value
  from metric_rows where metric = any(${one.metrics}::text[]) and scope = ${one.scope} and at >= ${one.from} and at < ${one.to}
    and ((step = ${one.step} and at < ${one.finerFrom}) or (step = ${RAW_SECONDS} and at >= ${one.finerFrom}))
  group by 1, 2 order by 1, 2 limit 100000`,
);

/** The newest measurement of everything in a scope; all scopes when it is null. */
export const listLatest = query(
  "metrics.latest",
  Figure,
  ["", new Date(0)],
  (scope: string | null, notBefore: Date) => sql`
  select distinct on (metric, scope) metric, scope, value from metric_rows
  where step = ${RAW_SECONDS} and at >= ${notBefore} and (${scope}::text is null or scope = ${scope}) order by metric, scope, at desc limit 100000`,
);
