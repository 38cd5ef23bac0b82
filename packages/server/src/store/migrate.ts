/** Forward-only migrations: every file once, in order, one transaction each, under one advisory lock. */
import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { Db } from "../ports/db.ts";
import { sql } from "./sql.ts";

export const MIGRATIONS = join(import.meta.dirname, "migrations");

export interface Migration {
  readonly id: number;
  readonly file: string;
  readonly text: string;
  readonly checksum: string;
  /** First line `--! breaking`: a binary that does not know this migration must not run against it. */
  readonly isBreaking: boolean;
}

const AppliedRow = z.object({ id: z.int(), file: z.string(), checksum: z.string(), breaking: z.boolean() });
type AppliedRow = z.infer<typeof AppliedRow>;

// Any constant will do, as long as nothing else in the database locks it.
const MIGRATION_LOCK = 7_243_180_661;

/** Brings the database up to date and says which files it applied. Safe to call from several processes at once. */
export async function migrate(db: Db, folder: string = MIGRATIONS): Promise<readonly string[]> {
  const known = await loadMigrations(folder);
  const done: string[] = [];
  for (let applied = await applyNext(db, known); applied !== undefined; applied = await applyNext(db, known)) {
    done.push(applied.file);
  }
  return done;
}

/** Applies the first missing migration. The lock is the transaction's, so that it dies with the connection. */
function applyNext(db: Db, known: readonly Migration[]): Promise<Migration | undefined> {
  return db.tx(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    await tx.query(sql`set local statement_timeout = 0`);
    const applied = await loadApplied(tx);
    refuseDisagreement(known, applied);
    const next = known.find(({ id }) => !applied.some((row) => row.id === id));
    if (next === undefined) return undefined;
    await tx.query(sql`
      insert into migrations (id, file, checksum, breaking)
      values (${next.id}, ${next.file}, ${next.checksum}, ${next.isBreaking})`);
    await tx.query({ text: next.text, values: [] });
    return next;
  });
}

async function loadApplied(tx: Db): Promise<readonly AppliedRow[]> {
  // Asking first, because `if not exists` would print a notice and want the right to create at every start.
  const [found] = await tx.query(sql`select to_regclass('migrations') is not null as exists`);
  if (found?.["exists"] !== true) {
    await tx.query(sql`
      create table migrations (
        id int primary key,
        file text not null,
        checksum text not null,
        breaking boolean not null,
        applied_at timestamptz not null default now()
      )`);
  }
  const rows = await tx.query(sql`select id, file, checksum, breaking from migrations order by id limit 10000`);
  return AppliedRow.array().parse(rows);
}

function refuseDisagreement(known: readonly Migration[], applied: readonly AppliedRow[]): void {
  for (const row of applied) {
    const migration = known.find(({ id }) => id === row.id);
    if (migration === undefined) {
      if (!row.breaking) continue;
      throw new AppError(
        "migration.newer",
        `The database has ${row.file}, which this version of Drover does not know. Start the version that wrote it, or a later one.`,
      );
    }
    if (migration.checksum !== row.checksum) {
      throw new AppError(
        "migration.changed",
        `${migration.file} is not what was applied to this database. Restore the file, and put the change into a new migration.`,
      );
    }
  }
}

export async function loadMigrations(folder: string): Promise<readonly Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
  const migrations = await Promise.all(
    files.map(async (file): Promise<Migration> => {
      const [, digits] = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file) ?? [];
      if (digits === undefined) throw new Error(`migration ${file} is not named like 0001_events.sql`);
      const text = await readFile(join(folder, file), "utf8");
      const checksum = createHash("sha256").update(text).digest("hex");
      return { id: Number(digits), file, text, checksum, isBreaking: /^--! breaking\s/.test(text) };
    }),
  );
  const twice = migrations.find(({ id }, i) => migrations[i - 1]?.id === id);
  if (twice !== undefined) throw new Error(`two migrations have the number of ${twice.file}`);
  return migrations;
}
