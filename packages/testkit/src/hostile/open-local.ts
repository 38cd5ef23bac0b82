/** A provider of local sandboxes in a directory of its own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { openLocalProvider, type LocalOptions } from "../../../server/src/adapters/sandbox-local.ts";
import type { OpenedProvider } from "../conformance/sandbox/given.ts";
import { silentLog } from "../silent-log.ts";

const WORKER = resolve(import.meta.dirname, "../../../worker/dist");

export async function openLocal(
  more: Partial<LocalOptions> = {},
): Promise<OpenedProvider & { readonly folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), "drover-local-"));
  const open = () =>
    openLocalProvider({
      base: join(folder, "sandboxes"),
      node: process.execPath,
      supervisor: join(WORKER, "supervisor.cjs"),
      worker: join(WORKER, "worker.mjs"),
      log: silentLog,
      ...more,
    });
  const provider = await open();
  return {
    provider,
    folder,
    reopen: open,
    close: async () => {
      await provider.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
