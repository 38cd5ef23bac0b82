/** A file system per sandbox in a sparse file, so that its disk ends where its limit says. Root only, and only where loop
 *  devices are to be had. Measured: 3 ms to copy an empty one and 8 to 30 ms to mount it, beside bubblewrap's start, against a `du` over
 *  every file every two seconds. */
import { execFile } from "node:child_process";
import { access, constants, mkdir, mkdtemp, rename, rm, stat, statfs, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const MAKE = "/usr/sbin/mkfs.ext4";
const COPY = "/bin/cp";
/** Until the next one is copied: whoever took the last has the machine to itself first. */
const SPARE_AFTER_MS = 300;
/** No journal fits below. */
const LEAST_BYTES = 32 * 1024 * 1024;
/** Files of a source tree are small: one inode for every 8 KiB. */
const MAKE_ARGS = ["-q", "-F", "-m", "0", "-i", "8192", "-J", "size=4", "-O", "^resize_inode"];
const MAKE_EXTENDED = "lazy_itable_init=1,lazy_journal_init=1,nodiscard";
/** What is deleted inside becomes a hole outside; nothing in it is a device or runs as somebody else. */
export const IMAGE_MOUNT_OPTIONS = "loop,nosuid,nodev,discard,noinit_itable,errors=remount-ro";
/** Where the file system is mounted in the mount namespace of its sandbox, beside what is shown of it. */
export const IMAGE_MOUNT = "/mnt/disk";

export const isImageSize = (bytes: number): boolean => bytes >= LEAST_BYTES;

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/** Made beside and renamed: one that is there is whole. */
async function makeImage(path: string, bytes: number): Promise<void> {
  const part = `${path}.${process.pid}.part`;
  await writeFile(part, "", { mode: 0o600 });
  await truncate(part, bytes);
  await run(MAKE, [...MAKE_ARGS, "-E", MAKE_EXTENDED, part]);
  await rename(part, path);
}

export interface DiskImages {
  /** Twice equals once: what is in an image that is there already stays. */
  ensure(path: string, bytes: number): Promise<void>;
  close(): Promise<void>;
}

/** An empty file system of each size is made once and kept in `folder`; each sandbox gets a copy of what is not a hole in it. One copy of
 *  the size that was asked for last is made ahead. */
export function openDiskImages(folder: string): DiskImages {
  const made = new Map<number, Promise<string>>();
  let spare: { readonly path: string; readonly bytes: number } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let copying: Promise<void> = Promise.resolve();

  const ensureEmpty = async (bytes: number): Promise<string> => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `empty-${bytes}.img`);
    if (!(await isThere(path))) await makeImage(path, bytes);
    return path;
  };
  const findEmpty = (bytes: number): Promise<string> => {
    const known = made.get(bytes) ?? ensureEmpty(bytes);
    made.set(bytes, known);
    // Tried again by the next one: a disk that was full may have room by then.
    known.catch(() => made.delete(bytes));
    return known;
  };
  const copyEmpty = async (bytes: number, path: string): Promise<void> => {
    const empty = await findEmpty(bytes);
    await run(COPY, ["--sparse=always", "--reflink=auto", "--", empty, path]);
  };
  const makeSpare = async (bytes: number): Promise<void> => {
    const path = join(folder, `spare-${process.pid}.img`);
    spare = undefined;
    await copyEmpty(bytes, path);
    spare = { path, bytes };
  };
  /** A spare that cannot be taken, because another has it or somebody removed it, is no reason to fail. */
  const takeSpare = (bytes: number, path: string): Promise<boolean> => {
    if (spare?.bytes !== bytes) return Promise.resolve(false);
    const taken = spare.path;
    spare = undefined;
    return rename(taken, path).then(
      () => true,
      () => false,
    );
  };
  return {
    ensure: async (path, bytes) => {
      if (await isThere(path)) return;
      if (!(await takeSpare(bytes, path))) {
        await copyEmpty(bytes, `${path}.part`);
        await rename(`${path}.part`, path);
      }
      timer ??= setTimeout(() => {
        timer = undefined;
        // Expected: no room. The next sandbox then makes its own, or says why it cannot.
        copying = makeSpare(bytes).catch(() => undefined);
      }, SPARE_AFTER_MS).unref();
    },
    close: async () => {
      clearTimeout(timer);
      await copying;
      if (spare !== undefined) await rm(spare.path, { force: true });
    },
  };
}

/** Tries it once: containers often have neither loop devices nor the right to mount one. */
export async function canMountImages(folder: string): Promise<boolean> {
  const scratch = await mkdtemp(join(folder, "probe-"));
  try {
    await access(MAKE, constants.X_OK);
    const image = join(scratch, "image");
    await makeImage(image, LEAST_BYTES);
    const script = `mount -t ext4 -o ${IMAGE_MOUNT_OPTIONS} "$1" /mnt`;
    await run("/usr/bin/unshare", ["--mount", "--propagation", "private", "--", "/bin/sh", "-c", script, "sh", image]);
    return true;
  } catch {
    // Expected: any of it is missing here. The watchdog then keeps the limit.
    return false;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Bytes used in the file system that `pid` sees; of the file itself when nothing runs. */
export async function measureImage(path: string, pid: number | undefined): Promise<number | null> {
  // Expected: it ended meanwhile, or was never finished.
  const mounted =
    pid === undefined ? undefined : await statfs(`/proc/${pid}/root${IMAGE_MOUNT}`).catch(() => undefined);
  if (mounted !== undefined) return (mounted.blocks - mounted.bfree) * mounted.bsize;
  const file = await stat(path).catch(() => undefined);
  return file === undefined ? null : file.blocks * 512;
}
