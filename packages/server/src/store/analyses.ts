/** Verdicts of the judge and of the conductor, and the figures that the monitor shows. */
import { AnalysisId, ConductorAnalysis, ProjectId, SandboxId, Verdict, type JsonObject } from "@drover/contract";
import { z } from "zod";
import { NEWEST_SAMPLE, newest, type NewestFilter } from "./newest.ts";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const SAMPLE_ANALYSIS = "ana-000000000000" as AnalysisId;

const AnalysisRow = z.object({
  id: AnalysisId,
  position: z.number(),
  sandbox_id: SandboxId,
  project_id: ProjectId,
  model: z.string(),
  cursor_seq: z.number(),
  verdict: Verdict,
  created_at: z.date(),
});
export type AnalysisRow = z.infer<typeof AnalysisRow>;

const columns = sql`id, position, sandbox_id, project_id, model, cursor_seq, verdict, created_at`;

export const insertAnalysis = command(
  "guardian_analyses.insert",
  [SAMPLE_ANALYSIS, SAMPLE_ID, "vendor:model", 1, {}],
  (id: AnalysisId, sandboxId: SandboxId, model: string, cursorSeq: number, verdict: Readonly<Partial<Verdict>>) => sql`
  insert into guardian_analyses (id, sandbox_id, project_id, model, cursor_seq, verdict)
  select ${id}, s.id, s.project_id, ${model}, ${cursorSeq}, ${json(verdict)}::jsonb from sandboxes s where s.id = ${sandboxId}`,
);

export const noteJudged = command(
  "supervision.note_judged",
  [SAMPLE_ID, 1],
  (id: SandboxId, seq: number) => sql`
  update supervision set judged_at = now(), judged_seq = ${seq} where sandbox_id = ${id}`,
);

export const loadAnalysis = query(
  "guardian_analyses.load",
  AnalysisRow,
  [SAMPLE_ANALYSIS],
  (id: AnalysisId) => sql`select ${columns} from guardian_analyses where id = ${id}`,
);

export const listAnalyses = query(
  "guardian_analyses.list",
  AnalysisRow,
  [NEWEST_SAMPLE],
  (by: NewestFilter) => sql`select ${columns} from guardian_analyses ${newest(by)}`,
);

/** The newest events that tell what the agent did, newest first. */
export const listNewest = query(
  "guardian_analyses.newest_events",
  z.object({ seq: z.number(), event_type: z.string(), event_data: z.custom<JsonObject>() }),
  [SAMPLE_ID, 1, ["agent.usage"], 10],
  (id: SandboxId, upToSeq: number, unshown: readonly string[], limit: number) => sql`
  select seq, event_type, event_data from events
  where sandbox_id = ${id} and seq <= ${upToSeq} and flags & 1 = 0 and event_type <> all(${unshown}::text[])
  order by seq desc limit ${limit}`,
);

/** How much there is of a run: events that tell what its agent did, and the last one in which it said something. */
export const measureRun = query(
  "guardian_analyses.measure_run",
  z.object({ length: z.number(), last_said: z.number().nullable() }),
  [SAMPLE_ID, 1],
  (id: SandboxId, upToSeq: number) => sql`
  select count(*)::int as length, max(seq) filter (where event_type = 'agent.message') as last_said from events
  where sandbox_id = ${id} and seq <= ${upToSeq} and flags & 1 = 0 and source = 'agent'`,
);

const StandingRow = z.object({
  id: SandboxId,
  project_id: ProjectId,
  condition: z.string().nullable(),
  signals: z.custom<JsonObject>().nullable(),
  owned_files: z.array(z.string()),
  phase: z.string().nullable(),
  prompt: z.string().nullable(),
  verdict: Verdict.nullable(),
  judged_at: z.date().nullable(),
});
export type StandingRow = z.infer<typeof StandingRow>;

/** Running agents, each with its last verdict unless that is old. */
export const listStanding = query(
  "monitor.standing",
  StandingRow,
  [null, 600, 100],
  (projectId: string | null, freshSeconds: number, limit: number) => sql`
  select s.id, s.project_id, v.condition, v.signals, coalesce(t.owned_files, '{}') as owned_files, t.phase_id as phase, s.prompt,
    a.verdict, a.created_at as judged_at
  from sandboxes s left join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id
    left join lateral (select verdict, created_at from guardian_analyses g where g.sandbox_id = s.id
      and g.created_at > now() - make_interval(secs => ${freshSeconds}) order by position desc limit 1) a on true
  where s.state = 'running' ${projectId === null ? empty : sql`and s.project_id = ${projectId}`}
  order by s.created_at, s.id limit ${limit}`,
);

/** Files changed and commands run lately, for comparison with others. */
export const listTouched = query(
  "monitor.touched",
  z.object({ kind: z.enum(["file", "command"]), what: z.string() }),
  [SAMPLE_ID, 100],
  (id: SandboxId, limit: number) => sql`
  select distinct kind, what from (
    select case when event_type = 'agent.file_edited' then 'file' else 'command' end as kind,
      left(coalesce(event_data ->> 'file_path', event_data -> 'input' ->> 'command'), 300) as what
    from events where sandbox_id = ${id} and event_type in ('agent.file_edited', 'agent.tool_use') order by seq desc limit ${limit}) as lately
  where what is not null order by kind, what`,
);

const ConductorAnalysisRow = z.object({
  id: z.string(),
  position: z.number(),
  coherence_score: z.number().nullable(),
  system_status: z.string(),
  num_agents: z.number(),
  termination_count: z.number(),
  coordination_count: z.number(),
  duplicates: ConductorAnalysis.shape.duplicates,
  recommendations: z.array(z.string()),
  created_at: z.date(),
});
export type ConductorAnalysisRow = z.infer<typeof ConductorAnalysisRow>;

export const insertConductorAnalysis = command(
  "conductor_analyses.insert",
  [
    {
      id: "con-000000000000",
      projectId: null,
      coherence: null,
      status: "no_agents",
      agents: 0,
      terminations: 0,
      coordinations: 0,
      duplicates: [],
      recommendations: [],
    },
  ],
  (one: {
    readonly id: string;
    readonly projectId: string | null;
    readonly coherence: number | null;
    readonly status: string;
    readonly agents: number;
    readonly terminations: number;
    readonly coordinations: number;
    readonly duplicates: readonly unknown[];
    readonly recommendations: readonly string[];
  }) => sql`
  insert into conductor_analyses (id, project_id, coherence_score, system_status, num_agents, termination_count, coordination_count,
    duplicates, recommendations)
  values (${one.id}, ${one.projectId}, ${one.coherence}, ${one.status}, ${one.agents}, ${one.terminations}, ${one.coordinations}, ${json(one.duplicates)}::jsonb,
    ${json(one.recommendations)}::jsonb)`,
);

export const listConductorAnalyses = query(
  "conductor_analyses.list",
  ConductorAnalysisRow,
  [null, undefined, 10],
  (projectId: string | null, before: number | undefined, limit: number) => sql`
  select id, position, coherence_score, system_status, num_agents, termination_count, coordination_count, duplicates, recommendations, created_at from conductor_analyses
  where project_id is not distinct from ${projectId} ${before === undefined ? empty : sql`and position < ${before}`}
  order by position desc limit ${limit}`,
);

export const loadDashboard = query(
  "monitor.dashboard",
  z.object({
    total_tasks_pending: z.number(),
    total_tasks_completed: z.number(),
    active_agents: z.number(),
    stale_agents: z.number(),
    waiting_for_answer: z.number(),
    interventions_last_hour: z.number(),
    events_last_minute: z.number(),
    active_locks: z.number(),
    recent_anomalies: z.number(),
    critical_alerts: z.number(),
  }),
  [null],
  (projectId: string | null) => {
    const mine = projectId === null ? empty : sql`and project_id = ${projectId}`;
    return sql`
  select
    (select count(*)::int from tasks where status in ('pending', 'blocked') ${mine}) as total_tasks_pending,
    (select count(*)::int from tasks where status = 'completed' ${mine}) as total_tasks_completed,
    (select count(*)::int from sandboxes where state = 'running' ${mine}) as active_agents,
    (select count(*)::int from sandboxes where state = 'running' and last_contact_at < now() - interval '75 seconds' ${mine}) as stale_agents,
    (select count(*)::int from sandboxes s join supervision v on v.sandbox_id = s.id where s.state = 'running' and v.condition = 'waiting'
      ${projectId === null ? empty : sql`and s.project_id = ${projectId}`}) as waiting_for_answer,
    (select count(*)::int from interventions where created_at > now() - interval '1 hour' ${mine}) as interventions_last_hour,
    (select count(*)::int from (select 1 from events where seq > (select max(seq) from events) - 100000
      and created_at > now() - interval '1 minute' ${mine}) as lately) as events_last_minute,
    (select count(*)::int from tasks where status in ('claiming', 'assigned', 'running') and cardinality(owned_files) > 0 ${mine}) as active_locks,
    (select count(*)::int from anomalies where created_at > now() - interval '1 day' and acknowledged_at is null ${mine}) as recent_anomalies,
    (select count(*)::int from alerts where state = 'firing' and severity = 'critical' and acknowledged_at is null
      ${projectId === null ? empty : sql`and (project_id = ${projectId} or project_id is null)`}) as critical_alerts`;
  },
);
