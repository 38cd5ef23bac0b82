/** A Drover of its own for a benchmark: fresh data directory, embedded PostgreSQL with its usual settings. */
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startChild, type Child } from "./child.ts";

export interface WorkerAccess {
  readonly id: string;
  readonly token: string;
  readonly projectId: string;
}

export interface Drover extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  /** Of the embedded PostgreSQL, for the other side of the comparison. */
  readonly databaseUrl: string;
  readonly process: Child;
  createSandbox(): Promise<WorkerAccess>;
}

const UNLIMITED = "1000000000";

export async function makeDataDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "drover-bench-")));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 5 }) };
}

export const toEnv = (dataDir: string): Readonly<Record<string, string>> => ({
  DROVER_DATA_DIR: dataDir,
  DROVER_PORT: "0",
  DROVER_LOG_LEVEL: "warn",
  DROVER_EVENTS_PER_SECOND: UNLIMITED,
  DROVER_EVENT_BURST: UNLIMITED,
  SANDBOX_WARM_LOCAL: "0",
});

export const toDatabaseUrl = (dataDir: string) =>
  `postgresql://drover@/postgres?host=${encodeURIComponent(join(dataDir, "run"))}&sslmode=disable`;

export async function startDrover(
  execArgv: readonly string[] = profilerArguments(),
  more: Readonly<Record<string, string>> = {},
): Promise<Drover> {
  const dataDir = await makeDataDir();
  const child = startChild("serve-drover.ts", { env: { ...toEnv(dataDir.path), ...more }, execArgv });
  const { url, token } = await child.ask<{ url: string; token: string }>("start");
  return {
    url,
    token,
    databaseUrl: toDatabaseUrl(dataDir.path),
    process: child,
    createSandbox: async () => {
      const reply = await fetch(`${url}/api/v1/sandboxes`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ provider: "external" }),
      });
      if (reply.status !== 201) throw new Error(`no sandbox: ${reply.status} ${await reply.text()}`);
      const made = (await reply.json()) as { id: string; worker_token: string; project_id: string };
      return { id: made.id, token: made.worker_token, projectId: made.project_id };
    },
    [Symbol.asyncDispose]: async () => {
      await child.stop();
      await dataDir[Symbol.asyncDispose]();
    },
  };
}

/** `BENCH_CPU_PROF=dir npm run bench ingest` leaves a profile of the server there. */
function profilerArguments(): readonly string[] {
  const dir = process.env["BENCH_CPU_PROF"];
  return dir === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${dir}`];
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
