/** What programs look up in /etc, and no more (no shadow, no ssh, no machine-id): one directory of ours that follows the host's. Measured: bound
 *  one by one, these take 10 ms of every sandbox. */
import { constants } from "node:fs";
import { copyFile, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";

const ETC = "/etc";
const STALE_MS = 30_000;
const SHOWN = [
  "alternatives",
  "ca-certificates",
  "ca-certificates.conf",
  "debian_version",
  "gai.conf",
  "host.conf",
  "hosts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "nsswitch.conf",
  "os-release",
  "pki",
  "profile",
  "profile.d",
  "protocols",
  "python3",
  "services",
  "shells",
  "ssl",
  "terminfo",
  "bash.bashrc",
  "inputrc",
  "java-17-openjdk",
  "perl",
];
/** Links that lead there mean the same inside. */
const SEEN_INSIDE = /^(?:\.\.)?\/usr\//;

/** Put beside and renamed: sandboxes that stand see the old one or the new one, whole. */
async function replace(target: string, make: (path: string) => Promise<void>): Promise<void> {
  const fresh = `${target}.${process.pid}.new`;
  await rm(fresh, { force: true });
  await make(fresh);
  await rename(fresh, target);
}

async function copyOne(source: string, target: string, isTop: boolean): Promise<void> {
  // Expected: this machine has no such file.
  const own = await lstat(source).catch(() => undefined);
  if (own?.isSymbolicLink() === true) {
    const link = await readlink(source);
    if (!isTop || SEEN_INSIDE.test(link)) {
      if ((await readlink(target).catch(() => undefined)) !== link)
        await replace(target, (path) => symlink(link, path));
      return;
    }
  }
  const given = own?.isSymbolicLink() === true ? await stat(source).catch(() => undefined) : own;
  // What not everybody may read (private keys below ssl) is nothing for a sandbox, whoever runs this server. What is gone here is gone there:
  // a certificate that nobody trusts any more too.
  if (given === undefined || (given.mode & constants.S_IROTH) === 0)
    return rm(target, { recursive: true, force: true });
  if (given.isDirectory()) {
    await mkdir(target, { recursive: true, mode: 0o755 });
    const names = new Set([...(await readdir(source)), ...(await readdir(target))]);
    for (const name of names) await copyOne(join(source, name), join(target, name), false);
  } else if (given.isFile()) {
    const kept = await lstat(target).catch(() => undefined);
    if (kept?.size === given.size && Math.trunc(kept.mtimeMs) === Math.trunc(given.mtimeMs)) return;
    await replace(target, async (path) => {
      await copyFile(source, path);
      await utimes(path, given.atimeMs / 1_000, given.mtimeMs / 1_000);
    });
  }
}

/** Into `directory`, beside what else stands there; `source` is the host's. */
export async function ensureShownEtc(directory: string, source = ETC): Promise<void> {
  await Promise.all(SHOWN.map((name) => copyOne(join(source, name), join(directory, name), true)));
}

/** The first one waits until all is there. Later ones do not: what changed on the host is copied beside a sandbox's start, and seen by those
 *  that stand too. */
export function openShownEtc(directory: string): () => Promise<void> {
  let written: Promise<void> | undefined;
  let writtenMs = 0;
  const write = async () => {
    await ensureShownEtc(directory);
    writtenMs = performance.now();
  };
  let following: Promise<void> | undefined;
  return () => {
    written ??= write().catch((error: unknown) => {
      written = undefined;
      throw error;
    });
    if (writtenMs > 0 && performance.now() - writtenMs > STALE_MS)
      // Expected: a file that vanishes while it is copied. The next sandbox tries again.
      following ??= write()
        .catch(() => undefined)
        .finally(() => {
          following = undefined;
        });
    return written;
  };
}
