/** P10: 200 live workers on one server: how soon it says that it is well, and what it holds in memory. */
import { readFileSync } from "node:fs";
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const WORKERS = 200;
const WARM_UP_MS = 20_000;
const MEASURE_MS = 60_000;
const ASK_MS = 100;
const MIB = 1024 * 1024;

const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

const readResident = (pid: number) =>
  (Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024) / MIB;

await using drover = await startDrover();
await using load = startChild("live-workers.ts");
const workers = [];
for (let n = 0; n < WORKERS; n += 1) workers.push(await drover.createSandbox());
await load.ask("begin", drover.url, workers);
await pause(WARM_UP_MS);

const answers: number[] = [];
const memory: number[] = [];
const until = performance.now() + MEASURE_MS;
while (performance.now() < until) {
  const since = performance.now();
  const reply = await fetch(`${drover.url}/healthz`);
  if (reply.status !== 200) throw new Error(`healthz answered ${reply.status}`);
  await reply.arrayBuffer();
  answers.push(performance.now() - since);
  memory.push(readResident(drover.process.pid));
  await pause(ASK_MS);
}
const tally = await load.ask<Readonly<Record<string, number>>>("tally");
const note = `each with a long-poll, a beat every 30 s and 5 events every 2 s: ${Math.round((tally["posted"] ?? 0) / ((WARM_UP_MS + MEASURE_MS) / 1_000))} events/s stored, ${tally["refused"]} requests refused`;

const times = toPercentiles(answers);
report({
  id: "P10a",
  title: `healthz with ${WORKERS} live workers (p95)`,
  ours: times.p95,
  floor: null,
  ratio: null,
  target: "< 50 ms",
  met: times.p95 < 50 && tally["refused"] === 0,
  n: answers.length,
  ...times,
  unit: "ms",
  note,
});
const held = toPercentiles(memory);
report({
  id: "P10b",
  title: `resident memory of the server with ${WORKERS} live workers`,
  ours: Math.max(...memory),
  floor: null,
  ratio: null,
  target: "< 400 MiB",
  met: Math.max(...memory) < 400,
  n: memory.length,
  ...held,
  unit: "MiB",
  note: `the most of ${MEASURE_MS / 1_000} s`,
});
