/** What programs look up in /etc, and no more (no shadow, no ssh, no machine-id): one directory of ours, written once per start. Measured: bound
 *  one by one, these take 10 ms of every sandbox. */
import { constants } from "node:fs";
import { copyFile, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";

const ETC = "/etc";
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
  // What not everybody may read (private keys below ssl) is nothing for a sandbox, whoever runs this server.
  if (given === undefined || (given.mode & constants.S_IROTH) === 0) return;
  if (given.isDirectory()) {
    await mkdir(target, { recursive: true, mode: 0o755 });
    for (const name of await readdir(source)) await copyOne(join(source, name), join(target, name), false);
  } else if (given.isFile()) {
    const kept = await lstat(target).catch(() => undefined);
    if (kept?.size === given.size && Math.trunc(kept.mtimeMs) === Math.trunc(given.mtimeMs)) return;
    await replace(target, async (path) => {
      await copyFile(source, path);
      await utimes(path, given.atimeMs / 1_000, given.mtimeMs / 1_000);
    });
  }
}

/** Into `directory`, beside what stands there already. */
export async function ensureShownEtc(directory: string): Promise<void> {
  await Promise.all(SHOWN.map((name) => copyOne(join(ETC, name), join(directory, name), true)));
}
