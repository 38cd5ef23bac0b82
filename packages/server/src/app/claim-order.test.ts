/** The highest score is claimed first, however many wait, in whatever lane, and whoever is ruled out. */
import { orderByScore, toScoreWeights } from "@drover/core";
import { expect, vi } from "vitest";
import { createChance } from "../../../testkit/src/chance.ts";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { createWork } from "../../../testkit/src/work.ts";
import { claimTasks, lookAtQueue, refreshTasks } from "../store/task-queue.ts";
import { sql } from "../store/sql.ts";
import { listProjectTasks } from "../store/tasks.ts";
import { claimReady } from "./claim-tasks.ts";

vi.setConfig({ testTimeout: 120_000 });

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({
        config: { orchestratorEnabled: false, maxConcurrentTasks: 10_000 },
      });
      await use(server);
    },
    { scope: "file" },
  ],
});

const COUNT = 600;
const PRIORITIES = ["CRITICAL", "HIGH", "MEDIUM", "LOW"];

interface Draft {
  readonly priority: string;
  readonly ageSeconds: number;
  readonly slackSeconds: number | null;
  readonly retries: number;
  readonly files: readonly string[];
}

async function insertAll(server: TestServer, work: { projectId: string; ticketId: string }, drafts: readonly Draft[]) {
  const rows = await server.db.query(sql`
    insert into tasks (id, project_id, ticket_id, phase_id, task_type, title, priority, status, created_by, created_at, deadline_at,
      retry_count, owned_files)
    select gen_random_uuid()::text, ${work.projectId}, ${work.ticketId}, 'PHASE_IMPLEMENTATION', 'implementation', 'one',
      d->>'priority', 'pending', 'test', now() - make_interval(secs => (d->>'ageSeconds')::float8),
      now() + make_interval(secs => (d->>'slackSeconds')::float8), (d->>'retries')::integer,
      array(select jsonb_array_elements_text(d->'files'))
    from jsonb_array_elements(${JSON.stringify(drafts)}::jsonb) d returning id`);
  const ids = rows.map((row) => String(row["id"]));
  await refreshTasks(server.db, toScoreWeights(server.deps.config), ids);
  return ids;
}

/** Claims ten at a time, and compares with all that wait, scored. */
async function expectBestFirst(server: TestServer, projectId: string, rounds: number): Promise<void> {
  const weights = toScoreWeights(server.deps.config);
  for (let round = 0; round < rounds; round += 1) {
    // Both look at the same moment: scores that are nearly equal change places from one to the next.
    const now = server.deps.clock.now();
    const deps = { ...server.deps, clock: { ...server.deps.clock, now: () => now } };
    const all = await listProjectTasks(server.db, projectId, 10_000);
    const waiting = all.filter((one) => one.status === "pending");
    const best = orderByScore(waiting, weights, now).slice(0, 10);
    expect(await claimReady(deps, 10)).toEqual(best.map(({ id }) => id));
  }
}

test("of hundreds in every lane the best ones are taken, in the order of their scores", async ({ server }) => {
  const chance = createChance(7);
  // Far enough from every edge of a lane that none is crossed while this runs, and no two are equal.
  const drafts = Array.from({ length: COUNT }, (_, at) => ({
    priority: PRIORITIES[chance.int(0, 3)] ?? "LOW",
    ageSeconds: chance.int(0, 100) * 100 + 50 + at / 100,
    slackSeconds: chance.int(0, 2) === 0 ? null : (chance.int(0, 30) - 10) * 100 + 50,
    retries: chance.int(0, 3),
    files: [],
  }));
  const work = await createWork(server, { max_concurrent_tasks: 1_000 });
  await insertAll(server, work, drafts);
  const lanes = await server.db.query(
    sql`select distinct lane from tasks where project_id = ${work.projectId} order by lane`,
  );
  expect(lanes.map((row) => row["lane"])).toEqual([0, 1, 2, 3, 5, 6, 7, 8, 9]);
  await expectBestFirst(server, work.projectId, 12);
  await server.call("PATCH", `/projects/${work.projectId}`, { body: { status: "archived" } });
});

/** Broken on purpose, seen here, in each of the three: a rank without the deadline, and one with half of it. */
test.for([
  { age: "young", lane: 3, from: 10, to: 3_000 },
  { age: "ripe", lane: 5, from: 3_700, to: 7_000 },
  { age: "starving", lane: 6, from: 7_300, to: 20_000 },
])("of hundreds that are $age and near their deadlines the best ones are taken", async (given, { server }) => {
  const chance = createChance(given.lane);
  const drafts = Array.from({ length: 400 }, (_, at) => ({
    priority: PRIORITIES[chance.int(0, 3)] ?? "LOW",
    ageSeconds: chance.int(given.from, given.to) + at / 1_000,
    slackSeconds: chance.int(120, 880),
    retries: chance.int(0, 3),
    files: [],
  }));
  const work = await createWork(server, { max_concurrent_tasks: 1_000 });
  const ids = await insertAll(server, work, drafts);
  const lanes = await server.db.query(sql`select distinct lane from tasks where id = any(${ids}::text[])`);
  expect(lanes).toEqual([{ lane: given.lane }]);
  await expectBestFirst(server, work.projectId, 6);
  await server.call("PATCH", `/projects/${work.projectId}`, { body: { status: "archived" } });
});

test("one whose files are free is found behind hundreds that wait for theirs", async ({ server }) => {
  const work = await createWork(server, { max_concurrent_tasks: 10 });
  const draft = { ageSeconds: 10, slackSeconds: null, retries: 0 };
  const taken = { ...draft, priority: "CRITICAL", files: ["src/**"] };
  const ids = await insertAll(server, work, [
    ...Array.from({ length: 300 }, () => taken),
    { ...draft, priority: "LOW", files: ["docs/**"] },
  ]);
  const claimed = await claimReady(server.deps, 10);
  expect(claimed).toHaveLength(2);
  expect(claimed[1]).toBe(ids.at(-1));
});

/** Broken on purpose, seen here: a look that is content with whom it found takes the older one. */
test("whoever is next in a lane comes before a lesser one of another lane, though files rule out all before it", async ({
  server,
}) => {
  const work = await createWork(server, { max_concurrent_tasks: 10 });
  const draft = { ageSeconds: 10, slackSeconds: null, retries: 0 };
  const ids = await insertAll(server, work, [
    ...Array.from({ length: 100 }, () => ({ ...draft, priority: "CRITICAL", files: ["src/**"] })),
    { ...draft, priority: "HIGH", files: [] },
    { ...draft, priority: "LOW", files: [], ageSeconds: 4_000 },
  ]);
  expect(ids).toContain((await claimReady(server.deps, 1))[0]);
  expect(await claimReady(server.deps, 1)).toEqual([ids.at(-2)]);
  expect(await claimReady(server.deps, 1)).toEqual([ids.at(-1)]);
});

/** Broken on purpose, seen here: a claim that does not look at the turn takes a third one. */
test("whoever looked before another claimed takes nothing, so that limits hold over all processes", async ({
  server,
}) => {
  const work = await createWork(server, { max_concurrent_tasks: 2 });
  const draft = { priority: "LOW", ageSeconds: 10, slackSeconds: null, retries: 0, files: [] };
  const ids = await insertAll(server, work, [draft, draft, draft, draft]);
  const rooms = await lookAtQueue(server.db, 5, null, 1);
  const seen = rooms.find(({ project_id }) => project_id === work.projectId);
  expect(seen).toMatchObject({ room: 2, active: 0 });
  const claimed = await claimReady(server.deps, 2);
  expect(claimed).toHaveLength(2);
  const others = ids.filter((id) => !claimed.some((one) => one === id));
  expect(await claimTasks(server.db, others, "another", seen?.turn ?? 0)).toEqual([]);
  expect(await claimReady(server.deps, 2)).toEqual([]);
});
