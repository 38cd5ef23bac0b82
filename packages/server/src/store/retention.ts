/** Sessions that their projects keep no longer. */
import { ArtifactId, ProjectId, SandboxId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;
const SAMPLE_ARTIFACT = "0".repeat(64) as ArtifactId;

const ExpiredRow = z.object({ id: SandboxId, project_id: ProjectId, ended_at: z.date(), events: z.number() });

const keptUntil = sql`now() - make_interval(days => (p.settings ->> 'retention_days')::integer)`;

/** Ended and closed for longer than the project says (one that came in an archive is closed since then); never one that anything still stands
 *  of, that a run which stands goes on from, or whose task is not over: its next try may go on from it. */
const expired = sql`s.closed_at is not null and s.removed_at is null and s.state in ('terminated', 'cancelled', 'failed')
  and not exists (select 1 from sandboxes later where later.closed_at is null and later.spec ->> 'resume_from' = s.id)
  and not exists (select 1 from tasks t where t.id = s.task_id and t.status not in ('completed', 'failed', 'cancelled', 'skipped'))
  and jsonb_typeof(p.settings -> 'retention_days') = 'number'
  and s.ended_at < ${keptUntil} and s.closed_at < ${keptUntil}`;

export const listExpired = query(
  "retention.list_expired",
  ExpiredRow,
  [SAMPLE_PROJECT, 10],
  (projectId: ProjectId | null, limit: number) => sql`
  select s.id, s.project_id, s.ended_at, s.last_sandbox_seq as events from projects p join sandboxes s on s.project_id = p.id
  where ${expired} ${projectId === null ? empty : sql`and p.id = ${projectId}`} order by s.ended_at, s.id limit ${limit}`,
);

/** Decided once, whoever else looks: undefined when it is not to be removed any more. */
export const markRemoved = query(
  "retention.mark_removed",
  z.object({ id: SandboxId }),
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  update sandboxes s set removed_at = now(), prompt = null, spec = '{}' from projects p
  where s.id = ${id} and p.id = s.project_id and ${expired} returning s.id`,
);

export const listRemoving = query(
  "retention.list_removing",
  z.object({ id: SandboxId }),
  [10],
  (limit: number) => sql`
  select id from sandboxes where removed_at is not null and emptied_at is null order by removed_at limit ${limit}`,
);

/** A few at a time: nobody waits long for what they lock. */
export const deleteSomeEvents = query(
  "retention.delete_events",
  z.object({ count: z.int() }),
  [SAMPLE_ID, 10],
  (id: SandboxId, limit: number) => sql`
  with gone as (delete from events where seq = any(array(select seq from events where sandbox_id = ${id} order by seq limit ${limit}))
    returning 1)
  select count(*)::int as count from gone`,
);

export const deleteSessionMessages = command(
  "retention.delete_messages",
  [SAMPLE_ID],
  (id: SandboxId) => sql`delete from messages where sandbox_id = ${id}`,
);

export const deleteSessionPermissions = command(
  "retention.delete_permissions",
  [SAMPLE_ID],
  (id: SandboxId) => sql`delete from permission_requests where sandbox_id = ${id}`,
);

/** What a judge was shown and said, and what supervision remembers of the run; what was done about it stays. */
export const deleteSessionJudgement = command(
  "retention.delete_judgement",
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  with said as (delete from guardian_analyses where sandbox_id = ${id}) delete from supervision where sandbox_id = ${id}`,
);

/** What they name may be unused from now on. */
export const deleteSessionArtifacts = command(
  "retention.delete_artifacts",
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  with gone as (delete from artifacts where sandbox_id = ${id} returning id)
  insert into unused_blobs (id) select id from gone on conflict (id) do update set since = now()`,
);

export const markEmptied = command(
  "retention.mark_emptied",
  [SAMPLE_ID],
  (id: SandboxId) => sql`update sandboxes set emptied_at = now() where id = ${id}`,
);

export const listUnused = query(
  "retention.list_unused",
  z.object({ id: ArtifactId }),
  [3600, 10],
  (graceSeconds: number, limit: number) => sql`
  select u.id from unused_blobs u where u.since < now() - make_interval(secs => ${graceSeconds}) order by u.since limit ${limit}`,
);

export const findUser = query(
  "retention.find_user",
  z.object({ sandbox_id: SandboxId }),
  [SAMPLE_ARTIFACT],
  (id: ArtifactId) => sql`select sandbox_id from artifacts where id = ${id} limit 1`,
);

export const forgetUnused = command(
  "retention.forget_unused",
  [SAMPLE_ARTIFACT],
  (id: ArtifactId) => sql`delete from unused_blobs where id = ${id}`,
);
