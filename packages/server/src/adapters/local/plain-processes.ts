/** Processes of a sandbox without namespaces: nothing holds them together but their uid, or a mark that they could drop. */
import { readFile, readdir } from "node:fs/promises";
import { PLAIN_MARK } from "./launch.ts";
import type { Note } from "./places.ts";
import { readKernelUids, type Resident } from "./process-table.ts";

const PAGE_BYTES = 4_096;
/** Never spared: it is none of the first two. */
const STRAY_DEPTH = 3;

const readMemory = async (pid: number) => {
  const statm = await readFile(`/proc/${pid}/statm`, "utf8").catch(() => "0 0");
  return Number(statm.split(" ")[1]) * PAGE_BYTES;
};

async function isMarked(pid: number, note: Note): Promise<boolean> {
  if (note.uid !== null) return readKernelUids(pid).includes(note.uid);
  // Expected: a process of somebody else, whose environment is not ours to read.
  const environ = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
  return environ.split("\0").includes(`${PLAIN_MARK}=${note.key}`);
}

/** `below` are those found by ancestry, one deeper here than in a namespace; the rest are those that left it. */
export async function listPlainProcesses(
  note: Note,
  supervisor: number | undefined,
  below: readonly Resident[],
): Promise<readonly Resident[]> {
  const known = new Set([supervisor, ...below.map(({ pid }) => pid)]);
  const residents = below.map((one) => ({ ...one, depth: one.depth + 2 }));
  for (const name of await readdir("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || known.has(pid) || pid === process.pid || !(await isMarked(pid, note))) continue;
    residents.push({ pid, memoryBytes: await readMemory(pid), depth: STRAY_DEPTH });
  }
  return residents;
}
