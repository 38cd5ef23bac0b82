import { expect } from "vitest";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { becomes, createWork, loadTask, takeOver } from "../../../testkit/src/work.ts";
import { sql } from "../store/sql.ts";
import type { Deps } from "./deps.ts";
import { detectBlockingOnce, diagnoseTicketsOnce } from "./diagnose-tickets.ts";

const MINUTE_MS = 60_000;

/** The same server as somebody sees it who looks so many minutes later, and helps. */
const later = (server: TestServer, minutes: number): Deps => ({
  ...server.deps,
  config: { ...server.deps.config, diagnosticEnabled: true },
  clock: { ...server.deps.clock, now: () => new Date(Date.now() + minutes * MINUTE_MS) },
});

const runsOf = async (server: TestServer, ticketId: string) =>
  (await server.call("GET", `/diagnostic/runs?ticket_id=${ticketId}`)).body.items;
const verdictOf = async (server: TestServer, ticketId: string) =>
  (await server.call("GET", "/diagnostic/stuck-workflows")).body.items.find(
    (one: { ticket_id: string }) => one.ticket_id === ticketId,
  )?.verdict;
const failTask = (server: TestServer, id: string, reason: string) =>
  server.call("POST", `/tasks/${id}/fail`, { body: { reason } });

test("a stuck ticket gets one task that says why, whoever looks; when that fails three times only a person helps", async ({
  server,
}) => {
  const work = await createWork(server);
  const task = await work.add("mend the form", { max_retries: 0 });
  await (await takeOver(server, task)).say("agent.started");
  await failTask(server, task.id, "2 tests fail");
  expect(await diagnoseTicketsOnce(later(server, 0.5))).toEqual({ helped: 0 });

  const all = await Promise.all([1, 2, 3].map(() => diagnoseTicketsOnce(later(server, 2))));
  expect(all.reduce((sum, { helped }) => sum + helped, 0)).toBe(1);
  const [run] = await runsOf(server, work.ticketId);
  expect(run).toMatchObject({
    trigger: "automatic",
    status: "running",
    total_tasks_at_trigger: 1,
    failed_tasks_at_trigger: 1,
    diagnosis: { root_cause: "the work was done and does not pass its checks" },
  });
  const recovery = await loadTask(server, run.diagnostic_task_id);
  expect(recovery).toMatchObject({ task_type: "diagnostic", priority: "HIGH", parent_task_id: task.id });
  expect(recovery.description).toContain('"mend the form" failed after 1 try: 2 tests fail');
  // While it is open nothing is stuck.
  expect(await diagnoseTicketsOnce(later(server, 60))).toEqual({ helped: 0 });

  for (let round = 1; round <= 3; round++) {
    const [newest] = await runsOf(server, work.ticketId);
    await failTask(server, newest.diagnostic_task_id, "2 tests fail");
    await diagnoseTicketsOnce(later(server, 60 * round));
  }
  // A failed recovery is counted once, however often it is looked at, and by every process that will ever look.
  expect((await runsOf(server, work.ticketId)).map(({ status }: { status: string }) => status)).toEqual(
    Array.from({ length: 3 }, () => "failed"),
  );
  expect(await verdictOf(server, work.ticketId)).toBe("gave_up");
  // A person may, and is told when there is nothing to look into.
  const headers = { "idempotency-key": "a person's" };
  const again = await server.call("POST", `/diagnostic/trigger/${work.ticketId}`, { headers });
  expect((await server.call("POST", `/diagnostic/trigger/${work.ticketId}`, { headers })).body).toEqual(again.body);
  expect(again).toMatchObject({ status: 201, body: { trigger: "manual", status: "running" } });
  expect((await server.call("POST", `/diagnostic/trigger/${work.ticketId}`)).status).toBe(409);
  expect((await server.call("GET", `/diagnostic/runs/${again.body.id}`)).body.id).toBe(again.body.id);
  const stranger = (await server.createToken("admin", await server.createProject())).token;
  expect((await server.call("GET", `/diagnostic/runs/${again.body.id}`, { token: stranger })).status).toBe(404);
});

test("a recovery that ends well and mends nothing is left to a person: there is no loop", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one", { max_retries: 0 });
  await (await takeOver(server, task)).say("agent.started");
  await failTask(server, task.id, "no");
  await diagnoseTicketsOnce(later(server, 2));
  const [run] = await runsOf(server, work.ticketId);
  const worker = await takeOver(server, await loadTask(server, run.diagnostic_task_id));
  await worker.say("agent.started");
  await worker.say("agent.completed", { final_output: "it was the form" });
  await becomes(server, { id: run.diagnostic_task_id }, "completed");
  for (const minutes of [60, 120, 180])
    expect(await diagnoseTicketsOnce(later(server, minutes))).toEqual({ helped: 0 });
  expect(await verdictOf(server, work.ticketId)).toBe("needs_person");
  expect((await runsOf(server, work.ticketId))[0]).toMatchObject({ status: "completed" });
  // That it is over is told once, however often somebody looked.
  const told = (await server.call("GET", "/events?event_type=diagnostic.completed&limit=500")).body.events.filter(
    (one: { event_data: { run_id: string } }) => one.event_data.run_id === run.id,
  );
  expect(told).toMatchObject([{ event_data: { status: "completed", ticket_id: work.ticketId } }]);
});

test("a ticket that nothing moves for half an hour is marked with what its errors speak of; one that runs is not", async () => {
  await using server = await startTestServer();
  const [still, busy] = [await createWork(server), await createWork(server)];
  const failed = await still.add("one", { max_retries: 0 });
  await (await takeOver(server, failed)).say("agent.started");
  await (await takeOver(server, await busy.add("two"))).say("agent.started");
  const statusOf = async (id: string) => (await server.call("GET", `/tickets/${id}`)).body.status;
  for (const id of [still.ticketId, busy.ticketId]) await expect.poll(() => statusOf(id)).toBe("building");
  await failTask(server, failed.id, "Sandbox spawn failed: no space left");
  await server.db.query(sql`update tickets set updated_at = updated_at - interval '1 hour'`);
  expect(await detectBlockingOnce(later(server, 10))).toEqual({ blocked: 0 });
  expect(await detectBlockingOnce(later(server, 40))).toEqual({ blocked: 1 });
  expect((await server.call("GET", `/tickets/${still.ticketId}`)).body).toMatchObject({
    is_blocked: true,
    blocked_reason: "environment",
  });
  expect((await server.call("GET", `/tickets/${busy.ticketId}`)).body.is_blocked).toBe(false);
  expect(await detectBlockingOnce(later(server, 40))).toEqual({ blocked: 0 });
});
