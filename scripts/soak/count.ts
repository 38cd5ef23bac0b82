/** What a server and its sandboxes take of the machine, read from /proc. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Process {
  readonly parent: number;
  readonly name: string;
  readonly command: string;
  readonly residentKb: number;
  /** Without what is mapped from files and shared, which many processes would count again. */
  readonly ownKb: number;
}

export interface Counted {
  readonly serverMb: number;
  readonly descriptors: number;
  readonly postgresMb: number;
  readonly connections: number;
  /** Children of the server other than PostgreSQL. */
  readonly helpers: number;
  readonly insideMb: number;
  readonly inside: number;
  readonly directories: number;
  readonly groups: number;
  readonly loops: number;
}

function readProcess(pid: number): Process | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const read = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1] ?? "0";
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    const residentKb = Number(read("VmRSS"));
    return { parent: Number(read("PPid")), name: read("Name"), command, residentKb, ownKb: Number(read("RssAnon")) };
  } catch {
    return undefined; // Expected: it has just ended.
  }
}

function readProcesses(): ReadonlyMap<number, Process> {
  const found = new Map<number, Process>();
  for (const name of readdirSync("/proc")) {
    const read = /^\d+$/.test(name) ? readProcess(Number(name)) : undefined;
    if (read !== undefined) found.set(Number(name), read);
  }
  return found;
}

function pickBelow(processes: ReadonlyMap<number, Process>, isRoot: (pid: number, one: Process) => boolean) {
  const isBelow = (pid: number): boolean => {
    const one = processes.get(pid);
    return one !== undefined && (isRoot(pid, one) || isBelow(one.parent));
  };
  return [...processes].filter(([pid]) => isBelow(pid));
}

const toMb = (processes: readonly (readonly [number, Process])[]) =>
  Math.round(processes.reduce((sum, [, { ownKb }]) => sum + ownKb, 0) / 1_024);

const listOr = (directory: string): readonly string[] => {
  try {
    return readdirSync(directory);
  } catch {
    return []; // Expected: another kind of control groups, no loop devices.
  }
};

/** Where the control groups of sandboxes are made: beside this process's own. */
function findGroups(): string {
  const own = readFileSync("/proc/self/cgroup", "utf8");
  const path = /^\d+:(?:[^:]*,)?pids(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
  if (path !== undefined) return join("/sys/fs/cgroup/pids", path);
  return join("/sys/fs/cgroup", /^0::(.*)$/m.exec(own)?.[1] ?? "/");
}

const listPids = (group: string): readonly number[] => {
  try {
    return readFileSync(join(group, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number);
  } catch {
    return []; // Expected: the group has just been removed.
  }
};

function countLoops(dataDir: string): number {
  let found = 0;
  for (const name of listOr("/sys/block").filter((one) => one.startsWith("loop"))) {
    try {
      if (readFileSync(`/sys/block/${name}/loop/backing_file`, "utf8").startsWith(dataDir)) found += 1;
    } catch {
      // Expected: nothing lies behind this device.
    }
  }
  return found;
}

export function createCounter(pid: number, dataDir: string) {
  const keys = new Set<string>();
  const parent = findGroups();
  const noteKeys = () => {
    const standing = readdirSync(join(dataDir, "sandboxes"), { withFileTypes: true }).filter((one) =>
      one.isDirectory(),
    );
    for (const { name } of standing) keys.add(name);
    return standing.length;
  };
  const count = (): Counted => {
    const processes = readProcesses();
    const below = pickBelow(processes, (one) => one === pid).filter(([one]) => one !== pid);
    const isPostgres = ([, { name }]: readonly [number, Process]) => name === "postgres";
    const directories = noteKeys();
    // Of every sandbox that was ever noted, whether or not its directory still stands; one that stood ready keeps its first name.
    const groups = listOr(parent).filter(
      (name) => name.startsWith(`drover-warm-${pid}-`) || [...keys].some((key) => name === `drover-${key}`),
    );
    const isInside = new Set(groups.flatMap((name) => listPids(join(parent, name))));
    const inside = [...processes].filter(([one]) => isInside.has(one));
    const postgres = below.filter(isPostgres);
    return {
      serverMb: Math.round((processes.get(pid)?.residentKb ?? 0) / 1_024),
      descriptors: listOr(`/proc/${pid}/fd`).length,
      postgresMb: toMb(postgres),
      connections: postgres.filter(([, { command }]) => /^postgres: \S+ \S+ (?:\[local\]|[\d.]+\()/.test(command))
        .length,
      helpers: below.filter((one) => !isPostgres(one) && !isInside.has(one[0])).length,
      insideMb: toMb(inside),
      inside: inside.length,
      directories,
      groups: groups.length,
      loops: countLoops(dataDir),
    };
  };
  return { noteKeys, count };
}
