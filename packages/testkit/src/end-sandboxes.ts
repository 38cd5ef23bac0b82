/** Ends the local sandboxes of a data directory whose server has stopped: they outlive it on purpose. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { openLocalProvider } from "../../server/src/adapters/sandbox-local.ts";
import { silentLog } from "./silent-log.ts";

const WORKER = resolve(import.meta.dirname, "../../worker/dist");

export async function endSandboxes(dataDir: string): Promise<void> {
  const base = join(dataDir, "sandboxes");
  if (!existsSync(base)) return;
  const { signal } = new AbortController();
  const provider = await openLocalProvider({
    base,
    node: process.execPath,
    supervisor: join(WORKER, "supervisor.cjs"),
    worker: join(WORKER, "worker.mjs"),
    log: silentLog,
  });
  for (const ref of await provider.list({}, signal)) await provider.destroy(ref, signal);
  await provider.close();
}
