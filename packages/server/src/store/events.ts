/** The event log: appending under the lock, and reading by filter. */
import { EventId, SandboxId, type EventQuery, type EventSource, type StoredEvent } from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { toBigints, toIntegers, toJsonbs, toSmallints, toTexts, toUuids } from "./binary-array.ts";
import { query } from "./query.ts";
import type { SandboxProjection } from "./sandboxes.ts";
import { empty, join, json, sql } from "./sql.ts";

/** An event as it is appended. `data_text` is `event_data` in JSON, made once and used for the row, its size and its frame. */
export interface EventRow {
  /** 0 until it is taken. */
  seq: number;
  readonly id: EventId;
  readonly sandbox_id: SandboxId | null;
  readonly sandbox_seq: number | null;
  readonly project_id: string | null;
  readonly task_id: string | null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly event_type: string;
  readonly data_text: string;
  /** Whether event_data has a key that the published payload sets itself. */
  readonly shadows: boolean;
  readonly source: EventSource;
  readonly created_at: Date;
  readonly client_event_id: string | null;
  readonly generation: number | null;
  readonly caused_by: EventId | null;
  readonly turn: number | null;
  readonly tool: string | null;
  readonly ref: string | null;
  readonly flags: number;
}

/** Rows as columns, each one parameter. What events of one worker have in common travels once, as `origins`. */
export interface EventColumns {
  readonly count: number;
  readonly at: Date;
  readonly origins: readonly EventOrigin[];
  /** Of each row, by its place in `origins`. */
  readonly origin: Uint8Array;
  readonly id: Uint8Array;
  readonly sandboxSeq: Uint8Array;
  readonly eventType: Uint8Array;
  readonly data: Uint8Array;
  readonly source: Uint8Array;
  readonly clientEventId: Uint8Array;
  readonly causedBy: Uint8Array;
  readonly turn: Uint8Array;
  readonly tool: Uint8Array;
  readonly ref: Uint8Array;
  readonly size: Uint8Array;
  readonly flags: Uint8Array;
}

interface EventOrigin extends Pick<
  EventRow,
  "sandbox_id" | "project_id" | "task_id" | "entity_type" | "entity_id" | "generation"
> {
  readonly origin: number;
}

/** All rows of one append have the same time. */
export function toEventColumns(rows: readonly EventRow[], at: Date): EventColumns {
  const origins = new Map<string, EventOrigin>();
  let last: EventOrigin | undefined;
  const origin = rows.map((row) => {
    const { sandbox_id, project_id, task_id, entity_type, entity_id, generation } = row;
    // Events of one worker stand together: as a rule it is that of the row before.
    if (last?.entity_id === entity_id && last.entity_type === entity_type && last.generation === generation)
      return last.origin;
    const key = `${entity_type} ${entity_id} ${generation}`;
    last = origins.get(key);
    if (last !== undefined) return last.origin;
    last = { origin: origins.size, sandbox_id, project_id, task_id, entity_type, entity_id, generation };
    origins.set(key, last);
    return last.origin;
  });
  const data = toJsonbs(rows.map((row) => row.data_text));
  return {
    count: rows.length,
    at,
    origins: [...origins.values()],
    origin: toIntegers(origin),
    id: toUuids(rows.map((row) => row.id)),
    sandboxSeq: toBigints(rows.map((row) => row.sandbox_seq)),
    eventType: toTexts(rows.map((row) => row.event_type)),
    data: data.array,
    source: toTexts(rows.map((row) => row.source)),
    clientEventId: toTexts(rows.map((row) => row.client_event_id)),
    causedBy: toUuids(rows.map((row) => row.caused_by)),
    turn: toIntegers(rows.map((row) => row.turn)),
    tool: toTexts(rows.map((row) => row.tool)),
    ref: toTexts(rows.map((row) => row.ref)),
    size: toIntegers(data.sizes),
    flags: toSmallints(rows.map((row) => row.flags)),
  };
}

const SAMPLE_ROWS: EventColumns = { ...toEventColumns([], new Date(0)), count: 1 };

const Appended = z.object({ before: z.number(), version: z.string() });

/** Appends in one statement, because each round trip is time in which everybody else waits for the append lock: parses what
 *  was given, and only then takes the numbers, writes events and moves the sandboxes' projections. `before` is the number
 *  before the first, `version` what the sandboxes' rows have from then on. */
const toAppend = (
  rows: EventColumns,
  projections: readonly SandboxProjection[],
  guard: { readonly locked: Statement; readonly isMet: Statement },
): Statement => sql`
  with ${guard.locked} given as materialized (
    select * from unnest(${rows.origin}::integer[], ${rows.id}::uuid[], ${rows.sandboxSeq}::bigint[],
      ${rows.eventType}::text[], ${rows.data}::jsonb[], ${rows.source}::text[], ${rows.clientEventId}::text[],
      ${rows.causedBy}::uuid[], ${rows.turn}::integer[], ${rows.tool}::text[], ${rows.ref}::text[],
      ${rows.size}::integer[], ${rows.flags}::smallint[]) with ordinality
    as given (origin, id, sandbox_seq, event_type, event_data, source, client_event_id, caused_by, turn, tool, ref, size,
      flags, n)
  ), taken as materialized (
    select take_event_seqs(${rows.count}) - ${rows.count} as before from (select count(*) from given) parsed
    ${guard.isMet}
  ), stored as (
    insert into events (seq, id, sandbox_id, sandbox_seq, project_id, task_id, entity_type, entity_id, event_type, event_data,
      source, created_at, client_event_id, generation, caused_by, turn, tool, ref, size, flags)
    select before + n, id, sandbox_id, sandbox_seq, project_id, task_id, entity_type, entity_id, event_type, event_data,
      source, ${rows.at}::timestamptz, client_event_id, generation, caused_by, turn, tool, ref, size, flags
    from taken cross join given join json_to_recordset(${json(rows.origins)}::json) as origins (origin integer,
      sandbox_id text, project_id text, task_id text, entity_type text, entity_id text, generation integer) using (origin)
  ), projected as (
    update sandboxes s set state = p.state, state_cause = p.state_cause, started_at = p.started_at, ended_at = p.ended_at,
      last_sandbox_seq = p.last_sandbox_seq, last_seq = before + p.last_row, last_event_type = p.last_event_type,
      last_event_at = p.last_event_at, turn = p.turn, heartbeat_count = p.heartbeat_count,
      first_heartbeat_at = p.first_heartbeat_at, last_heartbeat_at = p.last_heartbeat_at, last_contact_at = p.last_contact_at
    from taken cross join json_to_recordset(${json(projections)}::json) as p (id text, state text, state_cause text,
      started_at timestamptz, ended_at timestamptz, last_sandbox_seq bigint, last_row bigint, last_event_type text,
      last_event_at timestamptz, turn integer, heartbeat_count bigint, first_heartbeat_at timestamptz,
      last_heartbeat_at timestamptz, last_contact_at timestamptz)
    where s.id = p.id
  )
  select before, pg_current_xact_id()::xid::text as version from taken`;

/** In a transaction that holds the locks of the sandboxes' rows. */
export const appendRows = query(
  "events.append",
  Appended,
  [SAMPLE_ROWS, []],
  (rows: EventColumns, projections: readonly SandboxProjection[]) =>
    toAppend(rows, projections, { locked: empty, isMet: empty }),
  { trusted: true, prepared: true },
);

/** A sandbox's row as it was last seen. The version is the number of the transaction that wrote it, so that whoever changes anything
 *  in it changes that too. */
export interface SeenSandbox {
  readonly id: SandboxId;
  readonly version: string;
}

/** The same as a transaction of its own: one round trip, and nobody waits for us between the write and its commit. Locks the
 *  sandboxes' rows first and does nothing, for which there is no row, unless each is as it was seen. */
export const appendToSeen = query(
  "events.append_to_seen",
  Appended,
  [SAMPLE_ROWS, [], [{ id: "drover-00000000-000000" as SandboxId, version: "1" }]],
  (rows: EventColumns, projections: readonly SandboxProjection[], seen: readonly SeenSandbox[]) =>
    toAppend(rows, projections, {
      locked: sql`locked as materialized (
    select s.id from sandboxes s join unnest(${seen.map(({ id }) => id)}::text[], ${seen.map(({ version }) => version)}::text[])
      as seen (id, version) on s.id = seen.id and s.xmin = seen.version::xid
    order by s.id for update of s
  ),`,
      isMet: sql`where (select count(*) from locked) = ${seen.length}`,
    }),
  { trusted: true, prepared: true },
);

const KeyRow = z.object({
  sandbox_id: SandboxId,
  client_event_id: z.string(),
  seq: z.number(),
  id: EventId,
  event_type: z.string(),
  created_at: z.date(),
});
export type KeyRow = z.infer<typeof KeyRow>;

/** Which of these were stored before. The caller holds the sandboxes' row locks, so the answer cannot change under it. */
export const listKeys = query(
  "events.list_keys",
  KeyRow,
  [["drover-00000000-000000"], ["k"]],
  (sandboxIds: readonly string[], keys: readonly string[]) => sql`
  select e.sandbox_id, e.client_event_id, e.seq, e.id, e.event_type, e.created_at
  from unnest(${sandboxIds}::text[], ${keys}::text[]) as given (sandbox_id, client_event_id)
  cross join lateral (select * from events e where e.sandbox_id = given.sandbox_id
    and e.client_event_id = given.client_event_id and e.client_event_id is not null limit 1) e
  order by e.seq limit 100000`,
  { trusted: true, prepared: true },
);

const StoredRow = z.object({
  id: EventId,
  seq: z.number(),
  sandbox_seq: z.number().nullable(),
  sandbox_id: SandboxId.nullable(),
  task_id: z.string().nullable(),
  event_type: z.string(),
  event_data: z.unknown(),
  source: z.string(),
  created_at: z.date(),
  client_event_id: z.string().nullable(),
  generation: z.number().nullable(),
  caused_by: EventId.nullable(),
});
type StoredRow = z.infer<typeof StoredRow>;

/** A page of the stream ends with the row that makes it this large, so that many large bodies are many pages. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** A page that somebody asked for holds all events that were asked for, unless a server could not hold many such pages: callers take a
 *  page that is not full for the last one. */
const LIST_BYTES = 32 * 1024 * 1024;

const PageRow = StoredRow.extend({ is_beyond: z.boolean() });
type PageRow = z.infer<typeof PageRow>;

const columns = sql`id, seq, sandbox_seq, sandbox_id, task_id, event_type, event_data, source, created_at, client_event_id, generation, caused_by`;

const toStoredEvent = (row: StoredRow): StoredEvent =>
  ({ ...row, created_at: row.created_at.toISOString() }) as StoredEvent;

/** Rows of which a page is made: one more than it may have, and bodies of those only that it has room for. */
const toPageRows = (rows: Statement, order: Statement): Statement => sql`
  select id, seq, sandbox_seq, sandbox_id, task_id, event_type, case when is_beyond then null else event_data end as event_data,
    source, created_at, client_event_id, generation, caused_by, is_beyond
  from (select *, sum(size) over (order by seq ${order} rows unbounded preceding) - size >= ${LIST_BYTES} as is_beyond
    from (${rows}) found) page
  order by seq ${order}`;

export interface StoredPage {
  readonly events: StoredEvent[];
  readonly hasMore: boolean;
}

/** Of one row more than `limit`. */
export function toStoredPage(rows: readonly PageRow[], limit: number): StoredPage {
  const kept = rows.filter(({ is_beyond }, index) => index < limit && !is_beyond);
  return { events: kept.map(({ is_beyond: _, ...row }) => toStoredEvent(row)), hasMore: rows.length > kept.length };
}

/** What a list of events is taken from: one sandbox's log, one project's, or everything. */
export type LogScope = { readonly sandboxId: SandboxId } | { readonly projectId: string | null };

const scopeCondition = (scope: LogScope): readonly Statement[] => {
  if ("sandboxId" in scope) return [sql`sandbox_id = ${scope.sandboxId}`];
  return scope.projectId === null ? [] : [sql`project_id = ${scope.projectId}`];
};

const filterConditions = (scope: LogScope, filter: EventQuery): readonly Statement[] => [
  ...scopeCondition(scope),
  ...(filter.event_type === undefined ? [] : [sql`event_type = any(${filter.event_type}::text[])`]),
  ...(filter.source === undefined ? [] : [sql`source = ${filter.source}`]),
  ...(filter.after_seq === undefined ? [] : [sql`seq > ${filter.after_seq}`]),
  ...(filter.before_seq === undefined ? [] : [sql`seq < ${filter.before_seq}`]),
];

const where = (conditions: readonly Statement[]): Statement =>
  conditions.length === 0 ? empty : sql`where ${join(conditions, sql` and `)}`;

const SAMPLE_SCOPE: LogScope = { sandboxId: "drover-00000000-000000" as SandboxId };
const SAMPLE_FILTER: EventQuery = {
  limit: 10,
  offset: 0,
  event_type: ["agent.message"],
  source: "agent",
  after_seq: 0,
  before_seq: 9,
};

export const listEvents = query(
  "events.list",
  PageRow,
  [SAMPLE_SCOPE, SAMPLE_FILTER, "desc"],
  (scope: LogScope, filter: EventQuery, order: "asc" | "desc") => {
    const direction = order === "asc" ? sql`asc` : sql`desc`;
    const rows = sql`select * from events ${where(filterConditions(scope, filter))}
    order by seq ${direction} limit ${filter.limit + 1} offset ${filter.offset}`;
    return toPageRows(rows, direction);
  },
  { trusted: true },
);

export const countEvents = query(
  "events.count",
  z.object({ count: z.number() }),
  [SAMPLE_SCOPE, SAMPLE_FILTER],
  (scope: LogScope, filter: EventQuery) =>
    sql`select count(*) as count from events ${where(filterConditions(scope, filter))}`,
);

export const loadHead = query(
  "events.head",
  z.object({ seq: z.number() }),
  [],
  () => sql`select coalesce(max(seq), 0) as seq from events`,
  { prepared: true },
);

export const loadEvent = query(
  "events.load",
  StoredRow,
  [SAMPLE_SCOPE.sandboxId, "00000000-0000-7000-8000-000000000000"],
  (sandboxId: SandboxId, id: string) =>
    sql`select ${columns} from events where id = ${id} and sandbox_id = ${sandboxId}`,
  { trusted: true, prepared: true },
);

/** One page of a trajectory. Equal times neither lose nor repeat anything, because the order is that of seq. */
export const listTrajectory = query(
  "events.trajectory",
  PageRow,
  [SAMPLE_SCOPE.sandboxId, 1, "older", false, 10],
  (sandboxId: SandboxId, cursorSeq: number | null, direction: "older" | "newer", withNoise: boolean, limit: number) => {
    const order = direction === "older" ? sql`desc` : sql`asc`;
    const rows = sql`select * from events
    where sandbox_id = ${sandboxId} and ${withNoise ? sql`flags & 1 = 0` : sql`flags & 3 = 0`}
    ${cursorSeq === null ? empty : direction === "older" ? sql`and seq < ${cursorSeq}` : sql`and seq > ${cursorSeq}`}
    order by seq ${order} limit ${limit + 1}`;
    return toPageRows(rows, order);
  },
  { trusted: true, prepared: true },
);

const SpineRow = z.object({
  seq: z.number(),
  created_at: z.date(),
  event_type: z.string(),
  turn: z.number().nullable(),
  tool: z.string().nullable(),
  ref: z.string().nullable(),
  size: z.number(),
  flags: z.number(),
});
export type SpineRow = z.infer<typeof SpineRow>;

export const listSpineRows = query(
  "events.spine",
  SpineRow,
  [SAMPLE_SCOPE.sandboxId, 0, 10],
  (sandboxId: SandboxId, afterSeq: number, limit: number) => sql`
  select seq, created_at, event_type, turn, tool, ref, size, flags from events
  where sandbox_id = ${sandboxId} and seq > ${afterSeq} order by seq limit ${limit}`,
  { trusted: true, prepared: true },
);

/** The log of a sandbox up to a number: its last event, its last state, the last turn that was told. */
export const loadLogAt = query(
  "events.at",
  z.object({
    seq: z.number().nullable(),
    sandbox_seq: z.number().nullable(),
    event_type: z.string().nullable(),
    created_at: z.date().nullable(),
    state: z.string().nullable(),
    state_cause: z.string().nullable(),
    generation: z.number().nullable(),
    turn: z.number().nullable(),
  }),
  [SAMPLE_SCOPE.sandboxId, 9],
  (sandboxId: SandboxId, atSeq: number) => sql`
  select last.seq, last.sandbox_seq, last.event_type, last.created_at, moved.state, moved.state_cause,
    last.generation, told.turn
  from (select 1) one
  left join lateral (select seq, sandbox_seq, event_type, created_at, generation from events
    where sandbox_id = ${sandboxId} and seq <= ${atSeq} order by seq desc limit 1) last on true
  left join lateral (select event_data ->> 'to' as state, event_data ->> 'cause' as state_cause from events
    where sandbox_id = ${sandboxId} and event_type = 'STATE_CHANGED' and seq <= ${atSeq} order by seq desc limit 1) moved on true
  left join lateral (select turn from events
    where sandbox_id = ${sandboxId} and turn is not null and seq <= ${atSeq} order by seq desc limit 1) told on true`,
);

const TailRow = z.object({
  seq: z.number(),
  id: EventId,
  sandbox_id: SandboxId.nullable(),
  sandbox_seq: z.number().nullable(),
  project_id: z.string().nullable(),
  entity_type: z.string(),
  entity_id: z.string(),
  event_type: z.string(),
  data_text: z.string(),
  shadows: z.boolean(),
  source: z.string(),
  created_at: z.date(),
  size: z.number(),
});
export type TailRow = z.infer<typeof TailRow>;

export interface TailScope {
  readonly projectId: string | null;
  readonly entityIds: readonly string[] | undefined;
}

/** One sandbox is read along its own index; anything else along the whole log. */
function entityCondition(entityIds: readonly string[] | undefined): Statement {
  const [only, ...others] = entityIds ?? [];
  if (only === undefined) return empty;
  if (others.length === 0 && SandboxId.safeParse(only).success) return sql`and sandbox_id = ${only}`;
  return sql`and entity_id = any(${entityIds ?? []}::text[])`;
}

/** Whether there may be more after this page: it is full of rows, or of bytes. */
export const isFullPage = (rows: readonly TailRow[], limit: number): boolean =>
  rows.length >= limit || rows.reduce((bytes, row) => bytes + row.size, 0) >= PAGE_BYTES;

/** The body stays text on its way to a subscriber: it is spliced into the frame without being parsed. Bodies are read only
 *  of rows that the page has room for. */
export const listTail = query(
  "events.tail",
  TailRow,
  [{ projectId: null, entityIds: undefined }, 0, 10],
  (scope: TailScope, afterSeq: number, limit: number) => sql`
  select seq, id, sandbox_id, sandbox_seq, project_id, entity_type, entity_id, event_type, event_data::text as data_text,
    event_data ?| array['source', 'original_event_type'] as shadows, source, created_at, size
  from (
    select *, sum(size) over (order by seq rows unbounded preceding) - size as bytes_before
    from events where seq > ${afterSeq}
    ${scope.projectId === null ? empty : sql`and project_id = ${scope.projectId}`}
    ${entityCondition(scope.entityIds)}
    order by seq limit ${limit}
  ) page where bytes_before < ${PAGE_BYTES} order by seq`,
  { trusted: true, prepared: true },
);
