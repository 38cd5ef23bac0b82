/** What would wait for ever is found by the passes that look after work, and nothing that cannot move stands before what can. */
import { toScoreWeights } from "@drover/core";
import type { Task, TaskId, TaskStatus } from "@drover/contract";
import { expect, vi } from "vitest";
import { createChance } from "../../../testkit/src/chance.ts";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { after, createWork, listAttempts, loadSandbox, loadTask, takeOver } from "../../../testkit/src/work.ts";
import { refreshTasks } from "../store/task-queue.ts";
import { insertEdges, listTasksAmong } from "../store/tasks.ts";
import { listMovable } from "../store/tickets.ts";
import { sql } from "../store/sql.ts";
import { advanceTicketsOnce } from "./advance-tickets.ts";
import { claimReady } from "./claim-tasks.ts";
import type { Deps } from "./deps.ts";
import { dispatchTasksOnce } from "./dispatch-tasks.ts";
import { endStranded } from "./end-stranded.ts";
import { followTasksOnce } from "./follow-tasks.ts";
import { refreshAround } from "./requeue-tasks.ts";
import { tendTasksOnce } from "./tend-tasks.ts";

vi.setConfig({ testTimeout: 120_000 });

const { signal } = new AbortController();

/** No pass runs by itself; each is called where the test needs it. */
const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      const config = { orchestratorEnabled: false, maxParallelSpawns: 1, staleTaskMinutes: 0.5 };
      await using server = await startTestServer({ config });
      await use(server);
    },
    { scope: "file" },
  ],
});

const put = (server: TestServer, { id }: Task, status: TaskStatus) =>
  server.db.query(sql`update tasks set status = ${status}, not_before = null where id = ${id}`);

const seed = Number(process.env["GRAPH_SEED"] ?? Date.now() % 100_000);

/** Broken on purpose, each seen to fail here: what waits for something stands in the queue as if it did not; failure is not passed on. */
test(`of a random graph nothing begins before what it waits for, and nothing is forgotten (GRAPH_SEED=${seed})`, async ({
  server,
}) => {
  const chance = createChance(seed);
  const { deps, db } = server;
  const work = await createWork(server, { max_concurrent_tasks: 1_000 });
  const COUNT = 60;
  const made = await db.query(sql`
    insert into tasks (id, project_id, ticket_id, phase_id, task_type, title, priority, status, created_by)
    select gen_random_uuid()::text, ${work.projectId}, ${work.ticketId}, 'PHASE_IMPLEMENTATION', 'implementation', 'task ' || n,
      (array['CRITICAL', 'HIGH', 'MEDIUM', 'LOW'])[1 + n % 4], 'pending', 'test'
    from generate_series(1, ${COUNT}::integer) n returning id`);
  const ids = made.map((row) => String(row["id"]) as TaskId);
  const before = new Map(
    ids.map((id, n) => [id, ids.slice(0, n).filter(() => chance.isIn(200 / Math.max(n, 3)))] as const),
  );
  for (const [id, others] of before) await insertEdges(db, id, others);
  await refreshTasks(db, toScoreWeights(deps.config), ids);

  const ended = new Map<TaskId, "completed" | "failed">();
  for (;;) {
    const claimed = (await claimReady(deps, chance.int(1, 9))).filter((id) => before.has(id));
    if (claimed.length === 0) break;
    for (const id of claimed) {
      expect(ended.has(id)).toBe(false);
      for (const other of before.get(id) ?? []) expect(ended.get(other)).toBe("completed");
    }
    for (const id of claimed) {
      const how = chance.isIn(10) ? "failed" : "completed";
      await db.query(sql`update tasks set status = ${how} where id = ${id}`);
      ended.set(id, how);
      await refreshAround(deps, [id]);
    }
    await tendTasksOnce(deps);
  }
  const expected = new Map<TaskId, string>(ended);
  for (const [id, others] of before) {
    const isDoomed = others.some((other) => expected.get(other) !== "completed");
    if (!ended.has(id)) expected.set(id, isDoomed ? "blocked" : "forgotten");
  }
  const found = (await listTasksAmong(db, ids)).map((row) => [row.id, row.status] as const);
  expect(new Map(found)).toEqual(expected);
});

test("a start that waits for its host holds up no other", async ({ server }) => {
  const [slow, quick] = [
    await createWork(server, { provider: "local", branches_enabled: false }),
    await createWork(server, { branches_enabled: false }),
  ];
  const first = await slow.add("waits for its host", { priority: "CRITICAL", max_retries: 0 });
  const second = await quick.add("waits for nobody", { priority: "LOW" });
  const { deps } = server;
  const host = Promise.withResolvers<void>();
  const open: Deps["providers"]["open"] = async (name) => {
    if (name === "local") await host.promise;
    return deps.providers.open(name);
  };
  const clock = { ...deps.clock, sleep: () => new Promise<void>((resolve) => setImmediate(resolve)) };
  const pass = dispatchTasksOnce({ ...deps, clock, providers: { ...deps.providers, open } }, signal);
  await takeOver(server, second);
  expect((await loadTask(server, first.id)).status).toBe("claiming");
  host.reject(new Error("the host is away"));
  expect(await pass).toEqual({ started: 1 });
  expect((await loadTask(server, first.id)).status).toBe("failed");
});

test("a validator that cannot be made is asked for as often as one may fail, then the task fails and says why", async ({
  server,
}) => {
  const work = await createWork(server, { provider: "local", branches_enabled: false });
  const task = await work.add("one", { execution_config: { runtime: "gemini" } });
  const tries: TaskStatus[] = [];
  do {
    await put(server, task, "pending_validation");
    await dispatchTasksOnce(server.deps, signal);
    tries.push((await loadTask(server, task.id)).status);
  } while (tries.at(-1) === "pending_validation");
  expect(tries).toEqual(["pending_validation", "pending_validation", "pending_validation", "failed"]);
  expect((await loadTask(server, task.id)).error_message).toContain("Sandbox spawn failed");
});

test("work that waits for a validator passes where validation is switched off", async ({ server }) => {
  const task = await (await createWork(server)).add("one");
  await put(server, task, "pending_validation");
  await tendTasksOnce({ ...server.deps, config: { ...server.deps.config, taskValidationEnabled: false } });
  expect(await loadTask(server, task.id)).toMatchObject({
    status: "completed",
    status_reason: "validation is switched off",
  });
});

test("a validator that never begins is stopped, and another looks", async ({ server }) => {
  const work = await createWork(server, { branches_enabled: false });
  const task = await work.add("one");
  await put(server, task, "pending_validation");
  await dispatchTasksOnce(server.deps, signal);
  const [attempt] = await listAttempts(server, task.id);
  await tendTasksOnce(server.deps);
  expect((await loadTask(server, task.id)).status).toBe("validating");
  await server.db.query(
    sql`update task_attempts set created_at = now() - interval '31 seconds' where task_id = ${task.id}`,
  );
  await tendTasksOnce(server.deps);
  expect((await loadTask(server, task.id)).status).toBe("pending_validation");
  expect((await loadSandbox(server, attempt?.sandbox_id ?? "")).state).toBe("cancelled");
  expect(await listAttempts(server, task.id)).toMatchObject([{ kind: "validation", outcome: "lost" }]);
});

test("a try whose task is over already is settled once", async ({ server }) => {
  const work = await createWork(server, { branches_enabled: false });
  const task = await work.add("one");
  await dispatchTasksOnce(server.deps, signal);
  const worker = await takeOver(server, task);
  await put(server, task, "completed");
  await worker.say("agent.failed", { error: "too late" });
  await followTasksOnce(server.deps);
  expect(await listAttempts(server, task.id)).toMatchObject([{ outcome: "lost" }]);
  expect((await loadTask(server, task.id)).status).toBe("completed");
});

test("a person of one project ends what is overdue there, and nothing elsewhere", async ({ server }) => {
  const [mine, other] = [await createWork(server), await createWork(server)];
  const tasks = [await mine.add("mine", { timeout_seconds: 60 }), await other.add("other", { timeout_seconds: 60 })];
  for (const task of tasks) {
    await put(server, task, "running");
    await server.db.query(sql`update tasks set started_at = now() - interval '1 hour' where id = ${task.id}`);
  }
  const { token } = await server.createToken("operator", mine.projectId);
  const cleaned = await server.call("POST", "/tasks/cleanup-timed-out", { token });
  expect(cleaned.body).toEqual({ cleaned_count: 1, total_timed_out: 1 });
  const statuses = await Promise.all(tasks.map(async ({ id }) => (await loadTask(server, id)).status));
  expect(statuses).toEqual(["failed", "running"]);
});

test("tickets that wait for a person do not stand before those that can move", async ({ server }) => {
  const analysed = await createWork(server);
  await put(server, await analysed.add("Analyse", { task_type: "analyze_requirements" }), "completed");
  await server.call("POST", `/tickets/${analysed.ticketId}/transition`, { body: { to_status: "analyzing" } });
  const given = await createWork(server);
  await put(server, await given.add("not wanted"), "cancelled");
  for (const to_status of ["analyzing", "building"])
    await server.call("POST", `/tickets/${given.ticketId}/transition`, { body: { to_status } });
  const begun = await createWork(server);
  await put(server, await begun.add("one"), "running");
  const found = await listMovable(server.db, 100, "convergence", ["analyze_requirements"]);
  const ids = found.map(({ id }) => id as string);
  expect(ids).toContain(begun.ticketId);
  expect(ids).not.toContain(analysed.ticketId);
  expect(ids).not.toContain(given.ticketId);
  await advanceTicketsOnce(server.deps);
  expect((await server.call("GET", `/tickets/${begun.ticketId}`)).body.status).toBe("building");
});

test("what nothing will start any more is cancelled with its reason, and takes no more work", async ({ server }) => {
  const work = await createWork(server, { ticket_human_review: true });
  const refused = await work.add("refused");
  const elsewhere = await createWork(server, {}, { project_id: work.projectId, title: "goes on from there" });
  const waits = await elsewhere.add("waits for it", after(refused));
  const path = `/tickets/${work.ticketId}`;
  await server.call("POST", `${path}/reject`, { body: { rejection_reason: "no" } });
  const error = "Task cancelled: its ticket is rejected";
  expect(await loadTask(server, refused.id)).toMatchObject({ status: "cancelled", error_message: error });
  await tendTasksOnce(server.deps);
  expect((await loadTask(server, waits.id)).status).toBe("blocked");
  const more = { ticket_id: work.ticketId, title: "more" };
  for (const [method, where, body] of [
    ["POST", "/tasks", more],
    ["POST", `/tasks/${refused.id}/retry`, undefined],
  ] as const)
    expect((await server.call(method, where, { body })).body.type).toBe("urn:drover:error:ticket.illegal_transition");
  const done = await createWork(server);
  const left = await done.add("left");
  await server.db.query(sql`update tickets set status = 'done' where id = ${done.ticketId}`);
  expect(await endStranded(server.deps, null)).toBeGreaterThan(0);
  expect((await loadTask(server, left.id as TaskId)).status).toBe("cancelled");
});
