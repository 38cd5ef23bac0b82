/** What a sandbox uses now, as its kernel counts it: told by heartbeats. */
import { readFileSync, readdirSync } from "node:fs";

export interface Load {
  readonly memoryBytes: number;
  /** Of one core, since the last look; undefined where that was just now. */
  readonly cpuPercent: number | undefined;
}

interface Reading {
  readonly memoryBytes: number;
  readonly cpuMs: number;
}

const GROUP = "/sys/fs/cgroup";
const TICK_MS = 10;
const SHORTEST_SPAN_MS = 1_000;

// Expected: a process that has ended, a file that this kernel or this container does not have.
function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return otherwise;
  }
}

const readField = (text: string, field: string): number =>
  Number(new RegExp(`^${field}:?\\s+(\\d+)`, "m").exec(text)?.[1] ?? 0);

/** A container's own control group. That of a whole machine has no such file, so its figures are never taken for a sandbox's. */
function readGroup(): Reading | undefined {
  const current = Number.parseInt(readOr(`${GROUP}/memory.current`, ""), 10);
  if (Number.isNaN(current)) return undefined;
  // What the kernel keeps of files and would give away at once is nobody's use.
  const spare = readField(readOr(`${GROUP}/memory.stat`, ""), "inactive_file");
  return {
    memoryBytes: Math.max(0, current - spare),
    cpuMs: readField(readOr(`${GROUP}/cpu.stat`, ""), "usage_usec") / 1_000,
  };
}

interface Process extends Reading {
  readonly pid: number;
  readonly parent: number;
}

function readProcess(pid: number): Process | undefined {
  const stat = readOr(`/proc/${pid}/stat`, "");
  if (stat === "") return undefined;
  // After the name, which may itself hold spaces and brackets: state, parent, ..., own time and that of children that have ended.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  const status = readOr(`/proc/${pid}/status`, "");
  return {
    pid,
    parent: Number(fields[1]),
    cpuMs: ticks * TICK_MS,
    // Not the pages of programs, which many processes share.
    memoryBytes: (readField(status, "RssAnon") + readField(status, "RssShmem")) * 1_024,
  };
}

/** Whether all that can be seen is the sandbox: a process namespace of ours, a container's first process, or one that came in from outside. */
const isAlone = (): boolean => process.pid === 1 || process.ppid === 0 || readOr("/proc/1/comm", "").trim() === "bwrap";

function readProcesses(): Reading | undefined {
  const pids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  const all = pids.flatMap((pid) => readProcess(pid) ?? []);
  const byParent = Map.groupBy(all, ({ parent }) => parent);
  const toTree = (one: Process): readonly Process[] => [one, ...(byParent.get(one.pid) ?? []).flatMap(toTree)];
  const own = isAlone() ? all : all.filter(({ pid }) => pid === process.pid).flatMap(toTree);
  if (own.length === 0) return undefined;
  return {
    memoryBytes: own.reduce((sum, one) => sum + one.memoryBytes, 0),
    cpuMs: own.reduce((sum, one) => sum + one.cpuMs, 0),
  };
}

function read(): Reading | undefined {
  try {
    return readGroup() ?? readProcesses();
  } catch {
    // Expected: a system without /proc; nothing is told then.
    return undefined;
  }
}

/** Each look tells the time used since the one before. */
export function openLoadMeter(now: () => number = () => performance.now()): () => Load | undefined {
  let before = { reading: read(), at: now() };
  return () => {
    const { reading, at } = { reading: read(), at: now() };
    if (reading === undefined) return undefined;
    const span = at - before.at;
    const used = reading.cpuMs - (before.reading?.cpuMs ?? reading.cpuMs);
    const isJustNow = before.reading === undefined || span < SHORTEST_SPAN_MS;
    if (!isJustNow || before.reading === undefined) before = { reading, at };
    // A child that nobody waited for takes its time along.
    const cpuPercent = isJustNow ? undefined : Math.max(0, Math.round((used / span) * 100));
    return { memoryBytes: reading.memoryBytes, cpuPercent };
  };
}
