/** Who looks after which sandbox. */
import { Provider, SandboxId, SandboxState } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, json, sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;
const LEASE_SECONDS = 120;

export const loadInstallation = query(
  "installation.load",
  z.object({ id: z.string() }),
  [],
  () => sql`select id from installation`,
);

const IdRow = z.object({ id: SandboxId });

/** Takes sandboxes that wait to be made, or whose maker has fallen silent, also when a worker that it started has spoken. A machine-bound one
 *  stays with its machine. `making`: those that the caller is making, however long that takes. */
export const claimUnmade = query(
  "sandboxes.claim_unmade",
  IdRow,
  [{ owner: "server", host: "host" }, ["local"], [SAMPLE_ID], 4],
  (
    { owner, host }: { readonly owner: string; readonly host: string },
    providers: readonly string[],
    making: readonly SandboxId[],
    limit: number,
  ) => sql`
  update sandboxes s set lease_owner = ${owner}, lease_until = now() + make_interval(secs => ${LEASE_SECONDS}), host = ${host}
  from (
    select id from sandboxes
    where closed_at is null and state not in ('cancelled', 'failed', 'terminated') and provisioned_at is null and provider = any(${providers}::text[])
      and (lease_until is null or lease_until < now()) and (host is null or host = ${host}) and id <> all(${making}::text[])
    order by created_at, id limit ${limit} for update skip locked) as waiting
  where s.id = waiting.id returning s.id`,
);

/** Whoever held a lease on this machine before this process is dead: one data directory has one server. */
export const releaseLeases = command(
  "sandboxes.release_leases",
  ["host"],
  (host: string) => sql`update sandboxes set lease_until = null where host = ${host} and lease_until is not null`,
);

export const markProvisioned = command(
  "sandboxes.mark_provisioned",
  [SAMPLE_ID, "id", {}],
  (id: SandboxId, providerId: string, enforcedBy: Readonly<Record<string, string>>) => sql`
  update sandboxes set provider_id = ${providerId}, enforced_by = ${json(enforcedBy)}::jsonb, provisioned_at = now(), lease_until = null
  where id = ${id}`,
);

/** It is to be made again, at whatever machine. */
export const forgetProvisioned = command(
  "sandboxes.forget_provisioned",
  [SAMPLE_ID],
  (id: SandboxId) => sql`
  update sandboxes set provider_id = null, enforced_by = null, provisioned_at = null, lease_owner = null, lease_until = null
  where id = ${id}`,
);

/** Sandboxes of this machine in the given states that are not gone yet; also those that nobody has begun to make. */
export const listOpen = query(
  "sandboxes.list_open",
  IdRow,
  ["host", ["running"], 100],
  (host: string, states: readonly SandboxState[], limit: number) => sql`
  select id from sandboxes where closed_at is null and provider <> 'external' and (host = ${host} or host is null) and state = any(${states}::text[])
  order by id limit ${limit}`,
);

/** What providers made and nobody has closed yet, in the given states, of whichever machine. */
export const listLeft = query(
  "sandboxes.list_left",
  z.object({ id: SandboxId, state: SandboxState, generation: z.number(), provider: Provider }),
  [null, ["completed"], 100],
  (projectId: string | null, states: readonly SandboxState[], limit: number) => sql`
  select id, state, generation, provider from sandboxes
  where closed_at is null and provider <> 'external' and state = any(${states}::text[])
    ${projectId === null ? empty : sql`and project_id = ${projectId}`}
  order by id limit ${limit}`,
);

/** Completed ones whose time is over. */
export const listKeptLongEnough = query(
  "sandboxes.list_kept_long_enough",
  IdRow,
  ["host", 300, 100],
  (host: string, keepSeconds: number, limit: number) => sql`
  select id from sandboxes
  where closed_at is null and provider <> 'external' and host = ${host} and state = 'completed'
    and ended_at < now() - make_interval(secs => ${keepSeconds})
  order by id limit ${limit}`,
);

/** Those that have run for longer than they may. One that works on a task has the task's time, which is another's to watch. */
export const listOverTime = query(
  "sandboxes.list_over_time",
  IdRow.extend({ timeout_s: z.number() }),
  [100],
  (limit: number) => sql`
  select id, (spec->>'timeout_s')::float8 as timeout_s from sandboxes s
  where closed_at is null and state in ('running', 'paused') and spec->>'timeout_s' is not null
    and extract(epoch from now() - started_at) > (spec->>'timeout_s')::float8
    and not exists (select 1 from task_attempts a where a.sandbox_id = s.id and a.kind = 'work')
  order by id limit ${limit}`,
);

/** Those of tasks that are over: nobody has spoken to them since, and all that they had to say has come. */
export const listTaskOver = query(
  "sandboxes.list_task_over",
  IdRow,
  ["host", 15, 100],
  (host: string, lingerSeconds: number, limit: number) => sql`
  select s.id from sandboxes s join task_attempts a on a.sandbox_id = s.id
  where s.closed_at is null and s.provider <> 'external' and s.host = ${host} and s.state = 'completed'
    and s.ended_at < now() - make_interval(secs => ${lingerSeconds}) and a.ended_at < now() - make_interval(secs => ${lingerSeconds})
    and not exists (select 1 from messages m where m.sandbox_id = s.id and m.queued_at > a.ended_at)
    and not exists (select 1 from events e where e.sandbox_id = s.id and e.created_at > now() - make_interval(secs => ${lingerSeconds})
      and e.event_type not like '%heartbeat')
  order by s.id limit ${limit}`,
);
