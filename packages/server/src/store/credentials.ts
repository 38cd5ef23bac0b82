/** Tokens, sessions, one-time secrets: looked up by hash only. */
import { ProjectId, Role, SandboxId, TokenId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const HASH = new Uint8Array(32);
const SAMPLE_TOKEN = "tok-000000000000" as TokenId;

export const TokenRow = z.object({
  id: TokenId,
  name: z.string(),
  role: Role,
  project_id: ProjectId.nullable(),
  created_at: z.date(),
  expires_at: z.date().nullable(),
  last_used_at: z.date().nullable(),
  revoked_at: z.date().nullable(),
});
export type TokenRow = z.infer<typeof TokenRow>;

const columns = sql`id, name, role, project_id, created_at, expires_at, last_used_at, revoked_at`;
const prefixed = sql`t.id, t.name, t.role, t.project_id, t.created_at, t.expires_at, t.last_used_at, t.revoked_at`;
const isValid = sql`t.revoked_at is null and (t.expires_at is null or t.expires_at > now())`;

export interface TokenDraft {
  readonly id: TokenId;
  readonly hash: Uint8Array;
  readonly name: string;
  readonly role: Role;
  readonly project_id: string | null;
  readonly expires_at: string | null;
}

/** Nothing is returned when the secret is one already, also a revoked one. */
export const insertToken = query(
  "tokens.insert",
  TokenRow,
  [{ id: SAMPLE_TOKEN, hash: HASH, name: "a", role: "viewer", project_id: null, expires_at: null }],
  (draft: TokenDraft) => sql`
  insert into tokens (id, hash, name, role, project_id, expires_at)
  values (${draft.id}, ${draft.hash}, ${draft.name}, ${draft.role}, ${draft.project_id}, ${draft.expires_at})
  on conflict (hash) do nothing returning ${columns}`,
);

export const findToken = query(
  "tokens.find",
  TokenRow,
  [HASH],
  (hash: Uint8Array) => sql`select ${prefixed} from tokens t where t.hash = ${hash} and ${isValid}`,
  { prepared: true },
);

export const findOwner = query(
  "tokens.find_owner",
  TokenRow,
  [],
  () =>
    sql`select ${prefixed} from tokens t where t.name = 'owner' and t.role = 'admin' and t.project_id is null and ${isValid} order by t.created_at limit 1`,
);

export const loadToken = query(
  "tokens.load",
  TokenRow,
  [SAMPLE_TOKEN],
  (id: string) => sql`select ${columns} from tokens where id = ${id}`,
);

export const listTokens = query(
  "tokens.list",
  TokenRow,
  [null, undefined, 10],
  (projectId: string | null, afterId: string | undefined, limit: number) => sql`
  select ${columns} from tokens where true
  ${projectId === null ? empty : sql`and project_id = ${projectId}`} ${afterId === undefined ? empty : sql`and id > ${afterId}`}
  order by id limit ${limit}`,
);

export const revokeToken = query(
  "tokens.revoke",
  TokenRow,
  [SAMPLE_TOKEN],
  (id: TokenId) =>
    sql`update tokens set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning ${columns}`,
);

export const touchToken = command(
  "tokens.touch",
  [SAMPLE_TOKEN],
  (id: TokenId) => sql`update tokens set last_used_at = now() where id = ${id}`,
);

export const listRevokedAmong = query(
  "tokens.revoked_among",
  z.object({ id: TokenId }),
  [[SAMPLE_TOKEN]],
  (ids: readonly string[]) =>
    sql`select t.id from tokens t where t.id = any(${ids}::text[]) and not (${isValid}) order by t.id limit 10000`,
);

const SandboxTokenRow = z.object({
  sandbox_id: SandboxId,
  generation: z.number(),
  scope: z.enum(["worker", "gateway", "git"]),
  project_id: ProjectId,
});

export const findSandboxToken = query(
  "sandbox_tokens.find",
  SandboxTokenRow,
  [HASH],
  (hash: Uint8Array) => sql`
  select k.sandbox_id, k.generation, k.scope, s.project_id from sandbox_tokens k join sandboxes s on s.id = k.sandbox_id
  where k.hash = ${hash} and k.revoked_at is null`,
  { prepared: true },
);

export const insertSession = command(
  "sessions.insert",
  [HASH, SAMPLE_TOKEN, 30],
  (hash: Uint8Array, tokenId: TokenId, days: number) => sql`
  insert into sessions (hash, token_id, expires_at) select ${hash}, id, now() + make_interval(secs => ${days} * 86400) from tokens where id = ${tokenId}`,
);

export const findSession = query(
  "sessions.find",
  TokenRow,
  [HASH],
  (hash: Uint8Array) => sql`
  select ${prefixed} from sessions c join tokens t on t.id = c.token_id
  where c.hash = ${hash} and c.expires_at > now() and ${isValid}`,
  { prepared: true },
);

export const deleteSession = command(
  "sessions.delete",
  [HASH],
  (hash: Uint8Array) => sql`delete from sessions where hash = ${hash}`,
);

export const insertOneTimeSecret = command(
  "one_time_secrets.insert",
  [HASH, "ws", SAMPLE_TOKEN, 30],
  (hash: Uint8Array, kind: "login" | "ws", tokenId: TokenId, seconds: number) => sql`
  insert into one_time_secrets (hash, kind, token_id, expires_at)
  select ${hash}, ${kind}, id, now() + make_interval(secs => ${seconds}) from tokens where id = ${tokenId}`,
);

/** Uses it up: of two that come with the same secret, one gets it. */
export const takeOneTimeSecret = query(
  "one_time_secrets.take",
  TokenRow,
  [HASH, "ws"],
  (hash: Uint8Array, kind: "login" | "ws") => sql`
  with taken as (delete from one_time_secrets where hash = ${hash} and kind = ${kind} returning token_id, expires_at)
  select ${prefixed} from taken join tokens t on t.id = taken.token_id where taken.expires_at > now() and ${isValid}`,
);

export const deleteExpiredSecrets = command(
  "one_time_secrets.delete_expired",
  [],
  () => sql`delete from one_time_secrets where expires_at < now()`,
);
export const deleteExpiredSessions = command(
  "sessions.delete_expired",
  [],
  () => sql`delete from sessions where expires_at < now()`,
);
