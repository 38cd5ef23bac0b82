/** Links to watch a run: looked up by hash only. */
import { ProjectId, SandboxId, ShareId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const HASH = new Uint8Array(32);
const SAMPLE_ID = "shr-000000000000" as ShareId;
const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

const ShareRow = z.object({
  id: ShareId,
  position: z.number(),
  sandbox_id: SandboxId,
  created_by: z.string(),
  created_at: z.date(),
  expires_at: z.date(),
  last_used_at: z.date().nullable(),
  revoked_at: z.date().nullable(),
});
export type ShareRow = z.infer<typeof ShareRow>;

const columns = sql`id, position, sandbox_id, created_by, created_at, expires_at, last_used_at, revoked_at`;

export interface ShareDraft {
  readonly id: ShareId;
  readonly hash: Uint8Array;
  readonly sandbox_id: SandboxId;
  readonly created_by: string;
  readonly seconds: number;
}

export const insertShare = query(
  "shares.insert",
  ShareRow,
  [{ id: SAMPLE_ID, hash: HASH, sandbox_id: SAMPLE_SANDBOX, created_by: "tok-000000000000", seconds: 60 }],
  (draft: ShareDraft) => sql`
  insert into shares (id, hash, sandbox_id, created_by, expires_at)
  values (${draft.id}, ${draft.hash}, ${draft.sandbox_id}, ${draft.created_by}, now() + make_interval(secs => ${draft.seconds}))
  returning ${columns}`,
);

export const findShare = query(
  "shares.find",
  z.object({ id: ShareId, sandbox_id: SandboxId, project_id: ProjectId, expires_at: z.date() }),
  [HASH],
  (hash: Uint8Array) => sql`
  select h.id, h.sandbox_id, s.project_id, h.expires_at from shares h join sandboxes s on s.id = h.sandbox_id
  where h.hash = ${hash} and h.revoked_at is null and h.expires_at > now()`,
  { prepared: true },
);

export const loadShare = query(
  "shares.load",
  ShareRow,
  [SAMPLE_SANDBOX, SAMPLE_ID],
  (sandboxId: SandboxId, id: ShareId) =>
    sql`select ${columns} from shares where id = ${id} and sandbox_id = ${sandboxId}`,
);

export const listShares = query(
  "shares.list",
  ShareRow,
  [SAMPLE_SANDBOX, undefined, 10],
  (sandboxId: SandboxId, before: ShareId | undefined, limit: number) => sql`
  select ${columns} from shares where sandbox_id = ${sandboxId}
  ${before === undefined ? empty : sql`and position < (select position from shares where id = ${before})`}
  order by position desc limit ${limit}`,
);

export const revokeShare = query(
  "shares.revoke",
  ShareRow,
  [SAMPLE_ID],
  (id: ShareId) =>
    sql`update shares set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning ${columns}`,
);

export const touchShare = command(
  "shares.touch",
  [SAMPLE_ID],
  (id: ShareId) => sql`update shares set last_used_at = now() where id = ${id}`,
);

export const listEndedShares = query(
  "shares.ended_among",
  z.object({ id: ShareId }),
  [[SAMPLE_ID]],
  (ids: readonly string[]) => sql`
  select id from shares where id = any(${ids}::text[]) and (revoked_at is not null or expires_at <= now())
  order by id limit 10000`,
);
