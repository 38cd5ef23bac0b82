/** Our own files for the inside of sandboxes, seen there read-only as /opt/drover. */
import { chmod, copyFile, link, mkdir, rm, stat, writeFile } from "node:fs/promises";
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

/** Written beside and renamed over would break running sandboxes' view; these files are only ever replaced by equal ones. */
export async function ensureRuntimeFiles(directory: string, sources: RuntimeSources): Promise<void> {
  await mkdir(join(directory, "bin"), { recursive: true, mode: 0o755 });
  await mkdir(join(directory, "etc"), { recursive: true, mode: 0o755 });
  const node = join(directory, "bin/node");
  const [given, kept] = await Promise.all([stat(sources.node), stat(node).catch(() => undefined)]);
  if (kept?.size !== given.size) {
    await rm(node, { force: true });
    // Linked where possible, because it has 120 MB. Expected: another file system, where there are no links between the two.
    await link(sources.node, node).catch(() => copyFile(sources.node, node));
  }
  await copyFile(sources.supervisor, join(directory, "supervisor.mjs"));
  await copyFile(sources.worker, join(directory, "worker.mjs"));
  for (const [name, text] of Object.entries(ACCOUNTS)) await writeFile(join(directory, name), text);
  for (const name of ["supervisor.mjs", "worker.mjs", ...Object.keys(ACCOUNTS)])
    await chmod(join(directory, name), 0o644);
}
