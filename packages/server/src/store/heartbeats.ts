/** How the workers of one kind of agent beat, counted by steps of time. */
import { z } from "zod";
import { query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const StepRow = z.object({
  /** Counted from 0, the oldest. */
  step: z.number(),
  heartbeats: z.number(),
  heard: z.number(),
  silent: z.number(),
  missed: z.number(),
  restarts: z.number(),
  failures: z.number(),
  anomalies: z.number(),
  sandboxes: z.number(),
});

export interface HeartbeatSpan {
  readonly agentType: string;
  /** Null: of all. */
  readonly projectId: string | null;
  readonly from: Date;
  readonly steps: number;
  readonly stepSeconds: number;
  readonly now: Date;
  /** Sorts before every event of the span; events before it are not read. */
  readonly firstEventId: string;
  /** Who ran for so long within a step should have been heard of in it. */
  readonly graceSeconds: number;
  readonly most: number;
}

const SAMPLE: HeartbeatSpan = {
  agentType: "claude",
  projectId: null,
  from: new Date(0),
  steps: 4,
  stepSeconds: 900,
  now: new Date(3_600_000),
  firstEventId: "00000000-0000-0000-0000-000000000000",
  graceSeconds: 120,
  most: 10,
};

/** One row for each step. Numbers of events rise with their time: the number of the first event of the span bounds what is read of each
 *  sandbox, along the index by type; only its few changes of state are read from its beginning. */
export const countHeartbeats = query("heartbeats.count", StepRow, [SAMPLE], (span: HeartbeatSpan) => {
  const { from, now, stepSeconds, steps } = span;
  const own = sql`coalesce(runtime, 'external') = ${span.agentType}
    ${span.projectId === null ? empty : sql`and project_id = ${span.projectId}`}`;
  const step = sql`floor(extract(epoch from created_at - ${from}::timestamptz) / ${stepSeconds}::int)::int`;
  const within = sql`created_at >= ${from} and created_at <= ${now}`;
  return sql`
  with mine as materialized (
    select id from (
      select id, created_at from sandboxes where closed_at is null and ${own}
        and (state in ('running', 'completing') or last_event_at >= ${from})
      union all select id, created_at from sandboxes where closed_at >= ${from} and ${own}) s
    order by created_at desc, id desc limit ${span.most}),
  bound as materialized (
    select coalesce((select seq from events where id >= ${span.firstEventId}::uuid order by id limit 1), 0) as seq),
  spans as (
    select n as step, ${from}::timestamptz + make_interval(secs => n * ${stepSeconds}::int) as since,
      least(${from}::timestamptz + make_interval(secs => (n + 1) * ${stepSeconds}::int), ${now}) as until
    from generate_series(0, ${steps}::int - 1) n),
  moves as (
    select m.id, e.state, e.created_at, lead(e.created_at, 1, ${now}) over (partition by m.id order by e.seq) as until
    from mine m cross join lateral (
      select seq, created_at, event_data ->> 'to' as state from events
      where sandbox_id = m.id and event_type = 'STATE_CHANGED') e),
  ran as (
    select m.id, p.step from moves m join spans p on m.until > p.since and m.created_at < p.until
    where m.state in ('running', 'completing') group by m.id, p.step
    having sum(extract(epoch from least(m.until, p.until) - greatest(m.created_at, p.since))) >= ${span.graceSeconds}::float8),
  beats as (
    select m.id, e.step, count(*) as heartbeats
    from mine m cross join bound cross join lateral (
      select ${step} as step from events where sandbox_id = m.id
        and event_type in ('agent.heartbeat', 'spec.heartbeat', 'heartbeat') and seq >= bound.seq and ${within}) e
    group by m.id, e.step),
  heard as (
    select step, sum(heartbeats) as heartbeats, count(heartbeats) as heard, count(*) filter (where heartbeats is null) as silent
    from beats full join ran using (id, step) group by step),
  told as (
    select e.step, count(*) filter (where event_type = 'HEARTBEAT_MISSED') as missed,
      count(*) filter (where event_type = 'AGENT_RESTARTED') as restarts
    from mine m cross join bound cross join lateral (
      select ${step} as step, event_type from events where entity_type = 'agent' and entity_id = 'agent-' || m.id
        and seq >= bound.seq and event_type in ('HEARTBEAT_MISSED', 'AGENT_RESTARTED') and ${within}) e
    group by e.step),
  failed as (select ${step} as step, count(*) as failures from moves where state = 'failed' and ${within} group by 1),
  odd as (
    select a.step, count(*) as anomalies from mine m cross join lateral (
      select ${step} as step from anomalies where sandbox_id = m.id and ${within}) a
    group by a.step)
  select p.step, coalesce(heartbeats, 0)::int as heartbeats, coalesce(heard, 0)::int as heard, coalesce(silent, 0)::int as silent,
    coalesce(missed, 0)::int as missed, coalesce(restarts, 0)::int as restarts, coalesce(failures, 0)::int as failures,
    coalesce(anomalies, 0)::int as anomalies, (select count(*)::int from mine) as sandboxes
  from spans p left join heard using (step) left join told using (step) left join failed using (step) left join odd using (step)
  order by p.step limit ${steps}`;
});
