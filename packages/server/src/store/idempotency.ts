/** Replies of POSTs that created something, kept for a day. */
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

const HASH = new Uint8Array(32);

/** Requests with one key wait for each other; the lock ends with the transaction. */
export const lockKey = query(
  "idempotency.lock",
  z.object({ locked: z.literal(1) }),
  [1, 2],
  (high: number, low: number) =>
    sql`select 1 as locked from (select pg_advisory_xact_lock(${high}::integer, ${low}::integer)) as lock`,
);

export const loadReply = query(
  "idempotency.load",
  z.object({ request_hash: z.instanceof(Uint8Array), sealed_reply: z.instanceof(Uint8Array) }),
  [HASH],
  (keyHash: Uint8Array) => sql`select request_hash, sealed_reply from idempotency_keys where key_hash = ${keyHash}`,
);

export const insertReply = command(
  "idempotency.insert",
  [HASH, HASH, HASH],
  (keyHash: Uint8Array, requestHash: Uint8Array, sealed: Uint8Array) =>
    sql`insert into idempotency_keys (key_hash, request_hash, sealed_reply) values (${keyHash}, ${requestHash}, ${sealed})`,
);

export const deleteOldReplies = command(
  "idempotency.delete_old",
  [],
  () => sql`delete from idempotency_keys where created_at < now() - interval '1 day'`,
);
