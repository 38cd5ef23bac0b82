/** Everything that a server keeps: rows of all tables, the counter of the log, and the files of artifacts. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { sql } from "../../server/src/store/sql.ts";
import type { TestServer } from "./server.ts";

/** When a credential was last used is no trace of the request, and one-time secrets and sessions expire by themselves. */
const UNTOLD = "'last_used_at'";

/** What is read off the log by the clock follows every event sooner or later, whoever asks for what meanwhile. */
const DERIVED = [
  "claim_turn",
  "supervision",
  "metric_rows",
  "metric_cursor",
  "alert_states",
  "replicas",
  "pass_turns",
  "run_traces",
];

/** One text per table, so that a difference names its row. */
export async function takeSnapshot(server: TestServer): Promise<Readonly<Record<string, unknown>>> {
  const tables = await server.db.query(
    sql`select table_name as name from information_schema.tables where table_schema = 'public' and table_name <> all(${DERIVED}::text[]) order by table_name limit 100`,
  );
  // One statement for all of them: a suite of refusals takes two snapshots a test.
  const text = tables
    .map(({ name }) => {
      const row = `(to_jsonb(t) - ${UNTOLD})`;
      return `select '${String(name)}' as name, coalesce(jsonb_agg(${row} order by ${row}::text), '[]') as rows from "${String(name)}" t`;
    })
    .join(" union all ");
  const kept: Record<string, unknown> = Object.fromEntries(
    (await server.db.query({ text, values: [] })).map(({ name, rows }) => [String(name), rows]),
  );
  kept["event_seq"] = (await server.db.query(sql`select last_value as last, is_called from event_seq`))[0];
  // Expected: no artifact was ever put.
  const files = await readdir(join(server.dataDir, "blobs"), { recursive: true, withFileTypes: true }).catch(() => []);
  kept["files"] = files
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
  return kept;
}
