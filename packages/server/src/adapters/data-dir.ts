/** One server per data directory, enforced by the kernel: the owner listens on a socket in it.
 *
 *  A process id in a file would have to be believed: it may be recycled, or belong to another container that shares the
 *  directory. A connection to the socket succeeds exactly as long as its owner lives, even when it is stopped or busy. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, open, readdir, realpath, rename, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import type { Server } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "@drover/contract";

export interface DataDir {
  /** Absolute and without symbolic links. */
  readonly path: string;
  /** Lets the next server in; idempotent. */
  release(): Promise<void>;
}

// `claim`: somebody asks for the directory. `held`: somebody has it.
const NAME = /^(\d+)-([0-9a-f]{8})\.(claim|held)$/;
const CLAIM_WAIT_MS = 2_000;

/** Creates `dir` (0700) and takes it, or refuses with "data_dir.in_use". Of several that ask at once exactly one gets it. */
export async function lockDataDir(dir: string): Promise<DataDir> {
  const path = await ensureOwn(dir).catch((cause: unknown) => Promise.reject(toUnusable(dir, cause)));
  const folder = join(path, "lock");
  const handle = await open(folder);
  // A socket's path may have 107 bytes at most; on Linux the open directory gives every folder a short name.
  const short = process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : folder;
  const name = `${process.pid}-${randomBytes(4).toString("hex")}`;
  // Renamed once it listens: between `bind` and `listen` it would look dead to others.
  const server = await listen(join(short, `${name}.new`));
  const release = async () => {
    for (const kind of ["new", "claim", "held"]) await rm(join(folder, `${name}.${kind}`), { force: true });
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await handle.close();
  };
  try {
    await rename(join(folder, `${name}.new`), join(folder, `${name}.claim`));
    await waitForTurn(short, name);
    await rename(join(folder, `${name}.claim`), join(folder, `${name}.held`));
  } catch (error) {
    await release();
    if (!(error instanceof Occupied)) throw error;
    throw new AppError(
      "data_dir.in_use",
      `${path} is used by another Drover (process ${error.pid}). Stop that one first (kill ${error.pid}), or set DROVER_DATA_DIR to another directory.`,
    );
  }
  let released: Promise<void> | undefined;
  return { path, release: () => (released ??= release()) };
}

/** The directory, ours alone, with room for the lock in it. */
async function ensureOwn(dir: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = await realpath(dir);
  await chmod(path, 0o700);
  await mkdir(join(path, "lock"), { recursive: true, mode: 0o700 });
  return path;
}

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: "it is no directory",
  ENOTDIR: "what it lies in is no directory",
  EACCES: "this user may not write there",
  EPERM: "it belongs to another user",
  EROFS: "that file system is read-only",
};

function toUnusable(dir: string, cause: unknown): unknown {
  const { code = "" } = cause as NodeJS.ErrnoException;
  if (code === "ENOSPC" || code === "EDQUOT")
    return new AppError("data_dir.full", `no space is left in ${dir}`, { cause });
  const reason = REASONS[code];
  if (reason === undefined) return cause;
  const remedy = "set DROVER_DATA_DIR to a directory that you may write to";
  return new AppError("config.invalid", `${dir} cannot hold Drover's data: ${reason}; ${remedy}`, { cause });
}

class Occupied extends Error {
  readonly pid: string;
  constructor(pid: string) {
    super(`occupied by ${pid}`);
    this.pid = pid;
  }
}

/** Resolves when nobody else holds or may still get the directory. Of two claims the lower name goes first. */
async function waitForTurn(folder: string, mine: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += 10) {
    let rival: string | undefined;
    for (const file of await readdir(folder)) {
      const [, pid = "", tail = "", kind = ""] = NAME.exec(file) ?? [];
      const name = `${pid}-${tail}`;
      if (pid === "" || name === mine) continue;
      if (!(await isAlive(join(folder, file)))) {
        // A claim may have become `held` just now; then this removes nothing and the next round sees it.
        if (!(await isAlive(join(folder, `${name}.held`)))) await rm(join(folder, file), { force: true });
        else rival = pid;
        continue;
      }
      if (kind === "held" || name < mine) throw new Occupied(pid);
      rival = pid;
    }
    if (rival === undefined) return;
    if (waitedMs >= CLAIM_WAIT_MS) throw new Occupied(rival);
    await sleep(10);
  }
}

function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => {
      server.unref();
      resolve(server);
    });
  });
}

/** Whether anybody listens there. "Refused" and "no such file" mean no; a full queue of callers means yes. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ECONNREFUSED" || error.code === "ENOENT") resolve(false);
      else if (error.code === "EAGAIN") resolve(true);
      else reject(error);
    });
  });
}
