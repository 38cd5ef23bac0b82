/** Looks at what a server would need, without being one: nothing is migrated, made or kept. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { AppError, type Config } from "@drover/contract";
import { openPostgres } from "./adapters/db-postgres.ts";
import { openRedisBus } from "./adapters/bus-redis.ts";
import { connectEngine, identifyEngine, toAppError } from "./adapters/docker/connection.ts";
import { openKubernetes, toKubernetesOptions } from "./adapters/sandbox-kubernetes.ts";
import type { Log } from "./ports/log.ts";

const PACKAGES = resolve(import.meta.dirname, "../..");
const BUILT = ["web/dist/index.html", "worker/dist/worker.mjs", "worker/dist/supervisor.cjs"];
const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const LOOK_MS = 50;
const PATIENCE_MS = 5_000;

/** Built files that are not there. */
export const findUnbuilt = (): readonly string[] => BUILT.filter((path) => !existsSync(join(PACKAGES, path)));

/** The database's own name and version. */
export async function probeDatabase(url: string): Promise<string> {
  const db = openPostgres({ url, maxConnections: 1, statementTimeoutMs: PATIENCE_MS });
  try {
    const [row] = await db.query({ text: "select split_part(version(), ' on ', 1) as version", values: [] });
    return typeof row?.["version"] === "string" ? row["version"] : "PostgreSQL";
  } finally {
    await db.close();
  }
}

export async function probeRedis(url: string): Promise<void> {
  const bus = openRedisBus(url, SILENT);
  const deadlineMs = performance.now() + PATIENCE_MS;
  try {
    while (!bus.isUp()) {
      if (performance.now() > deadlineMs) throw new AppError("server.not_ready", "Redis does not answer");
      await new Promise<void>((done) => void setTimeout(done, LOOK_MS));
    }
  } finally {
    await bus.close();
  }
}

/** Rejects when it takes longer than anybody would wait. */
function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new AppError("server.not_ready", `${what} does not answer`)), PATIENCE_MS);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

/** The engine's own name and version. */
export async function probeEngine(host: string): Promise<string> {
  const connection = await connectEngine(host);
  try {
    return (await inTime(identifyEngine(connection), host)).title;
  } catch (error) {
    throw toAppError(error, connection);
  }
}

/** Asks the cluster what it has under a label that no sandbox carries: that there is an answer is what counts. */
export async function probeKubernetes(config: Config): Promise<void> {
  const provider = await openKubernetes(toKubernetesOptions(config));
  await provider.list({ drover: "probe" }, AbortSignal.timeout(PATIENCE_MS));
}
