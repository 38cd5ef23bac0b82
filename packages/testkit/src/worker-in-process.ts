/** A worker in this process, with a workspace of its own, that works for a sandbox of provider `external`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CreatedSandbox } from "@drover/contract";
import { runWorker, type WorkerExit, type WorkerParts } from "../../worker/src/run-worker.ts";

/** `git` and `node` are found there, and nothing else is inherited. */
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

export interface LocalWorker extends AsyncDisposable {
  readonly cwd: string;
  readonly exit: Promise<WorkerExit>;
  end(): Promise<WorkerExit>;
}

export async function startWorker(
  { worker_env }: Pick<CreatedSandbox, "worker_env">,
  {
    env = {},
    parts = {},
    folder,
  }: { env?: Record<string, string>; parts?: Partial<WorkerParts>; folder?: string } = {},
): Promise<LocalWorker> {
  const own = folder ?? (await mkdtemp(join(tmpdir(), "drover-worker-")));
  const cwd = join(own, "work");
  const ending = new AbortController();
  const given = { PATH, STATE_DIR: join(own, "state"), CWD: cwd, ...worker_env, ...env };
  const exit = runWorker(given, ending.signal, { drainMs: 5_000, ...parts });
  exit.catch(() => {});
  const end = () => {
    ending.abort("test");
    return exit;
  };
  return {
    cwd,
    exit,
    end,
    async [Symbol.asyncDispose]() {
      await end().catch(() => {});
      if (folder === undefined) await rm(own, { recursive: true, force: true });
    },
  };
}
