/** P11: from the command to ready; and P11c: what the server holds in memory at rest. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { lockDataDir } from "../packages/server/src/adapters/data-dir.ts";
import { startPostgres } from "../packages/server/src/adapters/postgres-embedded.ts";
import { makeDataDir, toEnv } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const MAIN = join(import.meta.dirname, "../packages/cli/src/main.ts");
const FIRST_STARTS = 3;
const STARTS = 7;
const REST_MS = 10_000;
const MIB = 1024 * 1024;

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/** Starts the product as people do, and stops it again. */
async function startOnce(
  dataDir: string,
  whileUp: (pid: number) => Promise<void> = async () => undefined,
): Promise<number> {
  const since = performance.now();
  const child = spawn(process.execPath, [MAIN, "up"], {
    env: { ...process.env, ...toEnv(dataDir) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let ms = Number.NaN;
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("drover ready ")) continue;
    ms = performance.now() - since;
    await whileUp(child.pid ?? 0);
    child.kill("SIGTERM");
  }
  await ended;
  return ms;
}

async function startPostgresOnce(dataDir: string): Promise<number> {
  const locked = await lockDataDir(dataDir);
  const since = performance.now();
  const postgres = await startPostgres({ dataDir: locked, log: quiet, signal: new AbortController().signal });
  const ms = performance.now() - since;
  await postgres.stop();
  await locked.release();
  return ms;
}

const first = { ours: [] as number[], floor: [] as number[] };
for (let round = 0; round < FIRST_STARTS; round += 1) {
  await using ours = await makeDataDir();
  await using floor = await makeDataDir();
  first.ours.push(await startOnce(ours.path));
  first.floor.push(await startPostgresOnce(floor.path));
}
const again = { ours: [] as number[], floor: [] as number[] };
let restBytes = 0;
await using dataDir = await makeDataDir();
await startOnce(dataDir.path);
for (let round = 0; round < STARTS; round += 1) {
  again.ours.push(await startOnce(dataDir.path));
  again.floor.push(await startPostgresOnce(dataDir.path));
}
await startOnce(dataDir.path, async (pid) => {
  await pause(REST_MS);
  restBytes = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
});

for (const [id, title, limitMs, samples] of [
  ["P11a", "start to ready, data present", 3_000, again],
  ["P11b", "first start to ready", 10_000, first],
] as const) {
  const [ours, floor] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
  report({
    id,
    title,
    ours: ours.p50,
    floor: floor.p50,
    ratio: ours.p50 / floor.p50,
    target: `< ${limitMs / 1_000} s`,
    met: ours.p95 < limitMs,
    n: samples.ours.length,
    ...ours,
    unit: "ms",
    note: "the floor is PostgreSQL's own start on the same kind of directory",
  });
}
report({
  id: "P11c",
  title: "resident memory of the server at rest",
  ours: restBytes / MIB,
  floor: null,
  ratio: null,
  target: "< 200 MiB",
  met: restBytes / MIB < 200,
  n: 1,
  p50: restBytes / MIB,
  p95: restBytes / MIB,
  p99: restBytes / MIB,
  unit: "MiB",
  note: `${REST_MS / 1_000} s after the start`,
});
