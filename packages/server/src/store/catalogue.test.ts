import { readdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import type { TestDatabase } from "../../../testkit/src/postgres.ts";
import { catalogue } from "./query.ts";

const sources = readdirSync(import.meta.dirname).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
await Promise.all(sources.map((file) => import(join(import.meta.dirname, file))));

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  // pg itself, because only it tells the fields of a result without rows.
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Files of a test worker share their modules: what the tests of `query.ts` declare may stand in the catalogue too. */
const declared = [...catalogue.values()].filter(({ title }) => !title.startsWith("test."));

test.for(declared)("$title runs and gives the fields of its row", async ({ sample, fields }) => {
  const { text, values } = sample();
  await client.query("begin");
  try {
    // Foreign keys are triggers: off, so that a sample need not have parents.
    await client.query("set local session_replication_role = replica");
    const result = await client.query({ text, values: [...values] });
    expect(result.fields.map(({ name }) => name).toSorted()).toEqual([...fields].toSorted());
  } finally {
    await client.query("rollback");
  }
});
