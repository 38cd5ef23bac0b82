/** Two servers behind a real nginx, on a real PostgreSQL and a real Redis, under load: agents with outboxes, subscribers, messages, tasks from the
 *  queue. Each of them is killed and started again, and one is restarted as an operator does: nothing is lost, nothing comes twice, no
 *  task runs twice, and everybody goes on by themselves. `CHAOS_TASKS` and `CHAOS_KILLS` change its length.
 *
 *  How long it took until everybody had a message that was sent after the death, and every subscriber the answer, is printed and not judged:
 *  the machine of a test may stand still for longer.
 *
 *  Broken on purpose and seen to fail here: a stream that resumes at its last event instead of after it (got it 2 times). What is broken in
 *  the outbox, the keys and the receipts is the matter of `kills.test.ts`; what is broken in claims, of `claim-tasks.test.ts`. */
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { toScoreWeights } from "@drover/core";
import { expect, test } from "vitest";
import { resolveConfig } from "../../../server/src/config.ts";
import type { Db } from "../../../server/src/ports/db.ts";
import { refreshTasks } from "../../../server/src/store/task-queue.ts";
import { sql } from "../../../server/src/store/sql.ts";
import { untilFact } from "../delivery/fact.ts";
import { createDatabase } from "../postgres.ts";
import { startRedis } from "../redis.ts";
import type { Plan } from "./plan.ts";
import { startReplicas, type ReplicasUnderFire } from "./replicas-under-fire.ts";
import { runSchedule, type Run, type World } from "./schedule.ts";
import { ADMIN_TOKEN } from "./server-under-fire.ts";
import { listAllSeqs } from "./store-truth.ts";
import { createTally } from "./tally.ts";
import { watchByClient, watchBySocket, type Watcher } from "./watcher.ts";

const TASKS = Number(process.env["CHAOS_TASKS"] ?? 150);
const KILLS = Number(process.env["CHAOS_KILLS"] ?? 2);
const AGENTS = 2;
const DEADLINE_MS = 180_000;

/** Nobody is killed but servers; the work goes on across their deaths. */
const toLongPlan = (index: number): Plan => ({
  index,
  segments: 1,
  rounds: 200,
  padding: 50,
  hasEdits: false,
  deeds: [],
  faults: [],
  isTorn: [],
});

async function createTasks(url: string, db: Db): Promise<void> {
  const client = createClient({ baseUrl: url, token: ADMIN_TOKEN });
  const settings = { provider: "external", max_concurrent_tasks: 1_000 } as const;
  const project = await client.createProject({
    body: { name: "a queue under fire", autonomous_execution_enabled: true, settings },
  });
  const ticket = await client.createTicket({ body: { title: "many tasks", project_id: project.id } });
  const made = await db.query(sql`
    insert into tasks (id, project_id, ticket_id, phase_id, task_type, title, priority, status, created_by)
    select gen_random_uuid()::text, ${project.id}, ${ticket.id}, 'PHASE_IMPLEMENTATION', 'implementation', 'task ' || n,
      (array['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'])[1 + n % 4], 'pending', 'test'
    from generate_series(1, ${TASKS}::integer) n returning id`);
  const ids = made.map((row) => String(row["id"]));
  await refreshTasks(db, toScoreWeights(resolveConfig({}).config), ids);
}

/** Agents that are quick: whatever runs is done. A second sandbox for a running task would be seen in the end. */
async function completeRunning(db: Db): Promise<number> {
  await db.query(sql`
    with ended as (update task_attempts set ended_at = now(), outcome = 'completed' where ended_at is null returning task_id)
    update tasks set status = 'completed', completed_at = now() from ended where tasks.id = ended.task_id`);
  const [row] = await db.query(sql`select count(*) as count from tasks where status = 'completed'`);
  return Number(row?.["count"]);
}

const hasHeard = ({ frames }: Watcher, messageId: string): boolean =>
  frames.some(
    ({ payload }) => payload["original_event_type"] === "agent.message_injected" && payload["message_id"] === messageId,
  );

/** Ends one and says something to every agent: milliseconds until each had it and every subscriber knows. */
async function measureDeath(
  replicas: ReplicasUnderFire,
  { index, how }: { readonly index: number; readonly how: "kill" | "stop" },
  runs: readonly Run[],
  watchers: readonly Watcher[],
): Promise<{ readonly name: string; readonly everybodyMs: number; readonly endedMs: number }> {
  const since = performance.now();
  const measure = () => Math.round(performance.now() - since);
  const ended = replicas.end(index, how).then((name) => ({ name, endedMs: measure() }));
  const before = runs.map((run) => run.sent.length);
  await Promise.all(runs.map((run) => run.say(`after the death of replica ${index}`, "steer")));
  for (const [place, run] of runs.entries()) {
    const message = run.sent[before[place] ?? 0] ?? "";
    const all = [...watchers, run.own];
    const isHeard = () => all.every((watcher) => hasHeard(watcher, message));
    await untilFact(() => `everybody has heard that ${run.id} was given ${message}`, isHeard, DEADLINE_MS, 5);
  }
  return { everybodyMs: measure(), ...(await ended) };
}

test(`replicas die under load: nothing is lost, nothing comes twice, ${TASKS} tasks run once each`, async () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "drover-replicas-")));
  const tally = createTally();
  const hopeless = new AbortController();
  await using redis = await startRedis();
  await using database = await createDatabase();
  const { db } = database;
  await using replicas = await startReplicas({
    directory,
    databaseUrl: database.url,
    redisUrl: redis.url,
    environment: { MAX_CONCURRENT_TASKS: "100000", MAX_PARALLEL_SPAWNS: "2" },
  });
  const refuse = () => {
    throw new Error("a plan here kills no server by itself");
  };
  const watchers = [
    watchByClient("a client of everything", replicas.url, {}, 0),
    watchBySocket("a bare socket", replicas.url, 0),
  ];
  const world: World = {
    directory,
    tally,
    watchers,
    server: {
      url: replicas.url,
      db,
      hopeless: hopeless.signal,
      ready: async () => undefined,
      kill: refuse,
      killAt: refuse,
      killPostgres: refuse,
    },
  };
  const runs: Run[] = [];
  const isOver = Promise.withResolvers<void>();
  const schedules = Promise.all(
    Array.from({ length: AGENTS }, (_, index) =>
      runSchedule(world, toLongPlan(index), (run) => {
        runs.push(run);
        return isOver.promise;
      }),
    ),
  );
  try {
    await untilFact(
      () => "all agents work",
      () => runs.length === AGENTS && runs.every((run) => run.progress() > 1_010),
      DEADLINE_MS,
      5,
    );
    await createTasks(replicas.url, db);
    const deaths: object[] = [];
    const dead: string[] = [];
    const work = async () => {
      // What the dead held would be free a minute after its claim; a minute passes now.
      await db.query(sql`update tasks set status_changed_at = now() - interval '2 minutes'
        where claimed_by = any(${dead}::text[]) and status = 'claiming'`);
      return completeRunning(db);
    };
    for (let turn = 0; turn <= KILLS; turn += 1) {
      const how = turn === KILLS ? "stop" : "kill";
      const index = turn % replicas.count;
      const due = Math.floor((TASKS * (turn + 1)) / (KILLS + 3));
      await untilFact(
        () => `${due} tasks are done`,
        async () => (await work()) >= due,
        DEADLINE_MS,
        20,
      );
      const { name, everybodyMs, endedMs } = await measureDeath(replicas, { index, how }, runs, watchers);
      deaths.push({ how, everybodyMs, endedMs, tasksDone: await work() });
      if (how === "kill") dead.push(name);
      await replicas.begin(index);
    }
    await untilFact(
      () => `${TASKS} tasks are done`,
      async () => (await work()) === TASKS,
      DEADLINE_MS,
      50,
    );
    isOver.resolve();
    const complaints = (await schedules).flat();
    const seqs = await listAllSeqs(db);
    const isThere = () => watchers.every(({ frames }) => frames.at(-1)?.seq === seqs.at(-1));
    await untilFact(() => "every subscriber has the last event", isThere, DEADLINE_MS, 20);
    for (const watcher of watchers) {
      complaints.push(...watcher.complaints);
      const got = watcher.frames.map(({ seq }) => seq);
      if (JSON.stringify(got) !== JSON.stringify(seqs))
        complaints.push(`${watcher.name} got ${got.length} events of ${seqs.length}, or in another order`);
    }
    console.info("replicas", { tasks: TASKS, events: seqs.length, deaths, ...tally.toObject() });
    expect(complaints.join("\n"), `logs are in ${directory}`).toBe("");
    // One try and one sandbox each: nobody worked on what another had, and nothing was begun that no task knows of.
    const [found] = await db.query(sql`
      select (select count(*) from task_attempts) as attempts, (select count(distinct task_id) from task_attempts) as tasks,
        (select count(*) from sandboxes where task_id is not null) as sandboxes,
        (select count(*) from tasks where status <> 'completed') as open`);
    expect(found).toEqual({ attempts: TASKS, tasks: TASKS, sandboxes: TASKS, open: 0 });
  } finally {
    hopeless.abort(new Error("the test is over"));
    isOver.resolve();
    for (const watcher of watchers) watcher.close();
    await Promise.all(runs.map((run) => run.worker.end()));
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});
