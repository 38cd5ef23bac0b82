/** P1: durable events a second, against a raw insert of the same rows and against the design this product replaces. */
import { startRedis } from "../packages/testkit/src/redis.ts";
import { startChild } from "./child.ts";
import { startDrover, withClient } from "./drover.ts";
import { findPostmaster, readFamily, readProcess } from "./processor-time.ts";
import { createTable } from "./raw-insert.ts";
import { report, toPercentiles } from "./result.ts";

const WORKERS = 8;
const BATCH = 50;
const ROUNDS = 9;
/** Requests of each worker in a round. */
const REQUESTS = 60;
const OLD_REQUESTS = 60;
const TABLE = "raw_events";

await using drover = await startDrover();
await using redis = await startRedis();
await using load = startChild("load.ts");
await using old = startChild("old-design.ts");
const oldUrl = await old.ask<string>("start", drover.databaseUrl, redis.url);
const workers = await Promise.all(Array.from({ length: WORKERS }, () => drover.createSandbox()));
const postmaster = await withClient(drover.databaseUrl, async (client) => {
  await createTable(client, TABLE);
  return findPostmaster(client);
});
await load.ask("connect", drover.databaseUrl, WORKERS);

/** Microseconds of processor per event: of the server, of PostgreSQL, of the load. */
type Spent = readonly [server: number, postgres: number, load: number];
const readSpent = (): Spent => [readProcess(drover.process.pid), readFamily(postmaster), readProcess(load.pid)];
const spent = { ours: [] as Spent[], floor: [] as Spent[] };
async function weigh(side: keyof typeof spent, run: () => Promise<number>): Promise<number> {
  const before = readSpent();
  const seconds = await run();
  const events = WORKERS * REQUESTS * BATCH;
  const [server, postgres, other] = readSpent().map((us, index) => (us - (before[index] ?? 0)) / events);
  spent[side].push([server ?? 0, postgres ?? 0, other ?? 0]);
  return seconds;
}
/** Without the first round, which warms up. */
function tell(side: keyof typeof spent): string {
  const median = (index: 0 | 1 | 2) => toPercentiles(spent[side].slice(1).map((one) => one[index])).p50.toFixed(0);
  return `server ${median(0)}, PostgreSQL ${median(1)}, load ${median(2)}`;
}

const rate = (requests: number, batch: number, seconds: number) => (WORKERS * requests * batch) / seconds;
async function oursOnce(): Promise<number> {
  await load.ask("preparePosts", workers, { rounds: REQUESTS, batch: BATCH });
  return rate(REQUESTS, BATCH, await weigh("ours", () => load.ask<number>("runPosts", drover.url)));
}
async function floorOnce(): Promise<number> {
  await load.ask("prepareRows", workers, { rounds: REQUESTS, batch: BATCH });
  return rate(REQUESTS, BATCH, await weigh("floor", () => load.ask<number>("runRows", TABLE, BATCH)));
}
async function oldOnce(): Promise<number> {
  await load.ask("preparePosts", workers, { rounds: OLD_REQUESTS, batch: 1 });
  return rate(OLD_REQUESTS, 1, await load.ask<number>("runPosts", oldUrl));
}

const samples = { ours: [] as number[], floor: [] as number[], old: [] as number[] };
// The first round warms up all three.
for (let round = 0; round <= ROUNDS; round += 1) {
  const [ours, floor, before] = [await oursOnce(), await floorOnce(), await oldOnce()];
  console.log(`ours ${Math.round(ours)}, raw insert ${Math.round(floor)}, old design ${Math.round(before)} events/s`);
  if (round === 0) continue;
  samples.ours.push(ours);
  samples.floor.push(floor);
  samples.old.push(before);
}
const [ours, floor, before] = [toPercentiles(samples.ours), toPercentiles(samples.floor), toPercentiles(samples.old)];
/** Both sides of a ratio come from the same round, seconds apart: what else the machine does then weighs on both. */
const toRatio = (some: readonly number[], others: readonly number[]) =>
  toPercentiles(some.map((value, round) => value / (others[round] ?? 1))).p50;
const [floorRatio, oldRatio] = [toRatio(samples.ours, samples.floor), toRatio(samples.ours, samples.old)];
const rawToOld = toRatio(samples.floor, samples.old);
const shared = {
  ours: ours.p50,
  n: ROUNDS,
  ...ours,
  unit: "events/s",
} as const;
report({
  ...shared,
  id: "P1a",
  title: `durable events/s: ${WORKERS} workers, batches of ${BATCH}`,
  floor: floor.p50,
  ratio: floorRatio,
  target: ">= 0.6 of a raw insert",
  met: floorRatio >= 0.6,
  note: `the floor inserts the same rows over ${WORKERS} connections, one commit per ${BATCH}; rounds in turns; load, server and PostgreSQL share the processors: µs of them per event ${tell("ours")}; of the floor ${tell("floor")}`,
});
report({
  ...shared,
  id: "P1b",
  title: "durable events/s against the design before",
  floor: before.p50,
  ratio: oldRatio,
  target: ">= 40x",
  met: oldRatio >= 40,
  note: `one row, one commit and one publish to Redis per POST, ${WORKERS} workers; see P1c for what is possible`,
});
report({
  id: "P1c",
  title: "durable events/s of the raw insert against the design before: nobody who stores the same rows gets further",
  ours: floor.p50,
  floor: before.p50,
  ratio: rawToOld,
  target: "none: it bounds P1b",
  met: true,
  n: ROUNDS,
  ...floor,
  unit: "events/s",
  note: `P1b can reach 40x only where this is at least ${Math.round(40 / 0.6)}x`,
});
