/** Processes of the host: is this one still the one we started, and which ones live in a sandbox. */
import { readFileSync, readdirSync } from "node:fs";

const START_TIME_FIELD = 19;

/** In one go: what the kernel makes up as it is read waits for no disk, and by promises it costs ten times as much. Expected: undefined for a
 *  process that has ended. */
function readOfProcess(pid: number, file: "stat" | "status"): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return undefined;
  }
}

/** Fields after the name, which may itself hold spaces and brackets. */
const fieldsOf = (stat: string): readonly string[] => stat.slice(stat.lastIndexOf(")") + 2).split(" ");

/** One that has ended stays in the table until its parent has seen it. */
const isRunning = (stat: string): boolean => stat !== "" && !/^[ZX]$/.test(fieldsOf(stat)[0] ?? "");

/** `noted` is the process's own /proc/.../stat, written when it started: a recycled pid has another start time. */
export function findAlive(noted: string): number | undefined {
  const pid = Number.parseInt(noted, 10);
  const stat = Number.isInteger(pid) && pid > 1 ? readOfProcess(pid, "stat") : undefined;
  if (stat === undefined) return undefined;
  return fieldsOf(stat)[START_TIME_FIELD] === fieldsOf(noted)[START_TIME_FIELD] && isRunning(stat) ? pid : undefined;
}

export interface Resident {
  readonly pid: number;
  readonly memoryBytes: number;
  /** How far below the outer process: 1 is the first of the namespace, 2 the supervisor. */
  readonly depth: number;
}

const PAGE_BYTES = 4_096;
const PARENT_FIELD = 1;
const RESIDENT_PAGES_FIELD = 21;

interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly memoryBytes: number;
}

const listPids = (): readonly number[] =>
  readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0);

/** All at one moment: measured, 200 processes take 3 ms this way and ten times as much by promises, in which a bomb grows. */
function listProcesses(): readonly Seen[] {
  return listPids().flatMap((pid) => {
    const stat = readOfProcess(pid, "stat");
    if (stat === undefined) return [];
    const fields = fieldsOf(stat);
    const memoryBytes = Number(fields[RESIDENT_PAGES_FIELD]) * PAGE_BYTES;
    return [{ pid, parent: Number(fields[PARENT_FIELD]), memoryBytes }];
  });
}

/** Everything below `pid`, the outer bubblewrap. By ancestry, which is open to everybody: whoever is orphaned in a pid namespace
 *  becomes a child of its first process, and a process that may not be looked into is found all the same. */
export function listResidents(pid: number): readonly Resident[] {
  // Below 0 and 1 is everything.
  if (pid <= 1) return [];
  const processes = listProcesses();
  const residents: Resident[] = [];
  let parents = new Set([pid]);
  for (let depth = 1; parents.size > 0; depth += 1) {
    const children = processes.filter(({ parent }) => parents.has(parent));
    residents.push(...children.map((child) => ({ pid: child.pid, memoryBytes: child.memoryBytes, depth })));
    parents = new Set(children.map((child) => child.pid));
  }
  return residents;
}

const toKernelUids = (status: string): readonly number[] => {
  const [, uids = ""] = /^Uid:\s+(.*)$/m.exec(status) ?? [];
  return uids.split(/\s+/).filter(Boolean).map(Number);
};

/** By the kernel's own count, not by what a user namespace calls it. */
export const readKernelUids = (pid: number): readonly number[] => toKernelUids(readOfProcess(pid, "status") ?? "");

const PIDS_AT_ONCE = 50;

/** Who runs on this machine with which uids. In parts, because a large machine would hold up whatever else waits for this thread. */
async function listByUid(): Promise<ReadonlyMap<number, readonly number[]>> {
  const found = new Map<number, number[]>();
  const pids = listPids();
  for (let first = 0; first < pids.length; first += PIDS_AT_ONCE) {
    for (const pid of pids.slice(first, first + PIDS_AT_ONCE))
      for (const uid of new Set(readKernelUids(pid))) found.set(uid, [...(found.get(uid) ?? []), pid]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return found;
}

function isBelow(pid: number, ancestor: number): boolean {
  let one = pid;
  while (one > 1 && one !== ancestor) one = Number(fieldsOf(readOfProcess(one, "stat") ?? ") Z 0")[PARENT_FIELD]);
  return one === ancestor;
}

/** Looks whether anybody outside of a sandbox has its uid. Those who ask while a look is taken share the next one, so that none is older than
 *  its question. */
export function openStrangers(): (uid: number, outer: number) => Promise<readonly number[]> {
  let running: Promise<ReadonlyMap<number, readonly number[]>> | undefined;
  let next: typeof running;
  const look = (): NonNullable<typeof running> => {
    if (running !== undefined) return (next ??= running.then(look, look));
    next = undefined;
    running = listByUid().finally(() => {
      running = undefined;
    });
    return running;
  };
  return async (uid, outer) => {
    const found = (await look()).get(uid) ?? [];
    return found.filter((pid) => !isBelow(pid, outer) && isRunning(readOfProcess(pid, "stat") ?? ""));
  };
}

/** A name for this process that no later one has, whatever its pid. */
export const nameOwnProcess = (): string =>
  `${process.pid}-${fieldsOf(readFileSync("/proc/self/stat", "utf8"))[START_TIME_FIELD]}`;

/** Whether the process of that name still runs. */
export function isNamedAlive(name: string): boolean {
  const [pid, startTime] = name.split("-");
  const stat = readOfProcess(Number(pid), "stat");
  return stat !== undefined && fieldsOf(stat)[START_TIME_FIELD] === startTime;
}
