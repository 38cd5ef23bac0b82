/** The bundled worker as a child process, with nothing of the server's environment but what it must have. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Log } from "../ports/log.ts";
import type { WorkerLauncher } from "../ports/worker-launcher.ts";

const STOP_LIMIT_MS = 3_000;
/** Our own Node first, then the system's programs. */
const SEARCH_PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

export function openWorkerLauncher(options: {
  readonly entry: string;
  readonly root: string;
  readonly log: Log;
}): WorkerLauncher {
  const children = new Set<ChildProcess>();
  return {
    launch: async (name, env) => {
      const cwd = join(options.root, name, "workspace");
      const state = join(options.root, name, "state");
      await mkdir(cwd, { recursive: true, mode: 0o700 });
      await mkdir(state, { recursive: true, mode: 0o700 });
      const child = spawn(process.execPath, [options.entry], {
        cwd,
        env: { PATH: SEARCH_PATH, HOME: cwd, CWD: cwd, STATE_DIR: state, ...env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      children.add(child);
      child.stderr
        .setEncoding("utf8")
        .on("data", (text: string) => options.log.debug("worker.said", { name, text: text.slice(0, 2_000) }));
      child.once("exit", (code, signal) => {
        children.delete(child);
        options.log.info("worker.exited", { name, code, signal });
      });
      await new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", (error) => {
          children.delete(child);
          reject(error);
        });
      });
    },
    close: async () => {
      await Promise.all(
        [...children].map(
          (child) =>
            new Promise<void>((resolve) => {
              const timer = setTimeout(() => child.kill("SIGKILL"), STOP_LIMIT_MS);
              child.once("exit", () => {
                clearTimeout(timer);
                resolve();
              });
              child.kill("SIGTERM");
            }),
        ),
      );
    },
  };
}
