/** How a worker is started inside a sandbox, and where it writes what it has to say about itself. */
import type { ExecCommand } from "../ports/sandbox-provider.ts";

const STATE_DIR = "/home/agent/.drover-worker";
export const WORKER_LOG = `${STATE_DIR}/worker.log`;

/** The shell only opens the log and becomes the worker, so that its end is the worker's, at every provider. */
const START = 'mkdir -p "$STATE_DIR"; exec "$@" >>"$0" 2>&1';

export const toWorkerCommand = (env: Readonly<Record<string, string>>): ExecCommand => ({
  argv: ["/bin/sh", "-c", START, WORKER_LOG, "node", "/opt/drover/worker.mjs"],
  env: { ...env, STATE_DIR },
});
