/** Processor time of the parties of a benchmark, from /proc: unlike the clock's it hardly depends on what else the machine does. */
import { readFileSync, readdirSync } from "node:fs";
import type pg from "pg";

const TICK_US = 10_000;

/** After the name, which may contain spaces: state, parent, ..., user and system time in ticks. */
function readStat(pid: string): { readonly parent: string; readonly us: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { parent: fields[1] ?? "", us: (Number(fields[11]) + Number(fields[12])) * TICK_US };
  } catch {
    // Expected: it has ended since it was listed.
    return undefined;
  }
}

/** Microseconds of a process with all its threads. */
export const readProcess = (pid: number): number => readStat(String(pid))?.us ?? 0;

/** Microseconds of a process and those it started which still run, as PostgreSQL's connections do. */
export function readFamily(pid: number): number {
  const members = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return members.reduce((sum, member) => {
    const found = readStat(member);
    return found?.parent === String(pid) || member === String(pid) ? sum + (found?.us ?? 0) : sum;
  }, 0);
}

/** The process that started the connection's. */
export async function findPostmaster(client: pg.Client): Promise<number> {
  const found = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return Number(readStat(String(found.rows[0]?.pid))?.parent);
}
