import { execFile } from "node:child_process";
import { mkdtemp, rm, unlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { test as base, expect } from "vitest";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import type { TestDatabase } from "../../../testkit/src/postgres.ts";
import { MIGRATIONS, loadMigrations, migrate } from "./migrate.ts";
import { sql } from "./sql.ts";

interface Fixtures {
  database: TestDatabase;
  folder: string;
  write: (file: string, text: string) => Promise<void>;
}

const test = base.extend<Fixtures>({
  database: async ({}, use) => {
    await using database = await createDatabase({ migrated: false });
    await use(database);
  },
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "drover-migrations-"));
    await use(folder);
    await rm(folder, { recursive: true });
  },
  write: async ({ folder }, use) => use((file, text) => writeFile(join(folder, file), text)),
});

test("files are applied once, in order, and later ones later", async ({ database: { db }, folder, write }) => {
  await write("0002_rows.sql", "insert into things (n) values (1); insert into things (n) values (2);");
  await write("0001_things.sql", "create table things (n int);");
  expect(await migrate(db, folder)).toEqual(["0001_things.sql", "0002_rows.sql"]);
  expect(await migrate(db, folder)).toEqual([]);
  await write("0003_more.sql", "insert into things (n) values (3)");
  expect(await migrate(db, folder)).toEqual(["0003_more.sql"]);
  expect(await db.query(sql`select n from things order by n limit 9`)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test("a migration that fails leaves nothing behind, and those before it stay", async ({
  database: { db },
  folder,
  write,
}) => {
  await write("0001_things.sql", "create table things (n int);");
  await write("0002_broken.sql", "create table others (n int); select 1 / 0;");
  await expect(migrate(db, folder)).rejects.toMatchObject({ code: "22012" });
  expect(await db.query(sql`select to_regclass('others') as others, count(*) as applied from migrations`)).toEqual([
    { others: null, applied: 1 },
  ]);
});

test("a changed file is refused by name", async ({ database: { db }, folder, write }) => {
  await write("0001_things.sql", "create table things (n int);");
  await migrate(db, folder);
  await write("0001_things.sql", "create table things (n int8);");
  const refusal = { code: "migration.changed", message: expect.stringContaining("0001_things.sql") as string };
  await expect(migrate(db, folder)).rejects.toMatchObject(refusal);
});

test("an unknown breaking migration is refused by name, an unknown harmless one is not", async ({
  database: { db },
  folder,
  write,
}) => {
  await write("0001_things.sql", "create table things (n int);");
  await write("0002_harmless.sql", "create table others (n int);");
  await write("0003_breaking.sql", "--! breaking\ndrop table things;");
  await migrate(db, folder);
  await unlink(join(folder, "0002_harmless.sql"));
  expect(await migrate(db, folder)).toEqual([]);
  await unlink(join(folder, "0003_breaking.sql"));
  const refusal = { code: "migration.newer", message: expect.stringContaining("0003_breaking.sql") as string };
  await expect(migrate(db, folder)).rejects.toMatchObject(refusal);
});

test("two processes that migrate at once apply every file once", async ({ database, folder, write }) => {
  await write("0001_things.sql", "create table things (n int);");
  for (const n of [2, 3, 4, 5]) await write(`000${n}_row.sql`, `insert into things (n) values (${n});`);
  const script = `
    const { openPostgres } = await import(${JSON.stringify(moduleUrl("../adapters/db-postgres.ts"))});
    const { migrate } = await import(${JSON.stringify(moduleUrl("migrate.ts"))});
    const db = openPostgres({ url: ${JSON.stringify(database.url)} });
    console.log(JSON.stringify(await migrate(db, ${JSON.stringify(folder)})));
    await db.close();`;
  const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  const outputs = await Promise.all([run(), run()]);
  const applied = outputs.flatMap(({ stdout }) => JSON.parse(stdout) as string[]);
  expect(applied.toSorted()).toEqual([
    "0001_things.sql",
    "0002_row.sql",
    "0003_row.sql",
    "0004_row.sql",
    "0005_row.sql",
  ]);
  expect(await database.db.query(sql`select n from things order by n limit 9`)).toEqual([
    { n: 2 },
    { n: 3 },
    { n: 4 },
    { n: 5 },
  ]);
});

test("a file with a name of its own making is refused", async ({ folder, write }) => {
  await write("1_things.sql", "select 1");
  await expect(loadMigrations(folder)).rejects.toThrow("1_things.sql");
});

test("the migrations of this version apply to an empty database", async ({ database: { db } }) => {
  const files = (await loadMigrations(MIGRATIONS)).map(({ file }) => file);
  expect(await migrate(db)).toEqual(files);
});

const moduleUrl = (path: string): string => pathToFileURL(join(import.meta.dirname, path)).href;
