/** Whole sessions: read for an archive, and put in from one. */
import { ArtifactId, SandboxId, type JsonObject, type ProjectId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;
const SAMPLE_UUID = "00000000-0000-7000-8000-000000000000";
const SAMPLE_HASH = "0".repeat(64);

export const listSession = query(
  "archive.list_events",
  z.object({
    sandbox_seq: z.number(),
    event_type: z.string(),
    event_data: z.custom<JsonObject>(),
    source: z.string(),
    created_at: z.date(),
    generation: z.number().nullable(),
    caused_by_seq: z.number().nullable(),
  }),
  [SAMPLE_ID, 0, 1, 10],
  (id: SandboxId, afterSandboxSeq: number, throughSeq: number, limit: number) => sql`
  select e.sandbox_seq, e.event_type, e.event_data, e.source, e.created_at, e.generation,
    (select c.sandbox_seq from events c where c.id = e.caused_by and c.sandbox_id = e.sandbox_id) as caused_by_seq
  from events e where e.sandbox_id = ${id} and e.sandbox_seq > ${afterSandboxSeq} and e.seq <= ${throughSeq}
  order by e.seq limit ${limit}`,
);

export const listArtifacts = query(
  "archive.list_artifacts",
  z.object({ id: ArtifactId, size: z.number() }),
  [SAMPLE_ID, "", 10],
  (id: SandboxId, after: string, limit: number) => sql`
  select id, size from artifacts where sandbox_id = ${id} and id > ${after} order by id limit ${limit}`,
);

export interface StagedEvent {
  readonly id: string;
  readonly sandbox_seq: number;
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly source: string;
  readonly created_at: string;
  readonly generation: number | null;
  readonly caused_by_seq: number | null;
  readonly turn: number | null;
  readonly tool: string | null;
  readonly ref: string | null;
  readonly size: number;
  readonly flags: number;
}

/** Outside of the log and of its lock. */
export const stageEvents = command(
  "archive.stage",
  [SAMPLE_UUID, []],
  (importId: string, events: readonly StagedEvent[]) => sql`
  insert into archive_events (import_id, id, sandbox_seq, event_type, event_data, source, created_at, generation, caused_by_seq, turn,
    tool, ref, size, flags)
  select ${importId}::uuid, id, sandbox_seq, event_type, event_data, source, created_at, generation, caused_by_seq, turn, tool, ref, size,
    flags
  from json_to_recordset(${json(events)}::json) as given (id uuid, sandbox_seq bigint, event_type text, event_data jsonb, source text,
    created_at timestamptz, generation integer, caused_by_seq bigint, turn integer, tool text, ref text, size integer, flags smallint)`,
);

export const dropStaged = command(
  "archive.drop_staged",
  [SAMPLE_UUID],
  (importId: string) => sql`delete from archive_events where import_id = ${importId}::uuid`,
);

/** Of imports that were cut short. */
export const dropOldStaged = command(
  "archive.drop_old_staged",
  [],
  () => sql`delete from archive_events where staged_at < now() - interval '1 day'`,
);

export interface ImportedSandbox {
  readonly id: SandboxId;
  readonly project_id: ProjectId;
  readonly state: string;
  readonly state_cause: string | null;
  readonly generation: number;
  readonly provider: string;
  readonly runtime: string | null;
  readonly model: string | null;
  readonly prompt: string | null;
  readonly base_branch: string | null;
  readonly branch: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly created_by: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly ended_at: string;
  readonly turn: number;
  readonly cost_usd: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_tokens: number;
  readonly cache_write_tokens: number;
}

const SAMPLE: ImportedSandbox = {
  id: SAMPLE_ID,
  project_id: SAMPLE_PROJECT,
  state: "terminated",
  state_cause: null,
  generation: 1,
  provider: "external",
  runtime: null,
  model: null,
  prompt: null,
  base_branch: null,
  branch: null,
  labels: {},
  created_by: "x",
  created_at: "2026-01-01T00:00:00Z",
  started_at: null,
  ended_at: "2026-01-01T00:00:00Z",
  turn: 0,
  cost_usd: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
};

/** Closed from the beginning: nothing of it is anywhere, and no worker has a token. */
export const insertImported = command(
  "archive.insert_sandbox",
  [SAMPLE],
  (draft: ImportedSandbox) => sql`
  insert into sandboxes (id, project_id, state, state_cause, generation, provider, runtime, model, prompt, base_branch, branch, labels,
    network, created_by, created_at, started_at, ended_at, closed_at, turn, cost_usd, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens)
  select ${draft.id}, p.id, ${draft.state}, ${draft.state_cause}, ${draft.generation}, ${draft.provider}, ${draft.runtime}, ${draft.model},
    ${draft.prompt}, ${draft.base_branch}, ${draft.branch}, ${json(draft.labels)}::jsonb, 'none',
    ${draft.created_by}, ${draft.created_at}::timestamptz, ${draft.started_at}::timestamptz, ${draft.ended_at}::timestamptz, now(),
    ${draft.turn}, ${draft.cost_usd}, ${draft.input_tokens}, ${draft.output_tokens}, ${draft.cache_read_tokens},
    ${draft.cache_write_tokens}
  from projects p where p.id = ${draft.project_id}`,
);

/** Numbers are given under the append lock, in one statement: what was staged is in the log, all of it or nothing. */
export const appendStaged = query(
  "archive.append",
  z.object({ count: z.int() }),
  [SAMPLE_UUID, SAMPLE_ID, 1],
  (importId: string, id: SandboxId, count: number) => sql`
  with taken as materialized (select take_event_seqs(${count}) - ${count} as before),
  stored as (
    insert into events (seq, id, sandbox_id, sandbox_seq, project_id, task_id, entity_type, entity_id, event_type, event_data, source,
      created_at, client_event_id, generation, caused_by, turn, tool, ref, size, flags)
    select before + a.sandbox_seq, a.id, s.id, a.sandbox_seq, s.project_id, null, 'sandbox', s.id, a.event_type, a.event_data, a.source,
      a.created_at, null, a.generation, c.id, a.turn, a.tool, a.ref, a.size, a.flags
    from taken cross join archive_events a join sandboxes s on s.id = ${id}
    left join archive_events c on c.import_id = a.import_id and c.sandbox_seq = a.caused_by_seq
    where a.import_id = ${importId}::uuid
    returning seq, event_type, created_at, flags
  ), projected as (
    update sandboxes set last_sandbox_seq = ${count}, last_seq = (select max(seq) from stored),
      last_event_at = (select max(created_at) from stored),
      last_event_type = (select event_type from stored order by seq desc limit 1),
      heartbeat_count = (select count(*) from stored where flags & 1 = 1),
      first_heartbeat_at = (select min(created_at) from stored where flags & 1 = 1),
      last_heartbeat_at = (select max(created_at) from stored where flags & 1 = 1)
    where id = ${id}
  )
  select count(*)::int as count from stored`,
);

/** In the place of an import whose content was removed. */
export const insertArchive = command(
  "archives.insert",
  [SAMPLE_PROJECT, SAMPLE_HASH, SAMPLE_ID],
  (projectId: ProjectId, seal: string, id: SandboxId) =>
    sql`insert into archives (project_id, seal, sandbox_id) values (${projectId}, ${seal}, ${id})
      on conflict (project_id, seal) do update set sandbox_id = excluded.sandbox_id`,
);

export const findArchive = query(
  "archives.find",
  z.object({ sandbox_id: SandboxId }),
  [SAMPLE_PROJECT, SAMPLE_HASH],
  (projectId: ProjectId, seal: string) =>
    sql`select a.sandbox_id from archives a join sandboxes s on s.id = a.sandbox_id
      where a.project_id = ${projectId} and a.seal = ${seal} and s.removed_at is null`,
);

/** One import of one archive at a time. */
export const lockArchive = query(
  "archives.lock",
  z.object({ locked: z.unknown() }),
  [SAMPLE_HASH],
  (seal: string) => sql`select pg_advisory_xact_lock(hashtextextended(${seal}, 7))::text as locked`,
);
