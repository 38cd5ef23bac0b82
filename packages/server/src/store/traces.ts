/** Runs that are over and not yet told to the collector of traces. */
import { ProjectId, SandboxId, TaskId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

/** Longer than a run takes to be told; whoever claims it and dies leaves it to the next one after that. */
const LEASE_SECONDS = 120;

/** Nobody else tells it meanwhile; what ended longer ago than a day is not told any more. */
export const claimUntraced = query(
  "run_traces.claim",
  z.object({
    id: SandboxId,
    project_id: ProjectId,
    task_id: TaskId.nullable(),
    provider: z.string(),
    runtime: z.string().nullable(),
    model: z.string().nullable(),
    state: z.string(),
    state_cause: z.string().nullable(),
    prompt: z.string().nullable(),
    created_at: z.date(),
    closed_at: z.date(),
    tries: z.number(),
  }),
  [],
  () => sql`
  with due as (
    select s.id from sandboxes s left join run_traces t on t.sandbox_id = s.id
    where s.closed_at > now() - interval '1 day' and t.sent_at is null and coalesce(t.next_try_at, '-infinity') <= now()
    order by s.closed_at, s.id limit 1 for update of s skip locked),
  claimed as (
    insert into run_traces as t (sandbox_id, next_try_at)
    select id, now() + make_interval(secs => ${LEASE_SECONDS}) from due
    on conflict (sandbox_id) do update set tries = t.tries + 1, next_try_at = excluded.next_try_at
    returning sandbox_id, tries)
  select s.id, s.project_id, s.task_id, s.provider, s.runtime, s.model, s.state, s.state_cause, s.prompt, s.created_at, s.closed_at,
    c.tries
  from claimed c join sandboxes s on s.id = c.sandbox_id`,
);

export const markTraced = command(
  "run_traces.mark_sent",
  ["drover-00000000-000000" as SandboxId],
  (id: SandboxId) => sql`update run_traces set sent_at = now() where sandbox_id = ${id}`,
);

export const restTrace = command(
  "run_traces.rest",
  ["drover-00000000-000000" as SandboxId, 5],
  (id: SandboxId, seconds: number) => sql`
  update run_traces set next_try_at = now() + make_interval(secs => ${seconds}::float8) where sandbox_id = ${id}`,
);
