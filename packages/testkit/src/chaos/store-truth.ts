/** What Postgres holds, read by statements of the tests' own. */
import { z } from "zod";
import type { Db } from "../../../server/src/ports/db.ts";
import { query } from "../../../server/src/store/query.ts";
import { sql } from "../../../server/src/store/sql.ts";

const StoredEvent = z.object({
  seq: z.number(),
  sandbox_seq: z.number(),
  event_type: z.string(),
  event_data: z.record(z.string(), z.unknown()),
  client_event_id: z.string().nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;

export const listStored = query(
  "chaos.stored",
  StoredEvent,
  ["drover-00000000-000000"],
  (sandboxId: string) => sql`
  select seq, sandbox_seq, event_type, event_data, client_event_id from events where sandbox_id = ${sandboxId} order by seq`,
);

const listSeqs = query("chaos.seqs", z.object({ seq: z.number() }), [], () => sql`select seq from events order by seq`);

export const listAllSeqs = async (db: Db): Promise<readonly number[]> => (await listSeqs(db)).map(({ seq }) => seq);

export const listFates = query(
  "chaos.fates",
  z.object({ id: z.string(), state: z.string() }),
  ["drover-00000000-000000"],
  (sandboxId: string) => sql`select id, state from messages where sandbox_id = ${sandboxId} order by position`,
);

const findStored = query(
  "chaos.is_stored",
  z.object({ seq: z.number() }),
  ["drover-00000000-000000", "k"],
  (sandboxId: string, clientEventId: string) =>
    sql`select seq from events where sandbox_id = ${sandboxId} and client_event_id = ${clientEventId} limit 1`,
);

export const isStored = async (db: Db, sandboxId: string, clientEventId: string): Promise<boolean> =>
  (await findStored.maybe(db, sandboxId, clientEventId)) !== undefined;
