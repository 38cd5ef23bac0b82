/** Ends local sandboxes that a test left standing, and says whose they were; named as `globalSetup` in the vitest configuration. They outlive
 *  whoever made them on purpose, so nothing else would end them. */
import { globSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

interface Standing {
  /** Bubblewrap, as the host sees it: nothing inside outlives it. */
  readonly pid: number;
  readonly directory: string;
  readonly isRemoved: boolean;
  readonly startedMs: number;
}

const REMOVED = "//deleted";

const readOr = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // expected: the process has just ended
  }
};

const parentOf = (pid: number) => Number(/^PPid:\s+(\d+)$/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? 0);

/** From a process inside up to the outer bubblewrap, which has no parent of ours. */
function findOuter(pid: number): number {
  const parent = parentOf(pid);
  return parent > 1 && readOr(`/proc/${parent}/cmdline`).includes("bwrap") ? findOuter(parent) : pid;
}

function listStanding(): readonly Standing[] {
  return globSync("/proc/[0-9]*/cmdline").flatMap((path) => {
    if (!readOr(path).endsWith("supervisor.cjs\0")) return [];
    const pid = Number(path.split("/")[2]);
    const [, shown = ""] = /^\S+ \S+ \S+ (\S+) \/run\/cp /m.exec(readOr(`/proc/${pid}/mountinfo`)) ?? [];
    if (!shown.startsWith(join(tmpdir(), "drover-"))) return [];
    const isRemoved = shown.endsWith(REMOVED);
    const directory = isRemoved ? shown.slice(0, -REMOVED.length) : shown;
    return [{ pid: findOuter(pid), directory, isRemoved, startedMs: statSync(`/proc/${pid}`).ctimeMs }];
  });
}

let beganMs = 0;

export function setup(): void {
  beganMs = Date.now();
}

/** Where others may run tests on the same machine, only those whose directory is gone are nobody's. */
export function teardown(): void {
  const isAlone = process.env.CI !== undefined;
  for (const { pid, directory, isRemoved, startedMs } of listStanding()) {
    if (startedMs < beganMs || (!isRemoved && !isAlone)) continue;
    console.error(`A test left a local sandbox standing, which is ended now: pid ${pid}, ${directory}`);
    process.kill(pid, "SIGKILL");
  }
}
