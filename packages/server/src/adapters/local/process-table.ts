/** Processes of the host: is this one still the one we started, and which ones live in a sandbox. */
import { readFile, readdir, readlink } from "node:fs/promises";

const START_TIME_FIELD = 19;

/** Fields after the name, which may itself hold spaces and brackets. */
const fieldsOf = (stat: string): readonly string[] => stat.slice(stat.lastIndexOf(")") + 2).split(" ");

const readStat = (pid: number) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);

/** `noted` is the process's own /proc/.../stat, written when it started: a recycled pid has another start time. */
export async function findAlive(noted: string): Promise<number | undefined> {
  const pid = Number.parseInt(noted, 10);
  const stat = Number.isInteger(pid) && pid > 1 ? await readStat(pid) : undefined;
  if (stat === undefined) return undefined;
  const [before, now] = [fieldsOf(noted), fieldsOf(stat)];
  return now[START_TIME_FIELD] === before[START_TIME_FIELD] && now[0] !== "Z" && now[0] !== "X" ? pid : undefined;
}

export interface Resident {
  readonly pid: number;
  readonly memoryBytes: number;
}

const PAGE_BYTES = 4_096;

async function findChildren(pid: number): Promise<readonly number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => "");
  return text.split(" ").filter(Boolean).map(Number);
}

/** Everything in the pid namespace below `pid`, the outer bubblewrap. */
export async function listResidents(pid: number): Promise<readonly Resident[]> {
  const [init] = await findChildren(pid);
  if (init === undefined) return [];
  const namespace = await readlink(`/proc/${init}/ns/pid`).catch(() => undefined);
  if (namespace === undefined) return [];
  const residents: Resident[] = [];
  for (const name of await readdir("/proc")) {
    const candidate = Number(name);
    if (!Number.isInteger(candidate)) continue;
    if ((await readlink(`/proc/${candidate}/ns/pid`).catch(() => undefined)) !== namespace) continue;
    const statm = await readFile(`/proc/${candidate}/statm`, "utf8").catch(() => "0 0");
    residents.push({ pid: candidate, memoryBytes: Number(statm.split(" ")[1]) * PAGE_BYTES });
  }
  return residents;
}
