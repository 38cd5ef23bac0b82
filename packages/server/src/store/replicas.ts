/** The servers of this installation: who is there, what they share, whose turn it is. */
import { Provider, SandboxId, SandboxState, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

const FINAL = [...TERMINAL_SANDBOX_STATES];
/** A replica says so every two seconds; one that is silent for longer than this is not there. */
const ALIVE_SECONDS = 15;
/** What needs no machine of its own is looked after by another replica when its own is silent for so long. */
const TAKE_OVER_SECONDS = 30;

export const saveReplica = command(
  "replicas.save",
  ["host", "http://127.0.0.1:1", "host:1"],
  (host: string, address: string, instance: string) => sql`
  insert into replicas (host, address, instance) values (${host}, ${address}, ${instance})
  on conflict (host) do update
  set address = excluded.address, instance = excluded.instance, started_at = now(), seen_at = now(), left_at = null`,
);

export const touchReplica = command(
  "replicas.touch",
  ["host"],
  (host: string) => sql`update replicas set seen_at = now() where host = ${host}`,
);

export const leaveReplica = command(
  "replicas.leave",
  ["host", "host:1"],
  (host: string, instance: string) => sql`
  update replicas set left_at = now(), seen_at = now() where host = ${host} and instance = ${instance}`,
);

export const findReplica = query(
  "replicas.find",
  z.object({ address: z.string(), seen_at: z.date() }),
  ["host"],
  (host: string) => sql`select address, seen_at from replicas where host = ${host}`,
);

/** Another one that serves at this moment. */
export const findOther = query(
  "replicas.find_other",
  z.object({ host: z.string() }),
  ["host"],
  (host: string) => sql`
  select host from replicas
  where host <> ${host} and left_at is null and seen_at > now() - make_interval(secs => ${ALIVE_SECONDS})
  order by seen_at desc limit 1`,
);

export const lockStorage = query(
  "installation.lock_storage",
  z.object({ mark: z.string().nullable(), path: z.string().nullable() }),
  [],
  () => sql`select storage_mark as mark, storage_path as path from installation for update`,
);

export const saveStorage = command(
  "installation.save_storage",
  ["mark", "/data"],
  (mark: string, path: string) => sql`update installation set storage_mark = ${mark}, storage_path = ${path}`,
);

/** The turn, if nobody else had it within this time. Whoever had it last may have it again at once. */
export const takeTurn = query(
  "pass_turns.take",
  z.object({ name: z.string() }),
  ["name", "host", 60],
  (name: string, host: string, seconds: number) => sql`
  insert into pass_turns as t (name, taken_by) values (${name}, ${host})
  on conflict (name) do update set taken_by = excluded.taken_by, taken_at = now()
  where t.taken_by = excluded.taken_by or t.taken_at < now() - make_interval(secs => ${seconds}::float8)
  returning t.name`,
);

/** Sandboxes that any replica can look after, of replicas that have fallen silent. */
export const takeOver = query(
  "sandboxes.take_over",
  z.object({ id: SandboxId }),
  ["host", ["local"]],
  (host: string, bound: readonly string[]) => sql`
  update sandboxes s set host = ${host}, lease_until = null
  from (
    select s.id from sandboxes s join replicas r on r.host = s.host
    where s.closed_at is null and s.provider <> 'external' and s.provider <> all(${bound}::text[]) and r.host <> ${host}
      and r.seen_at < now() - make_interval(secs => ${TAKE_OVER_SECONDS})
    order by s.id limit 1000 for update of s skip locked) as silent
  where s.id = silent.id returning s.id`,
);

/** Those bound to a machine that nobody has heard of for so long. */
export const listStranded = query(
  "sandboxes.list_stranded",
  z.object({ id: SandboxId, state: SandboxState, provider: Provider, host: z.string(), seen_at: z.date() }),
  ["host", ["local"], 600, 100],
  (host: string, bound: readonly string[], lostSeconds: number, limit: number) => sql`
  select s.id, s.state, s.provider, s.host, r.seen_at from sandboxes s join replicas r on r.host = s.host
  where s.closed_at is null and s.provider = any(${bound}::text[]) and r.host <> ${host} and s.state <> all(${FINAL}::text[])
    and s.state <> 'completed' and r.seen_at < now() - make_interval(secs => ${lostSeconds}::float8)
  order by s.id limit ${limit}`,
);
