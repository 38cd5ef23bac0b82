/** Limits by control groups, version 2 where it has the controllers, else version 1; undefined where neither can be written. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxLimits } from "../../ports/sandbox-provider.ts";

export interface Cgroup {
  readonly kind: "cgroup1" | "cgroup2";
  /** A process that has one thread joins by writing 0 into each. */
  readonly joinFiles: readonly string[];
  countOomKills(): number;
  usage(): { memoryBytes: number | null; processes: number | null };
  freeze(isFrozen: boolean): Promise<void>;
  isFrozen(): boolean;
  pids(): readonly number[];
  remove(): Promise<void>;
}

export interface CgroupHost {
  readonly kind: "cgroup1" | "cgroup2";
  create(name: string, limits: SandboxLimits): Promise<Cgroup>;
  open(name: string): Cgroup | undefined;
}

const ROOT = "/sys/fs/cgroup";
const PERIOD_US = 100_000;
const CONTROLLERS = ["memory", "cpu", "pids", "freezer"] as const;
const REMOVE_TRIES = 50;

/** In one go, as in `process-table.ts`. Expected everywhere below: a file that this kernel or this container does not have. */
function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}
function readNumber(path: string): number | null {
  const number = Number(readOr(path, "").trim() || Number.NaN);
  return Number.isFinite(number) ? number : null;
}
function readField(path: string, field: string): number {
  const [, value] = new RegExp(`^${field} (\\d+)$`, "m").exec(readOr(path, "")) ?? [];
  return Number(value ?? 0);
}
const readPids = (path: string) => readOr(path, "").split("\n").filter(Boolean).map(Number);

async function removeDirectory(path: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
    const code = await rmdir(path).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    // A group is busy until the kernel has buried its last process.
    if (code !== "EBUSY") return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function openVersion1(directories: Readonly<Record<(typeof CONTROLLERS)[number], string>>): Cgroup {
  const all = Object.values(directories);
  return {
    kind: "cgroup1",
    // Not `cgroup.procs`: to move a whole process the kernel waits until no processor is starting one, which takes 10 ms.
    joinFiles: all.map((directory) => join(directory, "tasks")),
    countOomKills: () => readField(join(directories.memory, "memory.oom_control"), "oom_kill"),
    usage: () => ({
      memoryBytes: readNumber(join(directories.memory, "memory.usage_in_bytes")),
      processes: readNumber(join(directories.pids, "pids.current")),
    }),
    freeze: (isFrozen) => writeFile(join(directories.freezer, "freezer.state"), isFrozen ? "FROZEN" : "THAWED"),
    isFrozen: () => readOr(join(directories.freezer, "freezer.state"), "").trim() !== "THAWED",
    pids: () => readPids(join(directories.pids, "cgroup.procs")),
    remove: async () => {
      for (const directory of all) await removeDirectory(directory);
    },
  };
}

function openVersion2(directory: string): Cgroup {
  return {
    kind: "cgroup2",
    joinFiles: [join(directory, "cgroup.procs")],
    countOomKills: () => readField(join(directory, "memory.events"), "oom_kill"),
    usage: () => ({
      memoryBytes: readNumber(join(directory, "memory.current")),
      processes: readNumber(join(directory, "pids.current")),
    }),
    freeze: (isFrozen) => writeFile(join(directory, "cgroup.freeze"), isFrozen ? "1" : "0"),
    isFrozen: () => readOr(join(directory, "cgroup.freeze"), "0").trim() === "1",
    pids: () => readPids(join(directory, "cgroup.procs")),
    remove: () => removeDirectory(directory),
  };
}

function findOwnPaths(): ReadonlyMap<string, string> {
  const lines = readOr("/proc/self/cgroup", "").trim().split("\n");
  const paths = new Map<string, string>();
  for (const line of lines) {
    const [, controllers = "", path = "/"] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const controller of controllers.split(",")) paths.set(controller, path);
  }
  return paths;
}

async function findVersion1(): Promise<CgroupHost | undefined> {
  const own = findOwnPaths();
  const parents = CONTROLLERS.map((controller) => join(ROOT, controller, own.get(controller) ?? "/"));
  const toDirectories = (name: string) =>
    Object.fromEntries(
      CONTROLLERS.map((controller, index) => [controller, join(parents[index] ?? "", name)]),
    ) as Record<(typeof CONTROLLERS)[number], string>;
  const probe = toDirectories(`drover-probe-${process.pid}`);
  for (const directory of Object.values(probe)) {
    const isMade = await mkdir(directory).then(
      () => true,
      () => false,
    );
    if (!isMade || !existsSync(join(directory, "cgroup.procs"))) return undefined;
    await removeDirectory(directory);
  }
  return {
    kind: "cgroup1",
    create: async (name, limits) => {
      const directories = toDirectories(name);
      const { memory, cpu, pids, freezer } = directories;
      const limitMemory = async () => {
        await mkdir(memory, { recursive: true });
        await writeFile(join(memory, "memory.limit_in_bytes"), String(limits.memoryBytes));
        // Without swap accounting there is no such file, and nothing to limit.
        await writeFile(join(memory, "memory.memsw.limit_in_bytes"), String(limits.memoryBytes)).catch(() => undefined);
      };
      const limitCpu = async () => {
        await mkdir(cpu, { recursive: true });
        await writeFile(join(cpu, "cpu.cfs_period_us"), String(PERIOD_US));
        await writeFile(join(cpu, "cpu.cfs_quota_us"), String(Math.round(limits.cpus * PERIOD_US)));
      };
      const limitProcesses = async () => {
        await mkdir(pids, { recursive: true });
        await writeFile(join(pids, "pids.max"), String(limits.processes));
      };
      await Promise.all([limitMemory(), limitCpu(), limitProcesses(), mkdir(freezer, { recursive: true })]);
      return openVersion1(directories);
    },
    open: (name) => {
      const directories = toDirectories(name);
      return existsSync(directories.memory) ? openVersion1(directories) : undefined;
    },
  };
}

async function findVersion2(): Promise<CgroupHost | undefined> {
  const own = findOwnPaths().get("");
  if (own === undefined || !existsSync(join(ROOT, "cgroup.controllers"))) return undefined;
  const parent = join(ROOT, own);
  const controllers = readOr(join(parent, "cgroup.controllers"), "").split(/\s+/);
  if (!["memory", "cpu", "pids"].every((name) => controllers.includes(name))) return undefined;
  // A group with children may hold no process itself: step into a leaf first.
  const leaf = join(parent, "drover-server");
  const isDelegated = await mkdir(leaf, { recursive: true })
    .then(() => writeFile(join(leaf, "cgroup.procs"), String(process.pid)))
    .then(() => writeFile(join(parent, "cgroup.subtree_control"), "+memory +cpu +pids"))
    .then(
      () => true,
      () => false,
    );
  if (!isDelegated) return undefined;
  return {
    kind: "cgroup2",
    create: async (name, limits) => {
      const directory = join(parent, name);
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, "memory.max"), String(limits.memoryBytes));
      await writeFile(join(directory, "memory.swap.max"), "0").catch(() => undefined);
      await writeFile(join(directory, "cpu.max"), `${Math.round(limits.cpus * PERIOD_US)} ${PERIOD_US}`);
      await writeFile(join(directory, "pids.max"), String(limits.processes));
      return openVersion2(directory);
    },
    open: (name) => {
      const directory = join(parent, name);
      return existsSync(directory) ? openVersion2(directory) : undefined;
    },
  };
}

export const findCgroups = async (): Promise<CgroupHost | undefined> =>
  (await findVersion2()) ?? (await findVersion1());
