/** One PostgreSQL for a whole test run, with a migrated template; named as `globalSetup` in the vitest configuration. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { lockDataDir } from "../../server/src/adapters/data-dir.ts";
import type { DataDir } from "../../server/src/adapters/data-dir.ts";
import { openPostgres } from "../../server/src/adapters/db-postgres.ts";
import { startPostgres } from "../../server/src/adapters/postgres-embedded.ts";
import type { EmbeddedPostgres } from "../../server/src/adapters/postgres-embedded.ts";
import { migrate } from "../../server/src/store/migrate.ts";
import { TEMPLATE, toDatabaseUrl } from "./postgres.ts";
import { silentLog } from "./silent-log.ts";

// Nothing here outlives the run, so nothing needs to reach the disk.
const SETTINGS = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", max_connections: 200 };

let dataDir: DataDir | undefined;
let postgres: EmbeddedPostgres | undefined;

export async function setup(project: TestProject): Promise<void> {
  dataDir = await lockDataDir(await mkdtemp(join(tmpdir(), "drover-test-")));
  const { signal } = new AbortController();
  postgres = await startPostgres({ dataDir, log: silentLog, signal, settings: SETTINGS });
  const admin = openPostgres({ url: postgres.url, maxConnections: 1 });
  await admin.query({ text: `create database ${TEMPLATE}`, values: [] });
  await admin.close();
  const template = openPostgres({ url: toDatabaseUrl(postgres.url, TEMPLATE), maxConnections: 1 });
  await migrate(template);
  await template.close();
  project.provide("postgresUrl", postgres.url);
}

export async function teardown(): Promise<void> {
  await postgres?.stop();
  await dataDir?.release();
  if (dataDir !== undefined) await rm(dataDir.path, { recursive: true, force: true });
}
