/** The files of the embedded PostgreSQL: made whole or not at all, and free of the processes of a dead owner. */
import { execFile, spawn } from "node:child_process";
import { chown, lchown, mkdir, open, readFile, readdir, readlink, rename, rm, stat, statfs } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { AppError } from "@drover/contract";
import type { Binaries, Launcher } from "./postgres-binaries.ts";

const MIB = 1024 * 1024;
// A new cluster has 40 MiB; a running one needs a few WAL segments of 16 MiB to get through its recovery.
const NEW_CLUSTER_BYTES = 128 * MIB;
const OLD_CLUSTER_BYTES = 48 * MIB;
const WORKING_NAME = "pg.unfinished-";

export const SUPERUSER = "drover";

/** Makes `<dataDir>/pg` unless it is there, and refuses one of another PostgreSQL version or on a full disk. */
export async function ensureCluster(dataDir: string, binaries: Binaries, launcher: Launcher): Promise<string> {
  const cluster = join(dataDir, "pg");
  for (const name of await readdir(dataDir)) {
    if (name.startsWith(WORKING_NAME)) await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
  const version = await readVersion(cluster);
  await refuseFullDisk(dataDir, version === undefined ? NEW_CLUSTER_BYTES : OLD_CLUSTER_BYTES);
  if (version === undefined) await createCluster(dataDir, cluster, binaries.env, launcher);
  else if (version !== binaries.major) refuseVersion(cluster, version, binaries.major);
  if (launcher.owner !== undefined) await ensureOwner(cluster, launcher.owner);
  return cluster;
}

export async function clusterOwner(dataDir: string): Promise<number | undefined> {
  return (await statOrUndefined(join(dataDir, "pg")))?.uid;
}

async function readVersion(cluster: string): Promise<number | undefined> {
  const text = await readFile(join(cluster, "PG_VERSION"), "utf8").catch(() => undefined);
  if (text !== undefined) return Number.parseInt(text, 10);
  const files = await readdir(cluster).catch((): string[] => []);
  if (files.length === 0) return undefined;
  throw new AppError(
    "database.start_failed",
    `${cluster} has files but no PG_VERSION, so it is not a PostgreSQL directory that Drover made. Move it away, or restore it from a backup.`,
  );
}

function refuseVersion(cluster: string, theirs: number, ours: number): never {
  const remedy =
    theirs > ours
      ? "Start the newer Drover that wrote it"
      : "Start the older Drover that wrote it, dump the database with pg_dump, and load the dump into a new data directory";
  throw new AppError(
    "data_dir.newer",
    `${cluster} was written by PostgreSQL ${theirs}; this Drover has PostgreSQL ${ours}. ${remedy}, or run a PostgreSQL ${theirs} of your own on it and set DATABASE_URL.`,
  );
}

async function refuseFullDisk(dataDir: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(dataDir);
  const freeBytes = bavail * bsize;
  if (freeBytes >= neededBytes) return;
  throw new AppError(
    "data_dir.full",
    `${dataDir} has ${Math.floor(freeBytes / MIB)} MiB free; PostgreSQL needs ${neededBytes / MIB} MiB to start. Free some space, or set DROVER_DATA_DIR to another disk.`,
  );
}

/** initdb works beside the final place, so that what is called `pg` is always complete. */
async function createCluster(
  dataDir: string,
  cluster: string,
  env: Binaries["env"],
  launcher: Launcher,
): Promise<void> {
  const unfinished = join(dataDir, `${WORKING_NAME}${process.pid}`);
  // A locale of PostgreSQL's own: an upgrade of the system cannot change the order of an index.
  const collation = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  const { command, args } = launcher.wrap("initdb", ["-D", unfinished, "-U", SUPERUSER, "--auth=trust", ...collation]);
  const child = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"], detached: true });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints = (complaints + text).slice(-4_000)));
  const code = await new Promise<number | string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (exitCode, signal) => resolve(exitCode ?? signal ?? "unknown"));
  });
  if (code !== 0) {
    await rm(unfinished, { recursive: true, force: true, maxRetries: 5 });
    throw startFailure(`initdb ended with ${code}`, complaints, dataDir);
  }
  await rename(unfinished, cluster);
  const directory = await open(dataDir);
  await directory.sync();
  await directory.close();
}

/** PostgreSQL's own words decide between a full disk and any other failure; it has no codes before it listens. */
export function startFailure(what: string, complaints: string, dataDir: string): AppError {
  if (/No space left on device|Disk quota exceeded/.test(complaints)) {
    return new AppError(
      "data_dir.full",
      `The disk of ${dataDir} is full: PostgreSQL could not start. Free some space.`,
    );
  }
  return new AppError("database.start_failed", `${what}. PostgreSQL said: ${complaints.trim() || "nothing"}`);
}

async function ensureOwner(cluster: string, owner: number): Promise<void> {
  if ((await stat(cluster)).uid === owner) return;
  for (const file of await readdir(cluster, { recursive: true })) await lchown(join(cluster, file), owner, owner);
  // Last, because it is what says that the work is done.
  await chown(cluster, owner, owner);
}

/** Ends what a dead owner left running on this cluster and removes its marks. Only for the holder of the data directory. */
export async function endLeftovers(cluster: string): Promise<readonly number[]> {
  const found = await listPostgres(cluster);
  const postmaster = Number.parseInt(await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => ""), 10);
  // A postmaster that is shutting down needs only time; processes without one have nobody to wait for.
  const gentle: Step = { signal: "SIGINT", waitMs: 10_000, to: (pid) => pid === postmaster };
  const steps: readonly Step[] = [
    ...(found.includes(postmaster) ? [gentle] : []),
    { signal: "SIGQUIT", waitMs: 3_000, to: () => true },
    { signal: "SIGKILL", waitMs: 5_000, to: () => true },
  ];
  let left = found;
  for (const step of steps) {
    if (left.length === 0) break;
    for (const pid of left.filter(step.to)) endProcess(pid, step.signal);
    left = await waitUntilGone(cluster, step.waitMs);
  }
  if (left.length > 0)
    throw new AppError("database.start_failed", `PostgreSQL processes ${left.join(", ")} on ${cluster} do not end.`);
  // PostgreSQL believes this file when its process id is in use again, and would refuse to start.
  await rm(join(cluster, "postmaster.pid"), { force: true });
  return found;
}

interface Step {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
  readonly to: (pid: number) => boolean;
}

async function waitUntilGone(cluster: string, waitMs: number): Promise<readonly number[]> {
  let left = await listPostgres(cluster);
  for (let waitedMs = 0; left.length > 0 && waitedMs < waitMs; waitedMs += 20) {
    await sleep(20);
    left = await listPostgres(cluster);
  }
  return left;
}

function endProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself meanwhile.
  }
}

/** The PostgreSQL processes of this cluster, known by their working directory, which is always the cluster's. */
async function listPostgres(cluster: string): Promise<readonly number[]> {
  if (process.platform !== "linux") return await listPostmasters(cluster);
  const found = await Promise.all(
    (await readdir("/proc"))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
        if (cwd !== cluster) return undefined;
        const program = await readlink(`/proc/${pid}/exe`).catch(() => "");
        return basename(program) === "postgres" ? Number(pid) : undefined;
      }),
  );
  return found.filter((pid) => pid !== undefined);
}

async function listPostmasters(cluster: string): Promise<readonly number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axo", "pid=,command="]);
  return stdout
    .split("\n")
    .filter((line) => line.includes(`postgres -D ${cluster} `))
    .map((line) => Number.parseInt(line, 10));
}

/** Empties the directory of the socket: its lock file, too, would be believed after its process id was recycled. */
export async function ensureEmptyDir(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true, mode: 0o700 });
}

async function statOrUndefined(path: string) {
  return await stat(path).catch(() => undefined);
}
