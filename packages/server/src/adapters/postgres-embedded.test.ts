import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { expect, vi } from "vitest";
import { isRunning, test } from "../../../testkit/src/embedded-postgres.ts";
import { sql } from "../store/sql.ts";

const insert = (n: number) => sql`insert into things (n) values (${n})`;
const CREATE = sql`create table things (n int8)`;
const SELECT = sql`select n from things order by n limit 9`;
const soon = { timeout: 40_000, interval: 20 };

test("data is there again after a stop and a start", async ({ dir, start }) => {
  const first = await start(dir);
  await first.db.query(CREATE);
  await first.db.query(insert(1));
  await first.stop();
  const second = await start(dir);
  expect(await second.db.query(SELECT)).toEqual([{ n: 1 }]);
});

test("stopping ends the process, sessions too, and alarms nobody; aborting the signal stops too", async ({
  dir,
  start,
}) => {
  const { postgres, db, pid, warned, abort } = await start(dir);
  await db.query(sql`select 1 as n`);
  abort();
  await postgres.done;
  await postgres.stop();
  expect(isRunning(pid)).toBe(false);
  expect(postgres.pid()).toBeUndefined();
  expect(warned).toEqual([]);
});

test("a killed postmaster is started again, with all that was committed, and the same handle works", async ({
  dir,
  start,
}) => {
  const { postgres, db, pid } = await start(dir);
  await db.query(CREATE);
  await db.query(insert(1));
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(postgres.pid()).not.toBe(pid), soon);
  await vi.waitFor(async () => expect(await db.query(SELECT)).toEqual([{ n: 1 }]), soon);
  await vi.waitFor(() => expect(postgres.problem()).toBeUndefined(), soon);
});

test("a statement during the outage is database.unavailable", async ({ dir, start }) => {
  const { postgres, db, pid } = await start(dir);
  await db.query(sql`select 1 as n`);
  const cut = expect(db.query(sql`select pg_sleep(60) as slept`)).rejects.toMatchObject({
    code: "database.unavailable",
  });
  process.kill(pid, "SIGKILL");
  await cut;
  await vi.waitFor(() => expect(postgres.pid()).toBeDefined(), soon);
});

test("a session that is too busy to notice the death of its postmaster does not hold up the restart", async ({
  dir,
  start,
}) => {
  const { postgres, db, pid } = await start(dir);
  const { pid: session } = (await db.query(sql`select pg_backend_pid() as pid`))[0] as { pid: number };
  const busy = expect(db.query(sql`select count(*) as n from generate_series(1, 100000000000)`)).rejects.toThrow();
  await vi.waitFor(async () => {
    const active = sql`select count(*) as n from pg_stat_activity where pid = ${session} and query like '%generate_series%'`;
    expect(await db.query(active)).toEqual([{ n: 1 }]);
  }, soon);
  process.kill(pid, "SIGKILL");
  await busy;
  await vi.waitFor(async () => expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]), soon);
  expect(postgres.pid()).not.toBe(pid);
  expect(isRunning(session)).toBe(false);
});

/** A process that starts PostgreSQL as the server does, and prints its id when it runs. */
function startParent(dir: string) {
  const module = (path: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, path)).href);
  const script = `
    const { lockDataDir } = await import(${module("data-dir.ts")});
    const { startPostgres } = await import(${module("postgres-embedded.ts")});
    const { openPostgres } = await import(${module("db-postgres.ts")});
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const dataDir = await lockDataDir(${JSON.stringify(dir)});
    const postgres = await startPostgres({ dataDir, log, signal: new AbortController().signal });
    const db = openPostgres({ url: postgres.url });
    await db.query({ text: "create table things (n int8)", values: [] });
    await db.query({ text: "insert into things (n) values (1)", values: [] });
    console.log(postgres.pid());`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const kill = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const line = once(createInterface({ input: child.stdout }), "line");
  const failed = once(child, "exit").then(() => Promise.reject(new Error("the parent ended before PostgreSQL ran")));
  failed.catch(() => undefined);
  return { postmaster: () => Promise.race([line.then(([pid]) => Number(pid)), failed]), kill };
}

test("PostgreSQL goes away when its parent is killed", async ({ dir }) => {
  const parent = startParent(dir);
  const postmaster = await parent.postmaster();
  expect(isRunning(postmaster)).toBe(true);
  await parent.kill();
  await vi.waitFor(() => expect(isRunning(postmaster)).toBe(false), soon);
});

test("a start right after the parent was killed has all that was committed", async ({ dir, start }) => {
  const parent = startParent(dir);
  const postmaster = await parent.postmaster();
  await parent.kill();
  const { db } = await start(dir);
  expect(await db.query(SELECT)).toEqual([{ n: 1 }]);
  expect(isRunning(postmaster)).toBe(false);
});

test("a first start that was killed in the middle leaves nothing that the next one trips over", async ({
  empty,
  start,
}) => {
  const parent = startParent(empty);
  await vi.waitFor(
    async () => expect(await readdir(empty)).toContainEqual(expect.stringMatching(/^pg\.unfinished-/)),
    soon,
  );
  await parent.kill();
  const { db } = await start(empty);
  expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
  expect((await readdir(empty)).filter((name) => name.startsWith("pg"))).toEqual(["pg"]);
});

test("a stale postmaster.pid whose process id is in use again does not hold up the start", async ({ dir, start }) => {
  await writeFile(
    join(dir, "pg/postmaster.pid"),
    `${process.ppid}\n${dir}/pg\n1700000000\n5432\n${dir}/run\n\n\nready\n`,
  );
  const { pid } = await start(dir);
  expect(await readFile(join(dir, "pg/postmaster.pid"), "utf8")).toMatch(new RegExp(`^${pid}\n`));
});

test.for([
  { written: 19, remedy: "newer Drover" },
  { written: 17, remedy: "pg_dump" },
])(
  "data of PostgreSQL $written is refused, untouched, with a remedy",
  async ({ written, remedy }, { empty, start }) => {
    await mkdir(join(empty, "pg"));
    await writeFile(join(empty, "pg/PG_VERSION"), `${written}\n`);
    const refusal = {
      code: "data_dir.newer",
      message: expect.stringMatching(new RegExp(`PostgreSQL ${written}.*${remedy}`)) as string,
    };
    await expect(start(empty)).rejects.toMatchObject(refusal);
    expect(await readdir(join(empty, "pg"))).toEqual(["PG_VERSION"]);
  },
);

test("a directory called pg that is not PostgreSQL's is refused", async ({ empty, start }) => {
  await mkdir(join(empty, "pg"));
  await writeFile(join(empty, "pg/diary.txt"), "dear diary");
  await expect(start(empty)).rejects.toMatchObject({
    code: "database.start_failed",
    message: expect.stringContaining("PG_VERSION") as string,
  });
});

test("a setting that PostgreSQL refuses is reported in its words", async ({ dir, start }) => {
  const refusal = { code: "database.start_failed", message: expect.stringContaining("shared_buffers") as string };
  await expect(start(dir, { shared_buffers: "plenty" })).rejects.toMatchObject(refusal);
});

test("a data directory with a very long path works", async ({ empty, start }) => {
  const { db } = await start(join(empty, "long".repeat(30)));
  expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
});

test("a stop in the middle of a restart ends whatever was started", async ({ dir, start }) => {
  const { postgres, pid, stop } = await start(dir);
  process.kill(pid, "SIGKILL");
  await vi.waitFor(() => expect(postgres.pid()).toBeUndefined(), soon);
  await stop();
  await postgres.done;
  await expect(readFile(join(dir, "pg/postmaster.pid"))).rejects.toMatchObject({ code: "ENOENT" });
});
