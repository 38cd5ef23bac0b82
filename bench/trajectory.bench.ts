/** P9: a page of the trajectory of a long session. */
import { startChild } from "./child.ts";
import { startDrover, withClient, type Drover, type WorkerAccess } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const SIZES = [10_000, 1_000_000] as const;
const ROUNDS = 130;
const WARM_UP = 20;
const REST_MS = 1_000;
/** Of a processor. */
const REST_SHARE = 0.1;
const REST_LOOKS = 120;

/** Rows as an agent's run leaves them, every tenth a heartbeat, written in one statement. */
async function seed(drover: Drover, sandbox: WorkerAccess, count: number): Promise<void> {
  await withClient(drover.databaseUrl, async (client) => {
    await client.query(
      `insert into events (seq, id, sandbox_id, sandbox_seq, project_id, entity_type, entity_id, event_type, event_data, source, created_at, generation, turn, size, flags)
       select nextval('event_seq'), gen_random_uuid(), $1, n, $2, 'sandbox', $1, case when n % 10 = 0 then 'agent.heartbeat' else 'agent.message' end,
         jsonb_build_object('turn', n / 40, 'content', repeat('x', 250)), 'agent', now(), 1, n / 40, 280, case when n % 10 = 0 then 1 else 0 end
       from generate_series(1, $3::bigint) as n`,
      [sandbox.id, sandbox.projectId, count],
    );
    await client.query(
      "update sandboxes set last_sandbox_seq = $2::bigint, heartbeat_count = $2::bigint / 10, last_seq = (select max(seq) from events) where id = $1",
      [sandbox.id, count],
    );
    await client.query("analyze events");
  });
}

async function time(url: string, headers: Record<string, string>): Promise<number> {
  const since = performance.now();
  const reply = await fetch(url, { headers });
  const page = (await reply.json()) as { events: unknown[] };
  if (page.events.length !== 100) throw new Error(`${page.events.length} events on a page`);
  return performance.now() - since;
}

/** The server reads past what was written behind its back, and what follows the log does. That is no part of a page. */
async function waitForRest(drover: Drover): Promise<void> {
  const readMs = async () => {
    const { user, system } = await drover.process.ask<NodeJS.CpuUsage>("cpu");
    return (user + system) / 1_000;
  };
  for (let look = 0; look < REST_LOOKS; look += 1) {
    const before = await readMs();
    await new Promise<void>((resolve) => void setTimeout(resolve, REST_MS));
    if ((await readMs()) - before < REST_MS * REST_SHARE) return;
  }
  throw new Error("the server does not come to rest");
}

await using drover = await startDrover();
await using bare = startChild("bare-server.ts");
const bareUrl = await bare.ask<string>("start", drover.databaseUrl);
interface Side {
  readonly size: number;
  readonly sandbox: WorkerAccess;
  readonly ours: number[];
  readonly floor: number[];
}

const sides: Side[] = [];
for (const size of SIZES) {
  const sandbox = await drover.createSandbox();
  await seed(drover, sandbox, size);
  sides.push({ size, sandbox, ours: [], floor: [] });
}
await waitForRest(drover);
// Both sizes in turns too, or a busier minute would look like a slower size. The first rounds warm up.
for (let round = -WARM_UP; round < ROUNDS; round += 1) {
  for (const { sandbox, ...samples } of sides) {
    const ours = await time(`${drover.url}/api/v1/sandboxes/${sandbox.id}/trajectory`, {
      authorization: `Bearer ${drover.token}`,
    });
    const floor = await time(`${bareUrl}/?sandbox=${sandbox.id}`, {});
    if (round < 0) continue;
    samples.ours.push(ours);
    samples.floor.push(floor);
  }
}
const medians: number[] = [];
for (const [index, { size, ...samples }] of sides.entries()) {
  const [ours, floor] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
  medians.push(ours.p50);
  report({
    id: `P9${"ab"[index]}`,
    title: `trajectory page of a sandbox with ${size.toLocaleString("en")} events`,
    ours: ours.p50,
    floor: floor.p50,
    ratio: ours.p50 / floor.p50,
    target: "<= 2x an indexed select",
    met: ours.p50 / floor.p50 <= 2,
    n: samples.ours.length,
    ...ours,
    unit: "ms",
    note: "the floor is the same select behind a bare node:http route, without credentials; rounds in turns, after the server had read past what was seeded",
  });
}
const [small = 1, large = 1] = medians;
report({
  id: "P9c",
  title: "trajectory page: 1 M events against 10 k",
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
