/** P8: a claim from 100, 10,000 and 100,000 ready tasks. */
import pg from "pg";
import { openPostgres } from "../packages/server/src/adapters/db-postgres.ts";
import { claimReady } from "../packages/server/src/app/claim-tasks.ts";
import { resolveConfig } from "../packages/server/src/config.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const SIZES = [100, 10_000, 100_000] as const;
const ROUNDS = 60;
const WARM_UP = 10;

await using drover = await startDrover(undefined, { ORCHESTRATOR_ENABLED: "false" });
const db = openPostgres({ url: drover.databaseUrl, maxConnections: 2 });
const bare = new pg.Client({ connectionString: drover.databaseUrl });
await bare.connect();
const { projectId } = await drover.createSandbox();
const ticketId = crypto.randomUUID();
await bare.query(
  "insert into tickets (id, project_id, title, phase_id, status, priority, approval_status, created_by) values ($1, $2, 'bench', 'PHASE_IMPLEMENTATION', 'backlog', 'LOW', 'approved', 'bench')",
  [ticketId, projectId],
);
await bare.query(
  "create table bench_queue (id bigint primary key, rank double precision not null, status text not null)",
);
await bare.query("create index bench_ready on bench_queue (rank desc, id) where status = 'pending'");

/** As many ready tasks as asked for, and as many rows for the floor. */
async function fill(size: number): Promise<void> {
  await bare.query("truncate bench_queue");
  await bare.query("delete from tasks");
  await bare.query(
    `insert into tasks (id, project_id, ticket_id, phase_id, task_type, title, priority, status, created_by, created_at, is_held, rank)
     select gen_random_uuid()::text, $1, $2, 'PHASE_IMPLEMENTATION', 'implementation', 'task ' || n, 'MEDIUM', 'pending', 'bench',
       now() - make_interval(secs => n % 3000), false, 0.275 - 0.2 * extract(epoch from now() - make_interval(secs => n % 3000)) / 3600
     from generate_series(1, $3::integer) n`,
    [projectId, ticketId, size],
  );
  await bare.query("insert into bench_queue select n, random(), 'pending' from generate_series(1, $1::integer) n", [
    size,
  ]);
  await bare.query("vacuum analyze tasks");
  await bare.query("vacuum analyze bench_queue");
}

const config = { ...resolveConfig({}).config, maxConcurrentTasks: 1_000_000, maxConcurrentTasksPerProject: 1_000_000 };
const deps = { db, config, clock: { now: () => new Date(), sleep: async () => undefined }, instance: "bench" };

async function time(work: () => Promise<number>): Promise<number> {
  const since = performance.now();
  if ((await work()) !== 1) throw new Error("nothing was claimed");
  return performance.now() - since;
}

const claimOurs = () => time(async () => (await claimReady(deps, 1)).length);
const claimBare = () =>
  time(
    async () =>
      (
        await bare.query(
          "update bench_queue q set status = 'claiming' from (select id from bench_queue where status = 'pending' order by rank desc, id limit 1 for update skip locked) f where q.id = f.id returning q.id",
        )
      ).rowCount ?? 0,
  );

const medians: number[] = [];
for (const [index, size] of SIZES.entries()) {
  await fill(size);
  const samples = { ours: [] as number[], floor: [] as number[] };
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const [ours, floor] = [await claimOurs(), await claimBare()];
    if (round < 0) continue;
    samples.ours.push(ours);
    samples.floor.push(floor);
  }
  const [ours, floor] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
  medians.push(ours.p50);
  report({
    id: `P8${"abc"[index]}`,
    title: `claim one of ${size.toLocaleString("en")} ready tasks`,
    ours: ours.p50,
    floor: floor.p50,
    ratio: ours.p50 / floor.p50,
    target: "<= 3x a bare skip locked query",
    met: ours.p50 / floor.p50 <= 3,
    n: samples.ours.length,
    ...ours,
    unit: "ms",
    note: "committed, in turns; the floor is one update of the first row of an index",
  });
}
const [small = 1, , large = 1] = medians;
report({
  id: "P8d",
  title: "claim: 100,000 ready tasks against 100",
  ours: large,
  floor: small,
  ratio: large / small,
  target: "flat (<= 1.5x)",
  met: large / small <= 1.5,
  n: SIZES.length,
  p50: large,
  p95: large,
  p99: large,
  unit: "ms",
  note: "medians of the rows above",
});
await bare.end();
await db.close();
