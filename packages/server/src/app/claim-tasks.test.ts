/** Four processes start a thousand tasks while they are killed at random: none runs twice at once, none is lost. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { toScoreWeights } from "@drover/core";
import { expect, test } from "vitest";
import { createChance } from "../../../testkit/src/chance.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer } from "../../../testkit/src/server.ts";
import { createWork } from "../../../testkit/src/work.ts";
import { refreshTasks } from "../store/task-queue.ts";
import { sql } from "../store/sql.ts";

const COUNT = 1_000;
const PROCESSES = 4;
const KILLS = 6;
const ORCHESTRATOR = join(import.meta.dirname, "../../../testkit/src/chaos/orchestrator-process.ts");
const seed = Number(process.env["CLAIM_SEED"] ?? Date.now() % 100_000);

test(`a thousand tasks, four orchestrators, killed at random (CLAIM_SEED=${seed})`, { timeout: 600_000 }, async () => {
  const chance = createChance(seed);
  await using database = await createDatabase();
  await using server = await startTestServer({ database, config: { orchestratorEnabled: false } });
  const { db } = database;
  const work = await createWork(server, { max_concurrent_tasks: 1_000, branches_enabled: false });
  const made = await db.query(sql`
    insert into tasks (id, project_id, ticket_id, phase_id, task_type, title, priority, status, created_by)
    select gen_random_uuid()::text, ${work.projectId}, ${work.ticketId}, 'PHASE_IMPLEMENTATION', 'implementation', 'task ' || n,
      (array['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'])[1 + n % 4], 'pending', 'test'
    from generate_series(1, ${COUNT}::integer) n returning id`);
  await refreshTasks(
    db,
    toScoreWeights(server.deps.config),
    made.map((row) => String(row["id"])),
  );

  let started = 0;
  const start = async (): Promise<{ readonly child: ChildProcess; readonly name: string }> => {
    const name = `orchestrator ${(started += 1)}`;
    const child = fork(ORCHESTRATOR, [database.url, name], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    await once(child, "message");
    return { child, name };
  };
  const kill = async ({ child, name }: { readonly child: ChildProcess; readonly name: string }) => {
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    // What it held would be free a minute after its claim; a minute passes now.
    await db.query(sql`update tasks set status_changed_at = now() - interval '2 minutes'
      where claimed_by = ${name} and status = 'claiming'`);
  };
  /** Agents that are quick: whatever runs is done. A second sandbox for a running task would be seen here. */
  const completeRunning = async (): Promise<number> => {
    await db.query(sql`
      with ended as (update task_attempts set ended_at = now(), outcome = 'completed' where ended_at is null returning task_id)
      update tasks set status = 'completed', completed_at = now() from ended where tasks.id = ended.task_id`);
    const [row] = await db.query(sql`select count(*) as count from tasks where status = 'completed'`);
    return Number(row?.["count"]);
  };

  const running = await Promise.all(Array.from({ length: PROCESSES }, start));
  try {
    // When so many are done one of them is killed; a look that comes late kills once for all that it missed.
    let killAt = Array.from({ length: KILLS }, () => chance.int(20, COUNT - 200));
    let done = 0;
    const advance = async () => {
      done = await completeRunning();
      const victim = chance.int(0, running.length - 1);
      const chosen = running[victim];
      if (chosen !== undefined && killAt.some((count) => count <= done)) {
        killAt = killAt.filter((count) => count > done);
        await kill(chosen);
        running[victim] = await start();
      }
      return done;
    };
    await expect.poll(advance, { timeout: 500_000, interval: 20 }).toBe(COUNT);
  } finally {
    for (const one of running) await kill(one);
  }
  // One attempt and one sandbox each: nobody worked on what another had, and nothing was begun that no task knows of.
  const [tally] = await db.query(sql`
    select (select count(*) from task_attempts) as attempts, (select count(distinct task_id) from task_attempts) as tasks,
      (select count(*) from sandboxes) as sandboxes, (select count(*) from tasks where status <> 'completed') as open`);
  expect(tally).toEqual({ attempts: COUNT, tasks: COUNT, sandboxes: COUNT, open: 0 });
});
