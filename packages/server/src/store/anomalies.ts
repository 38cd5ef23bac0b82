/** Runs that behave unlike the others. */
import { AnomalyId, AnomalySeverity, Anomaly, ProjectId, SandboxId, type JsonObject } from "@drover/contract";
import { z } from "zod";
import { NEWEST_SAMPLE, newest, type NewestFilter } from "./newest.ts";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_ID = "ano-000000000000" as AnomalyId;
const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

const AnomalyRow = z.object({
  id: AnomalyId,
  position: z.number(),
  sandbox_id: SandboxId,
  project_id: ProjectId,
  score: z.number(),
  severity: AnomalySeverity,
  parts: Anomaly.shape.parts,
  readings: z.number(),
  created_at: z.date(),
  acknowledged_at: z.date().nullable(),
  acknowledged_by: z.string().nullable(),
});
export type AnomalyRow = z.infer<typeof AnomalyRow>;

const columns = sql`id, position, sandbox_id, project_id, score, severity, parts, readings, created_at, acknowledged_at, acknowledged_by`;

export type NewAnomaly = Pick<AnomalyRow, "id" | "sandbox_id" | "score" | "severity" | "parts" | "readings">;

export const insertAnomaly = query(
  "anomalies.insert",
  AnomalyRow,
  [
    {
      id: SAMPLE_ID,
      sandbox_id: SAMPLE_SANDBOX,
      score: 1,
      severity: "warning",
      parts: { latency: 1, errors: 1, resources: 1, queue: 1 },
      readings: 3,
    },
  ],
  (one: NewAnomaly) => sql`
  insert into anomalies (id, sandbox_id, project_id, score, severity, parts, readings)
  select ${one.id}, s.id, s.project_id, ${one.score}::float8, ${one.severity}, ${json(one.parts)}::jsonb, ${one.readings}::int
  from sandboxes s where s.id = ${one.sandbox_id} returning ${columns}`,
);

export const loadAnomaly = query(
  "anomalies.load",
  AnomalyRow,
  [SAMPLE_ID],
  (id: AnomalyId) => sql`select ${columns} from anomalies where id = ${id}`,
);

/** The first acknowledgement stays. */
export const acknowledgeAnomaly = query(
  "anomalies.acknowledge",
  AnomalyRow,
  [SAMPLE_ID, "tok-000000000000"],
  (id: AnomalyId, by: string) => sql`
  update anomalies set acknowledged_at = coalesce(acknowledged_at, now()), acknowledged_by = coalesce(acknowledged_by, ${by})
  where id = ${id} returning ${columns}`,
);

export const listAnomalies = query(
  "anomalies.list",
  AnomalyRow,
  [{ ...NEWEST_SAMPLE, since: new Date(0), severity: undefined }],
  (by: NewestFilter & { readonly since: Date; readonly severity: string | undefined }) => sql`
  select ${columns} from anomalies ${newest(
    by,
    sql`and created_at > ${by.since} ${by.severity === undefined ? empty : sql`and severity = ${by.severity}`}`,
  )}`,
);

const ReadingRow = z.object({
  id: SandboxId,
  project_id: ProjectId,
  /** Mean seconds from call to result, of calls that ended lately; null when none did. */
  latency: z.number().nullable(),
  results: z.number(),
  errors: z.number(),
  tokens: z.number(),
  /** Pending tasks that wait for its own. */
  held: z.number(),
  before: z.custom<JsonObject>().nullable(),
});
export type ReadingRow = z.infer<typeof ReadingRow>;

/** What every running agent did lately, in one statement. */
export const listReadings = query(
  "anomalies.readings",
  ReadingRow,
  [60, 100],
  (seconds: number, limit: number) => sql`
  select s.id, s.project_id, e.latency, coalesce(e.results, 0)::int as results, coalesce(e.errors, 0)::int as errors,
    (s.input_tokens + s.output_tokens)::float8 as tokens, coalesce(t.blockers, 0) as held, v.anomaly as before
  from sandboxes s join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id
    left join lateral (
      select avg(extract(epoch from r.created_at - c.created_at))::float8 as latency, count(*) as results,
        count(*) filter (where r.event_data -> 'is_error' = 'true'::jsonb) as errors
      from (select created_at, event_data, seq from events where sandbox_id = s.id
          and (event_type = 'agent.tool_result' or (event_type = 'agent.user_tool_result' and not event_data ? 'told_as')) order by seq desc limit 200) r
        left join lateral (select created_at from events u where u.sandbox_id = s.id and u.event_type = 'agent.tool_use' and u.seq < r.seq
          and u.event_data ->> 'tool_use_id' = r.event_data ->> 'tool_use_id' order by u.seq desc limit 1) c on true
      where r.created_at > now() - make_interval(secs => ${seconds})) e on true
  where s.state = 'running' order by s.created_at, s.id limit ${limit}`,
);

export const saveReading = command(
  "anomalies.save_reading",
  [SAMPLE_SANDBOX, {}],
  (id: SandboxId, reading: JsonObject) => sql`
  update supervision set anomaly = ${json(reading)}::jsonb where sandbox_id = ${id}`,
);

/** The guardian asks its judge again at its next beat. */
export const askJudgeSoon = command(
  "anomalies.ask_judge",
  [SAMPLE_SANDBOX],
  (id: SandboxId) => sql`update supervision set judged_at = null where sandbox_id = ${id}`,
);
