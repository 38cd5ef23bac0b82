/** A real PostgreSQL as a child of this process: started, watched, restarted after a crash, and stopped with it. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@drover/contract";
import type { Log } from "../ports/log.ts";
import type { DataDir } from "./data-dir.ts";
import { findBinaries, pickLauncher } from "./postgres-binaries.ts";
import type { Binaries, Launcher } from "./postgres-binaries.ts";
import {
  SUPERUSER,
  clusterOwner,
  endLeftovers,
  ensureCluster,
  ensureEmptyDir,
  startFailure,
} from "./postgres-cluster.ts";

export type Settings = Readonly<Record<string, string | number>>;

export interface EmbeddedOptions {
  /** Held by the caller before, and released after PostgreSQL has stopped. */
  readonly dataDir: DataDir;
  readonly log: Log;
  /** Aborting it stops PostgreSQL, as `stop` does. */
  readonly signal: AbortSignal;
  readonly settings?: Settings;
}

export interface EmbeddedPostgres {
  /** For `openPostgres`, psql and pg_dump alike. */
  readonly url: string;
  /** Process id of the postmaster; undefined while there is none. */
  pid(): number | undefined;
  /** Why it is down; undefined while it runs. After a restart it clears a moment (20 ms) after the first statement works. */
  problem(): AppError | undefined;
  /** Ends it cleanly, within 15 seconds; idempotent. */
  stop(): Promise<void>;
  /** Resolves after `stop` or abort. A crash does not end it: PostgreSQL is started again until that succeeds. */
  readonly done: Promise<void>;
}

// One node, nobody replicates from it, and it shares the machine with agents: safe writes, modest memory.
const SETTINGS: Settings = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: 40,
  shared_buffers: "128MB",
  work_mem: "8MB",
  maintenance_work_mem: "64MB",
  effective_cache_size: "512MB",
  huge_pages: "off",
  max_parallel_workers_per_gather: 0,
  autovacuum_max_workers: 2,
  io_method: "sync",
  fsync: "on",
  synchronous_commit: "on",
  wal_level: "minimal",
  max_wal_senders: 0,
  max_wal_size: "512MB",
  max_logical_replication_workers: 0,
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
  // Errors of statements go to whoever sent them; the log is for the server's own fate.
  log_min_messages: "log",
  log_checkpoints: "off",
};

const READY_WAIT_MS = 120_000;
const LAST_WORDS_MS = 200;
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const STOP_STEPS = [
  { signal: "SIGINT", waitMs: 10_000 },
  { signal: "SIGQUIT", waitMs: 4_000 },
  { signal: "SIGKILL", waitMs: 1_000 },
] as const;

/** Starts PostgreSQL on `<dataDir>/pg`, which it makes first if need be, and resolves when it accepts connections. */
export async function startPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const { dataDir, log, signal } = options;
  const startedAt = performance.now();
  signal.throwIfAborted();
  const binaries = await findBinaries(join(dataDir.path, "pg-lib"));
  const launcher = await pickLauncher(binaries, await clusterOwner(dataDir.path));
  const cluster = await ensureCluster(dataDir.path, binaries, launcher);
  const socketDir = await makeSocketDir(dataDir.path);
  const place: Place = {
    dataDir: dataDir.path,
    cluster,
    socketDir,
    binaries,
    launcher,
    log,
    settings: options.settings ?? {},
  };

  const stopping = new AbortController();
  let running: Running | undefined = await launch(place, AbortSignal.any([stopping.signal, signal]));
  let problem: AppError | undefined;
  log.info("postgres.started", {
    pid: running.pid,
    ms: Math.round(performance.now() - startedAt),
    launcher: launcher.describe,
  });

  const watch = async (first: Running) => {
    let current = first;
    let quickDeaths = 0;
    for (;;) {
      const bornAt = performance.now();
      problem = await current.exited;
      running = undefined;
      if (stopping.signal.aborted) return;
      log.warn("postgres.exited", { pid: current.pid, reason: problem.message });
      // The first death is repaired at once; one that starts only to die again has to wait.
      quickDeaths = performance.now() - bornAt < STEADY_MS ? quickDeaths + 1 : 0;
      if (quickDeaths > 1) await pause(quickDeaths, stopping.signal);
      const next = await relaunch(place, stopping.signal, (error) => (problem = error));
      if (next === undefined) return;
      // Stopped in the moment in which it became ready: nobody else knows of it yet.
      if (stopping.signal.aborted) return await next.end();
      running = current = next;
      problem = undefined;
      log.warn("postgres.restarted", { pid: next.pid });
    }
  };
  const watched = watch(running);
  const stop = async () => {
    signal.removeEventListener("abort", onAbort);
    stopping.abort();
    if (running !== undefined) await running.end();
    await watched;
    await rm(socketDir, { recursive: true, force: true });
  };
  let stopped: Promise<void> | undefined;
  const finished = Promise.withResolvers<void>();
  const stopOnce = () => {
    stopped ??= stop();
    finished.resolve(stopped);
    return stopped;
  };
  const onAbort = () => void stopOnce();
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) await stopOnce();
  return {
    url: `postgresql://${SUPERUSER}@/postgres?host=${encodeURIComponent(socketDir)}&sslmode=disable`,
    pid: () => running?.pid,
    problem: () => problem,
    stop: stopOnce,
    done: finished.promise,
  };
}

interface Place {
  readonly dataDir: string;
  readonly cluster: string;
  readonly socketDir: string;
  readonly binaries: Binaries;
  readonly launcher: Launcher;
  readonly log: Log;
  readonly settings: Settings;
}

interface Running {
  readonly pid: number;
  /** Resolves with the reason when the postmaster is gone. */
  readonly exited: Promise<AppError>;
  end(): Promise<void>;
}

/** Tries for ever, ever more slowly: a full disk may be emptied hours later, and until then the server can say so. */
async function relaunch(
  place: Place,
  stopping: AbortSignal,
  onFailure: (error: AppError) => void,
): Promise<Running | undefined> {
  for (let failures = 1; !stopping.aborted; failures += 1) {
    try {
      return await launch(place, stopping);
    } catch (cause) {
      const error = cause instanceof AppError ? cause : new AppError("database.start_failed", String(cause), { cause });
      onFailure(error);
      place.log.warn("postgres.restart_failed", { code: error.code, reason: error.message, failures });
    }
    await pause(failures, stopping);
  }
  return undefined;
}

async function pause(failures: number, stopping: AbortSignal): Promise<void> {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
  await sleep(pauseMs, undefined, { signal: stopping }).catch(() => undefined);
}

/** Starts one postmaster and resolves when it accepts connections. */
async function launch(place: Place, stopping: AbortSignal): Promise<Running> {
  const left = await endLeftovers(place.cluster);
  if (left.length > 0) place.log.warn("postgres.leftovers_ended", { pids: left });
  await ensureEmptyDir(place.socketDir);
  const settings = {
    ...SETTINGS,
    ...place.settings,
    unix_socket_directories: `"${place.socketDir.replaceAll('"', '""')}"`,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const { command, args } = place.launcher.wrap("postgres", ["-D", place.cluster, ...flags]);
  // A session of its own: Ctrl-C in a terminal is for us, and PostgreSQL is stopped last.
  const child = spawn(command, args, { env: place.binaries.env, stdio: ["ignore", "ignore", "pipe"], detached: true });
  const tail = followLog(child, place.log, stopping);
  const exited = new Promise<AppError>((resolve) => {
    child.once("error", (error) => resolve(new AppError("database.start_failed", error.message, { cause: error })));
    child.once("exit", (code, signal) => {
      // Its last words may still be in the pipe; but sessions that outlive it keep the pipe open.
      const report = () => resolve(startFailure(`PostgreSQL ended with ${signal ?? code}`, tail(), place.dataDir));
      child.once("close", report);
      setTimeout(report, LAST_WORDS_MS);
    });
  });
  const end = () => endChild(child, exited);
  const failure = await Promise.race([exited, waitUntilReady(place.cluster, child, exited, stopping)]);
  if (failure === undefined && child.pid !== undefined) return { pid: child.pid, exited, end };
  await end();
  throw failure ?? new AppError("database.start_failed");
}

/** Resolves with undefined when the postmaster says in its own file that it is ready. */
async function waitUntilReady(
  cluster: string,
  child: ChildProcess,
  exited: Promise<AppError>,
  stopping: AbortSignal,
): Promise<AppError | undefined> {
  const file = join(cluster, "postmaster.pid");
  for (let waitedMs = 0; waitedMs < READY_WAIT_MS; waitedMs += 20) {
    if (hasEnded(child)) return await exited;
    if (stopping.aborted) return new AppError("database.start_failed", "PostgreSQL was stopped while it started.");
    const lines = (await readFile(file, "utf8").catch(() => "")).split("\n");
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === "ready") return undefined;
    await sleep(20);
  }
  return new AppError("database.start_failed", `PostgreSQL was not ready after ${READY_WAIT_MS / 1_000} seconds.`);
}

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

async function endChild(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  for (const { signal, waitMs } of STOP_STEPS) {
    if (hasEnded(child)) break;
    child.kill(signal);
    const nap = new AbortController();
    await Promise.race([exited, sleep(waitMs, undefined, { signal: nap.signal }).catch(() => undefined)]);
    nap.abort();
  }
}

/** Passes what PostgreSQL prints on, and remembers the last lines for an error message. That it ends sessions when it is told to
 *  stop is no trouble. */
function followLog(child: ChildProcess, log: Log, stopping: AbortSignal): () => string {
  const last: string[] = [];
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (/ (?:FATAL|PANIC): /.test(line) && !stopping.aborted) log.warn("postgres.said", { line });
      else log.debug("postgres.said", { line });
      last.push(line);
      if (last.length > 20) last.shift();
    });
  }
  return () => last.join("\n");
}

/** A socket's path has at most 107 bytes, of which its name takes 15. */
async function makeSocketDir(dataDir: string): Promise<string> {
  const near = join(dataDir, "run");
  return Buffer.byteLength(near) <= 92 ? near : await mkdtemp(join(tmpdir(), "drover-pg-"));
}
