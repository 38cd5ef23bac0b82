/** How a worker is started inside a sandbox, and where it writes what it has to say about itself. */
import { readFile } from "node:fs/promises";
import type { ExecCommand, SandboxInfo, SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";

const STATE_DIR = "/home/agent/.drover-worker";
export const WORKER_LOG = `${STATE_DIR}/worker.log`;
/** Where a provider of ours has put it, and where it is put otherwise. */
const BUILT_IN = "/opt/drover/worker.mjs";
const BROUGHT = "/tmp/drover/worker.mjs";

/** The shell only notes who it is, opens the log and becomes the worker, so that its end is the worker's, at every provider. */
const START =
  'mkdir -p "$STATE_DIR"; read -r stat </proc/self/stat && echo "$stat" >"$1"; shift; exec "$@" >>"$0" 2>&1';

/** Whether the noted process is there: a pid that is used again has another start time. */
const IS_THERE = `read -r noted <"$0" && read -r now <"/proc/\${noted%% *}/stat" || exit 1
set -- \${noted##*) }; began=\${20}
set -- \${now##*) }; [ "$began" = "\${20}" ]`;

const toNote = (directory: string) => `${directory}/process`;

/** Another directory is for another worker in the same sandbox, that is not to go on with what the first one did. */
export const toWorkerCommand = (
  worker: string,
  env: Readonly<Record<string, string>>,
  directory: string = STATE_DIR,
): ExecCommand => ({
  argv: ["/bin/sh", "-c", START, `${directory}/worker.log`, toNote(directory), "node", worker],
  env: { ...env, STATE_DIR: directory },
});

async function isTrue(
  provider: SandboxProvider,
  ref: SandboxRef,
  argv: ExecCommand["argv"],
  signal: AbortSignal,
): Promise<boolean> {
  for await (const event of provider.exec(ref, { argv }, signal)) {
    if (event.type === "exit") return event.code === 0;
  }
  return false;
}

export const findWorkerExit = (info: SandboxInfo | undefined): SandboxInfo["ended"][number] | undefined =>
  info?.ended.find(({ argv }) => argv.some((word) => word.endsWith("worker.mjs")));

/** Whether its worker runs, or has ended: a server may have died before it noted that it started one. */
export const isWorkerBegun = async (
  provider: SandboxProvider,
  ref: SandboxRef,
  info: SandboxInfo,
  signal: AbortSignal,
): Promise<boolean> =>
  findWorkerExit(info) !== undefined || isTrue(provider, ref, ["sh", "-c", IS_THERE, toNote(STATE_DIR)], signal);

/** The worker's path inside: what the provider or its image has, else our own bundle, uploaded. */
export async function ensureWorker(
  provider: SandboxProvider,
  ref: SandboxRef,
  bundle: string,
  signal: AbortSignal,
): Promise<string> {
  if (await isTrue(provider, ref, ["test", "-r", BUILT_IN], signal)) return BUILT_IN;
  await provider.upload(ref, BROUGHT, await readFile(bundle), { mode: 0o755 }, signal);
  return BROUGHT;
}
