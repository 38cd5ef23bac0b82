/** How a worker is started inside a sandbox, and where it writes what it has to say about itself. */
import { readFile } from "node:fs/promises";
import type { ExecCommand, SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";

const STATE_DIR = "/home/agent/.drover-worker";
export const WORKER_LOG = `${STATE_DIR}/worker.log`;
/** Where a provider of ours has put it, and where it is put otherwise. */
const BUILT_IN = "/opt/drover/worker.mjs";
const BROUGHT = "/tmp/drover/worker.mjs";

/** The shell only opens the log and becomes the worker, so that its end is the worker's, at every provider. */
const START = 'mkdir -p "$STATE_DIR"; exec "$@" >>"$0" 2>&1';

/** Another directory is for another worker in the same sandbox, that is not to go on with what the first one did. */
export const toWorkerCommand = (
  worker: string,
  env: Readonly<Record<string, string>>,
  directory: string = STATE_DIR,
): ExecCommand => ({
  argv: ["/bin/sh", "-c", START, `${directory}/worker.log`, "node", worker],
  env: { ...env, STATE_DIR: directory },
});

async function isThere(
  provider: SandboxProvider,
  ref: SandboxRef,
  path: string,
  signal: AbortSignal,
): Promise<boolean> {
  for await (const event of provider.exec(ref, { argv: ["test", "-r", path] }, signal)) {
    if (event.type === "exit") return event.code === 0;
  }
  return false;
}

/** The worker's path inside: what the provider or its image has, else our own bundle, uploaded. */
export async function ensureWorker(
  provider: SandboxProvider,
  ref: SandboxRef,
  bundle: string,
  signal: AbortSignal,
): Promise<string> {
  if (await isThere(provider, ref, BUILT_IN, signal)) return BUILT_IN;
  await provider.upload(ref, BROUGHT, await readFile(bundle), { mode: 0o755 }, signal);
  return BROUGHT;
}
