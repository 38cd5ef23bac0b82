/** One process per directory. The kernel holds the lock: it is a listening socket, so it dies with its process.
 *
 *  Locks are numbered and the highest is never removed by another. To take the next number one must have found the
 *  highest dead, and the dead stay dead; the hard link makes a number appear exactly once, already listening. */
import { AppError } from "@drover/contract";
import { existsSync } from "node:fs";
import { link, mkdir, open, readdir, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { join } from "node:path";

export interface DirectoryLock {
  release(): Promise<void>;
}

/** Unix sockets take paths of at most 107 bytes; a descriptor of the directory makes any path short. */
const PATH_LIMIT = 100;

const toNumber = (name: string) => Number(/^lock-(\d+)$/.exec(name)?.[1] ?? 0);
const listNumbers = async (directory: string) => (await readdir(directory)).map(toNumber).filter((n) => n > 0);

const listen = (path: string) =>
  new Promise<Server>((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    server.once("error", reject);
    server.listen(path, () => resolve(server));
  });

const isAlive = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => (socket.destroy(), resolve(true)));
    socket.once("error", () => resolve(false));
  });

const isLinked = (from: string, to: string) =>
  link(from, to).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "EEXIST") return false;
      throw error;
    },
  );

async function takeNumber(directory: string, near: string, own: string): Promise<number> {
  for (;;) {
    const highest = Math.max(0, ...(await listNumbers(directory)));
    if (highest > 0 && (await isAlive(join(near, `lock-${highest}`)))) {
      throw new AppError("data_dir.in_use", `another worker runs in ${directory}`);
    }
    const mine = highest + 1;
    if (!(await isLinked(join(directory, own), join(directory, `lock-${mine}`)))) continue;
    const numbers = await listNumbers(directory);
    if (Math.max(...numbers) === mine) {
      await Promise.all(numbers.filter((n) => n < mine).map((n) => rm(join(directory, `lock-${n}`), { force: true })));
      return mine;
    }
    // The list was old: others came and went meanwhile, and only the highest number counts.
    await rm(join(directory, `lock-${mine}`), { force: true });
  }
}

export async function lockDirectory(directory: string, id: string): Promise<DirectoryLock> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const handle = await open(directory, "r");
  const isLong = Buffer.byteLength(directory) > PATH_LIMIT - 30 && existsSync("/proc/self/fd");
  const near = isLong ? `/proc/self/fd/${handle.fd}` : directory;
  const own = `claim-${id}`;
  const server = await listen(join(near, own));
  const close = async () => {
    await new Promise<void>((resolve) => server.close(() => resolve()));
    await rm(join(directory, own), { force: true });
    await handle.close();
  };
  try {
    await takeNumber(directory, near, own);
  } catch (error) {
    await close();
    throw error;
  }
  return { release: close };
}
