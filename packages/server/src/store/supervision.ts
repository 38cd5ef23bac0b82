/** What supervision remembers of each run, and what it did about it. */
import {
  Intervention,
  InterventionId,
  type JsonObject,
  MessageId,
  ProjectId,
  SandboxId,
  SandboxState,
  TaskId,
  TERMINAL_SANDBOX_STATES,
} from "@drover/contract";
import { z } from "zod";
import { NEWEST_SAMPLE, newest, type NewestFilter } from "./newest.ts";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const FINAL = [...TERMINAL_SANDBOX_STATES];

const JsonColumn = z.custom<JsonObject>();

/** A run and how far it was looked at; the states are null before the first look. */
export const WatchedRow = z.object({
  id: SandboxId,
  project_id: ProjectId,
  task_id: TaskId.nullable(),
  state: SandboxState,
  provider: z.string(),
  host: z.string().nullable(),
  prompt: z.string().nullable(),
  created_at: z.date(),
  started_at: z.date().nullable(),
  last_contact_at: z.date().nullable(),
  last_seq: z.number(),
  cursor_seq: z.number(),
  watch: JsonColumn.nullable(),
  signals: JsonColumn.nullable(),
  condition: z.string().nullable(),
  nudged_at: z.date().nullable(),
  judged_at: z.date().nullable(),
  judged_seq: z.number(),
  owned_files: z.array(z.string()),
  phase: z.string().nullable(),
});
export type WatchedRow = z.infer<typeof WatchedRow>;

const watched = sql`s.id, s.project_id, s.task_id, s.state, s.provider, s.host, s.prompt, s.created_at, s.started_at, s.last_contact_at, s.last_seq,
  coalesce(v.cursor_seq, 0) as cursor_seq, v.watch, v.signals, v.condition, v.nudged_at, v.judged_at,
  coalesce(v.judged_seq, 0) as judged_seq, coalesce(t.owned_files, '{}') as owned_files, t.phase_id as phase`;

/** Runs that have not ended, and those whose end has not been read yet, oldest first. */
export const listWatched = query(
  "supervision.list_watched",
  WatchedRow,
  [10],
  (limit: number) => sql`
  select ${watched} from sandboxes s left join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id
  where s.closed_at is null and (s.state <> all(${FINAL}::text[]) or coalesce(v.cursor_seq, 0) < s.last_seq)
  order by s.created_at, s.id limit ${limit}`,
);

/** Runs that have ended while it was not known whether an intervention helped. */
export const listUnsettled = query(
  "supervision.list_unsettled",
  WatchedRow,
  [10],
  (limit: number) => sql`
  select ${watched} from sandboxes s join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id
  where s.state = any(${FINAL}::text[]) and s.id in (select i.sandbox_id from interventions i where i.outcome = 'pending')
  order by s.created_at, s.id limit ${limit}`,
);

export const ensureSupervision = command(
  "supervision.ensure",
  [SAMPLE_ID, {}, {}],
  (id: SandboxId, watch: JsonObject, signals: JsonObject) => sql`
  insert into supervision (sandbox_id, watch, signals) select id, ${json(watch)}::jsonb, ${json(signals)}::jsonb
  from sandboxes where id = ${id} on conflict do nothing`,
);

/** Nobody else folds it meanwhile; who comes second finds it folded. */
export const lockSupervision = query(
  "supervision.lock",
  z.object({ cursor_seq: z.number(), watch: JsonColumn, signals: JsonColumn }),
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  select cursor_seq, watch, signals from supervision where sandbox_id = ${id} for update`,
);

export const saveSupervision = command(
  "supervision.save",
  [SAMPLE_ID, { cursorSeq: 1, watch: {}, signals: {} }],
  (
    id: SandboxId,
    folded: { readonly cursorSeq: number; readonly watch: JsonObject; readonly signals: JsonObject },
  ) => sql`
  update supervision set cursor_seq = ${folded.cursorSeq}, watch = ${json(folded.watch)}::jsonb, signals = ${json(folded.signals)}::jsonb
  where sandbox_id = ${id}`,
);

/** Nothing is returned when another replica has noted it before. */
export const saveCondition = query(
  "supervision.save_condition",
  z.object({ sandbox_id: SandboxId }),
  [SAMPLE_ID, "alive", new Date(0)],
  (id: SandboxId, condition: string, since: Date) => sql`
  update supervision set condition = ${condition}, condition_since = ${since} where sandbox_id = ${id} and condition is distinct from ${condition}
  returning sandbox_id`,
);

/** Which of these beat and do nothing, as it was noted at the last look. */
export const listQuiet = query(
  "supervision.list_quiet",
  z.object({ sandbox_id: SandboxId, condition: z.enum(["idle", "stuck"]) }),
  [[SAMPLE_ID]],
  (ids: readonly SandboxId[]) => sql`
  select sandbox_id, condition from supervision where sandbox_id = any(${ids}::text[]) and condition in ('idle', 'stuck')
  order by sandbox_id limit 10000`,
);

/** One nudge per spell, whoever looks: false when another replica has just given it. */
export const claimNudge = query(
  "supervision.claim_nudge",
  z.object({ sandbox_id: SandboxId }),
  [SAMPLE_ID, new Date(0), new Date(0)],
  (id: SandboxId, since: Date, now: Date) => sql`
  update supervision set nudged_at = ${now} where sandbox_id = ${id} and (nudged_at is null or nudged_at < ${since}) returning sandbox_id`,
);

/** With the bodies of those types only; null: of all. */
export const listEventsToFold = query(
  "supervision.events",
  z.object({
    seq: z.number(),
    event_type: z.string(),
    event_data: JsonColumn,
    source: z.string(),
    created_at: z.date(),
  }),
  [SAMPLE_ID, 0, 10, ["agent.usage"]],
  (id: SandboxId, afterSeq: number, limit: number, bodies: readonly string[] | null) => sql`
  select seq, event_type, source, created_at,
    ${bodies === null ? sql`event_data` : sql`case when event_type = any(${bodies}::text[]) then event_data else '{}' end as event_data`}
  from events where sandbox_id = ${id} and seq > ${afterSeq} order by seq limit ${limit}`,
  { trusted: true },
);

export const loadSupervision = query(
  "supervision.load",
  WatchedRow.extend({ condition_since: z.date().nullable() }),
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  select ${watched}, v.condition_since from sandboxes s left join supervision v on v.sandbox_id = s.id left join tasks t on t.id = s.task_id where s.id = ${id}`,
);

const InterventionRow = z.object({
  id: InterventionId,
  position: z.number(),
  sandbox_id: SandboxId,
  project_id: ProjectId,
  signal: z.string(),
  level: Intervention.shape.level,
  rung: Intervention.shape.rung,
  mode: Intervention.shape.mode,
  reason: z.string(),
  seqs: z.array(z.number()),
  message_id: MessageId.nullable(),
  at_seq: z.number(),
  injected_seq: z.number().nullable(),
  outcome: Intervention.shape.outcome,
  created_at: z.date(),
  settled_at: z.date().nullable(),
});
export type InterventionRow = z.infer<typeof InterventionRow>;

const columns = sql`id, position, sandbox_id, project_id, signal, level, rung, mode, reason, seqs, message_id, at_seq, injected_seq,
  outcome, created_at, settled_at`;

export type NewIntervention = Omit<
  InterventionRow,
  "position" | "injected_seq" | "outcome" | "created_at" | "settled_at"
>;

const SAMPLE_INTERVENTION: NewIntervention = {
  id: "int-000000000000" as InterventionId,
  sandbox_id: SAMPLE_ID,
  project_id: "project-00000000-0000-0000-0000-000000000000" as ProjectId,
  signal: "error_streak",
  level: "warning",
  rung: "nudge",
  mode: "nudge",
  reason: "",
  seqs: [1],
  message_id: null,
  at_seq: 1,
};

/** From the sandbox's row, so that none is written about something that is not there. */
export const insertIntervention = command(
  "interventions.insert",
  [SAMPLE_INTERVENTION],
  (one: NewIntervention) => sql`
  insert into interventions (id, sandbox_id, project_id, signal, level, rung, mode, reason, seqs, message_id, at_seq)
  select ${one.id}, s.id, s.project_id, ${one.signal}, ${one.level}, ${one.rung}, ${one.mode}, ${one.reason}, ${json(one.seqs)}::jsonb,
    ${one.message_id}, ${one.at_seq} from sandboxes s where s.id = ${one.sandbox_id}`,
);

export const listInterventions = query(
  "interventions.list",
  InterventionRow,
  [NEWEST_SAMPLE],
  (by: NewestFilter) => sql`select ${columns} from interventions ${newest(by)}`,
);

export const countInterventions = query(
  "interventions.count",
  z.object({ count: z.number() }),
  [],
  () => sql`select count(*)::int as count from interventions`,
);

export const settleIntervention = command(
  "interventions.settle",
  ["int-000000000000", "helped", null],
  (id: string, outcome: string, injectedSeq: number | null) => sql`
  update interventions set outcome = ${outcome}, injected_seq = ${injectedSeq}, settled_at = case when ${outcome} = 'pending' then null else now() end
  where id = ${id} and outcome = 'pending'`,
);

/** Where the agent was given a message. */
export const findInjected = query(
  "interventions.find_injected",
  z.object({ seq: z.number() }),
  [SAMPLE_ID, 1, "msg-000000000000"],
  (id: SandboxId, afterSeq: number, messageId: string) => sql`
  select seq from events where sandbox_id = ${id} and event_type = 'agent.message_injected' and seq > ${afterSeq}
    and event_data ->> 'message_id' = ${messageId} order by seq limit 1`,
);

/** Calls the agent made after an event: what it did with what it was told. */
export const countSteps = query(
  "interventions.count_steps",
  z.object({ steps: z.number() }),
  [SAMPLE_ID, 1],
  (id: SandboxId, afterSeq: number) => sql`
  select count(*)::int as steps from (
    select 1 from events where sandbox_id = ${id} and event_type in ('agent.tool_use', 'agent.completed') and seq > ${afterSeq} limit 100) as steps`,
);
