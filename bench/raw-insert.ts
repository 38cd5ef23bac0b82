/** The floor's way to store rows: a table like `events`, and one multi-row insert. */
import { createHash } from "node:crypto";
import type pg from "pg";
import type { SampleRow } from "./sample-event.ts";

export const COLUMNS = [
  "seq",
  "id",
  "sandbox_id",
  "sandbox_seq",
  "project_id",
  "task_id",
  "entity_type",
  "entity_id",
  "event_type",
  "event_data",
  "source",
  "created_at",
  "client_event_id",
  "generation",
  "caused_by",
  "turn",
  "tool",
  "ref",
  "size",
  "flags",
] as const satisfies readonly (keyof SampleRow)[];

/** The same columns, constraints and indexes, and nothing else. */
export async function createTable(client: pg.Client, table: string): Promise<void> {
  await client.query(`create table ${table} (like events including all)`);
}

/** Prepared once per connection. */
export function toInsert(table: string, rows: number): { readonly name: string; readonly text: string } {
  const tuples = Array.from(
    { length: rows },
    (_, row) => `(${COLUMNS.map((_column, column) => `$${row * COLUMNS.length + column + 1}`).join(",")})`,
  );
  const text = `insert into ${table} (${COLUMNS.join(",")}) values ${tuples.join(",")}`;
  return { name: createHash("sha256").update(text).digest("hex").slice(0, 32), text };
}
