/** Our own files for the inside of sandboxes, seen there read-only as /opt/drover. */
import { chmod, copyFile, link, mkdir, open, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface RuntimeSources {
  readonly node: string;
  readonly supervisor: string;
  readonly worker: string;
}

const ACCOUNTS = {
  "etc/passwd":
    "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/bash\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
  "etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
} as const;

export interface RuntimeFiles {
  readonly directory: string;
  /** Empty directories on which a sandbox's own are mounted. */
  readonly places: string;
  /** Whether programs can be started by a loader that nobody may read. */
  readonly hasLoader: boolean;
}

const HEAD_BYTES = 4_096;

/** The program that loads a program, as its file names it; undefined for one that needs none. */
async function findLoader(program: string): Promise<string | undefined> {
  const file = await open(program);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
    return /\/lib[\w/.-]*\/ld-[\w.-]+/.exec(buffer.subarray(0, bytesRead).toString("latin1"))?.[0];
  } finally {
    await file.close();
  }
}

/** A copy that can be run and not be read: the kernel then lets nobody of the same uid look into the process, neither at its
 *  memory nor at its descriptors. Found by measuring: a copy of the loader has 200 KB, one of node would have 120 MB. */
async function ensureLoader(directory: string, node: string): Promise<boolean> {
  const loader = await findLoader(node);
  if (loader === undefined) return false;
  const [given, kept] = await Promise.all([stat(loader), stat(join(directory, "loader")).catch(() => undefined)]);
  if (kept?.size !== given.size) {
    await rm(join(directory, "loader"), { force: true });
    await copyFile(loader, join(directory, "loader"));
  }
  await chmod(join(directory, "loader"), 0o111);
  return true;
}

/** Written beside and renamed over would break running sandboxes' view; these files are only ever replaced by equal ones. */
export async function ensureRuntimeFiles(directory: string, sources: RuntimeSources): Promise<RuntimeFiles> {
  await mkdir(join(directory, "bin"), { recursive: true, mode: 0o755 });
  await mkdir(join(directory, "etc"), { recursive: true, mode: 0o755 });
  const places = join(directory, "places");
  for (const name of ["workspace", "home", "sock", "runtime", "disk"])
    await mkdir(join(places, name), { recursive: true, mode: 0o755 });
  const node = join(directory, "bin/node");
  const [given, kept] = await Promise.all([stat(sources.node), stat(node).catch(() => undefined)]);
  if (kept?.size !== given.size) {
    await rm(node, { force: true });
    // Linked where possible, because it has 120 MB. Expected: another file system, where there are no links between the two.
    await link(sources.node, node).catch(() => copyFile(sources.node, node));
  }
  await copyFile(sources.supervisor, join(directory, "supervisor.cjs"));
  await copyFile(sources.worker, join(directory, "worker.mjs"));
  for (const [name, text] of Object.entries(ACCOUNTS)) await writeFile(join(directory, name), text);
  for (const name of ["supervisor.cjs", "worker.mjs", ...Object.keys(ACCOUNTS)])
    await chmod(join(directory, name), 0o644);
  return { directory, places, hasLoader: await ensureLoader(directory, sources.node) };
}
