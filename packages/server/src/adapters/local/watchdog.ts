/** Stops a sandbox that goes beyond a limit which the host cannot enforce by itself; some overshoot is possible. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { listResidents } from "./process-table.ts";

const run = promisify(execFile);
const MEMORY_EVERY_MS = 250;
const DISK_EVERY_MS = 2_000;
const DU_LIMIT_MS = 30_000;

export async function measureDisk(paths: readonly string[]): Promise<number | null> {
  // Counts a hard link once and follows nothing. Expected: files that vanish while it counts (exit code 1, result usable).
  const { stdout } = await run("/usr/bin/du", ["--summarize", "--total", "--block-size=1", "--", ...paths], {
    timeout: DU_LIMIT_MS,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
  const [, total] = /^(\d+)\ttotal$/m.exec(stdout) ?? [];
  return total === undefined ? null : Number(total);
}

export interface WatchdogOptions {
  readonly pid: () => Promise<number | undefined>;
  readonly paths: readonly string[];
  readonly memoryBytes: number | undefined;
  readonly diskBytes: number;
  readonly onExceeded: (reason: string) => void;
}

export function startWatchdog(options: WatchdogOptions): () => void {
  const ended = new AbortController();
  const every = (ms: number, check: () => Promise<string | undefined>) => {
    let isChecking = false;
    const timer = setInterval(() => {
      if (isChecking) return;
      isChecking = true;
      void check()
        .then((reason) => {
          if (reason !== undefined && !ended.signal.aborted) options.onExceeded(reason);
        })
        .finally(() => {
          isChecking = false;
        });
    }, ms);
    timer.unref();
    ended.signal.addEventListener("abort", () => clearInterval(timer));
  };
  every(DISK_EVERY_MS, async () => {
    const used = await measureDisk(options.paths);
    return used !== null && used > options.diskBytes ? `used ${used} of ${options.diskBytes} bytes of disk` : undefined;
  });
  const memoryBytes = options.memoryBytes;
  if (memoryBytes !== undefined) {
    every(MEMORY_EVERY_MS, async () => {
      const pid = await options.pid();
      const used = pid === undefined ? 0 : (await listResidents(pid)).reduce((sum, one) => sum + one.memoryBytes, 0);
      return used > memoryBytes ? `used ${used} of ${memoryBytes} bytes of memory` : undefined;
    });
  }
  return () => ended.abort();
}
