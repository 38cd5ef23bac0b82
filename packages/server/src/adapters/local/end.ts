/** Ends what runs in a sandbox, for certain, and removes what it left. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { AppError } from "@drover/contract";

const run = promisify(execFile);
const GONE_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 10;
const REMOVE_TRIES = 5;

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // Expected: it ended between the look and the signal.
  }
}

/** Kills whatever `list` finds until it finds nothing. The first process of a pid namespace is gone only when all others are. */
export async function killAll(list: () => Promise<readonly number[]>): Promise<void> {
  const deadlineMs = Date.now() + GONE_LIMIT_MS;
  for (let pids = await list(); pids.length > 0; pids = await list()) {
    for (const pid of pids) sendSignal(pid, "SIGKILL");
    if (Date.now() > deadlineMs) throw new AppError("sandbox.unavailable", `process ${pids[0]} does not end`);
    await pause(LOOK_EVERY_MS);
  }
}

/** Stops or continues until a look finds nobody new: what is stopped starts nothing. */
export async function signalAll(list: () => Promise<readonly number[]>, signal: NodeJS.Signals): Promise<void> {
  const known = new Set<number>();
  for (let pids = await list(); pids.some((pid) => !known.has(pid)); pids = await list()) {
    for (const pid of pids) {
      known.add(pid);
      sendSignal(pid, signal);
    }
  }
}

/** `rm` and `chmod` walk by descriptors: names as long and trees as deep as an agent can make them do not stop them, and neither
 *  follows a link. A directory that its owner may not enter stops nobody but an owner who is not root. */
export async function removeTree(root: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const error = await run("/bin/rm", ["-rf", "--", root]).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (error === undefined) return;
    if (tries === REMOVE_TRIES)
      throw new AppError("sandbox.unavailable", "the files of the sandbox could not be removed", { cause: error });
    await run("/bin/chmod", ["-R", "u+rwX", "--", root]).catch(() => undefined);
    await pause(LOOK_EVERY_MS * tries);
  }
}
