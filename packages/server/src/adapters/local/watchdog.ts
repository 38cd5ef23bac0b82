/** Holds a sandbox to the limits that the host cannot enforce by itself; some overshoot is possible, and while no server runs
 *  nobody looks. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Resident } from "./process-table.ts";

const run = promisify(execFile);
const MEMORY_EVERY_MS = 100;
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
  readonly residents: () => Promise<readonly Resident[]>;
  readonly paths: readonly string[];
  /** Undefined where the kernel holds it. */
  readonly memoryBytes: number | undefined;
  readonly diskBytes: number | undefined;
  /** The process to be killed, as the kernel would: the largest, but never the first ones. */
  readonly onMemory: (victim: Resident) => Promise<void>;
  readonly onExceeded: (reason: string) => Promise<void>;
}

/** Depths of the first process and the supervisor; without them the sandbox would end. */
const SPARED_DEPTH = 2;

function pickVictim(residents: readonly Resident[]): Resident | undefined {
  return residents.filter(({ depth }) => depth > SPARED_DEPTH).toSorted((a, b) => b.memoryBytes - a.memoryBytes)[0];
}

export function startWatchdog(options: WatchdogOptions): () => void {
  const ended = new AbortController();
  const every = (ms: number, check: () => Promise<void>) => {
    let isChecking = false;
    const timer = setInterval(() => {
      if (isChecking) return;
      isChecking = true;
      // Expected: a sandbox that ends while it is looked at.
      void check()
        .catch(() => undefined)
        .finally(() => {
          isChecking = false;
        });
    }, ms);
    timer.unref();
    ended.signal.addEventListener("abort", () => clearInterval(timer));
  };
  const { diskBytes, memoryBytes } = options;
  if (diskBytes !== undefined) {
    every(DISK_EVERY_MS, async () => {
      const used = await measureDisk(options.paths);
      if (used !== null && used > diskBytes && !ended.signal.aborted)
        await options.onExceeded(`used ${used} of ${diskBytes} bytes of disk`);
    });
  }
  if (memoryBytes !== undefined) {
    every(MEMORY_EVERY_MS, async () => {
      const residents = await options.residents();
      const used = residents.reduce((sum, one) => sum + one.memoryBytes, 0);
      if (used <= memoryBytes || ended.signal.aborted) return;
      const victim = pickVictim(residents);
      if (victim === undefined) await options.onExceeded(`used ${used} of ${memoryBytes} bytes of memory`);
      else await options.onMemory(victim);
    });
  }
  return () => ended.abort();
}
