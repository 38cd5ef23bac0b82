import { afterAll, beforeAll, expect, test } from "vitest";
import { describeDb } from "../../../testkit/src/conformance/db.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import type { TestDatabase } from "../../../testkit/src/postgres.ts";
import type { Db } from "../ports/db.ts";
import { sql } from "../store/sql.ts";
import { openPostgres } from "./db-postgres.ts";

let database: TestDatabase;
const opened: Db[] = [];

beforeAll(async () => {
  database = await createDatabase({ migrated: false });
});
afterAll(async () => {
  await Promise.all(opened.map((db) => db.close()));
  await database.drop();
});

describeDb("db-postgres", async () => {
  const db = openPostgres({ url: database.url, maxConnections: 3 });
  opened.push(db);
  return db;
});

const endSession = (pid: unknown) => database.db.query(sql`select pg_terminate_backend(${Number(pid)}, 5000) as ended`);

test("a statement whose connection is cut is database.unavailable, and the next one works", async () => {
  const db = openPostgres({ url: database.url, maxConnections: 1 });
  opened.push(db);
  const [session] = await db.query(sql`select pg_backend_pid() as pid`);
  const cut = expect(db.query(sql`select pg_sleep(60) as slept`)).rejects.toMatchObject({
    code: "database.unavailable",
  });
  await endSession(session?.["pid"]);
  await cut;
  expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("a transaction whose connection is cut between two statements fails without ending the process", async () => {
  const db = openPostgres({ url: database.url, maxConnections: 1 });
  opened.push(db);
  const broken = db.tx(async (tx) => {
    const [session] = await tx.query(sql`select pg_backend_pid() as pid`);
    await endSession(session?.["pid"]);
    await tx.query(sql`select 1 as n`);
  });
  await expect(broken).rejects.toMatchObject({ code: "database.unavailable" });
  expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("a server that is not there is database.unavailable within the connect timeout", async () => {
  const db = openPostgres({ url: "postgresql://drover@/postgres?host=/nowhere" });
  opened.push(db);
  const startedAt = performance.now();
  await expect(db.query(sql`select 1 as n`)).rejects.toMatchObject({ code: "database.unavailable" });
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});
