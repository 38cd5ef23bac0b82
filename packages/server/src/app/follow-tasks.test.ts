/** What becomes of a task follows from what its sandboxes say and do: each try has its own times, all of them one branch. */
import { expect, vi } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import {
  becomes,
  createWork,
  finish,
  listAttempts,
  loadSandbox,
  loadTask,
  takeOver,
} from "../../../testkit/src/work.ts";
import { sql } from "../store/sql.ts";

vi.setConfig({ testTimeout: 120_000 });

const branchOf = async (server: TestServer, id: string) => (await loadSandbox(server, id)).branch;

test("a failed message is not a failed task", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one");
  const worker = await takeOver(server, task);
  await worker.say("agent.started");
  await becomes(server, task, "running");
  await worker.say("agent.error", { error: "one message could not be sent" });
  await worker.say("agent.completed", { final_output: "done nevertheless" });
  await becomes(server, task, "completed");
  expect(await listAttempts(server, task.id)).toMatchObject([{ outcome: "completed" }]);
});

test("an agent that reports failure is not at work any more when the next one begins", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one");
  const worker = await takeOver(server, task);
  await worker.say("agent.started");
  const report = { task_id: task.id, success: false, error_message: "connection lost" };
  expect((await worker.post("task-complete", report)).body).toMatchObject({ new_status: "pending" });
  const second = await finish(server, task, "done", 2);
  expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
  expect((await worker.say("agent.message")).status).toBe(401);
  await becomes(server, task, "completed");
  expect(await listAttempts(server, task.id)).toMatchObject([
    { sandbox_id: worker.sandboxId, outcome: "failed", error_message: "connection lost" },
    { sandbox_id: second.sandboxId, outcome: "completed" },
  ]);
});

test("a task that a person fails stops its sandbox", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one");
  const worker = await takeOver(server, task);
  await worker.say("agent.started");
  await becomes(server, task, "running");
  expect((await server.call("POST", `/tasks/${task.id}/fail`)).body).toMatchObject({ old_status: "running" });
  expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
  expect(await listAttempts(server, task.id)).toMatchObject([{ outcome: "failed" }]);
});

test("an agent has its time to start from when the task was given to it, however old the task is", async ({
  server,
}) => {
  const work = await createWork(server);
  const task = await work.add("one");
  await takeOver(server, task);
  await becomes(server, task, "assigned");
  const backdate = (column: "created_at" | "assigned_at") =>
    server.db.query(
      column === "created_at"
        ? sql`update tasks set created_at = now() - interval '1 day' where id = ${task.id}`
        : sql`update tasks set assigned_at = now() - interval '1 day' where id = ${task.id}`,
    );
  await backdate("created_at");
  expect((await server.call("POST", "/tasks/cleanup-timed-out")).status).toBe(200);
  expect(await listAttempts(server, task.id)).toMatchObject([{ outcome: null }]);
  await backdate("assigned_at");
  const worker = await takeOver(server, task, 2);
  expect(await listAttempts(server, task.id)).toMatchObject([
    { outcome: "lost", error_message: "the agent did not start in time" },
    { outcome: null, sandbox_id: worker.sandboxId },
  ]);
});

test("every try has its own times, so that a new one is not over when it begins", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one", { timeout_seconds: 3_600 });
  await (await takeOver(server, task)).say("agent.started");
  await becomes(server, task, "running");
  await server.db.query(sql`update tasks set started_at = now() - interval '2 hours' where id = ${task.id}`);
  await becomes(server, task, "failed");
  const { body: retried } = await server.call("POST", `/tasks/${task.id}/retry`);
  expect(retried).toMatchObject({ started_at: null, completed_at: null, error_message: null, retry_count: 0 });
  await finish(server, task, "done", 2);
  await becomes(server, task, "completed");
  const { body: timeline } = await server.call("GET", `/tasks/${task.id}/timeline`);
  expect(timeline.duration_seconds).toBeLessThan(3_600);
  expect((await loadTask(server, task.id)).error_message).toBeNull();
});

test("whoever tries again, validates or revises works on the branch of the first", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("one", { validation_enabled: true });
  const first = await takeOver(server, task);
  await first.say("agent.failed", { error: "connection reset" });
  // Somebody beside it, who comes before the second try.
  const beside = await finish(server, await work.add("beside"));
  const second = await finish(server, task, "done", 2);
  const validator = await finish(server, task, '{"passed": false, "feedback": "no tests"}', 3);
  const reviser = await finish(server, task, "with tests", 4);
  const branch = await branchOf(server, first.sandboxId);
  expect(branch).toMatch(new RegExp(`^feature/${work.ticketId}`));
  const others = [second, validator, reviser].map(({ sandboxId }) => branchOf(server, sandboxId));
  expect(await Promise.all(others)).toEqual([branch, branch, branch]);
  const { body: git } = await server.call("GET", `/projects/${work.projectId}/git`);
  const own = await branchOf(server, beside.sandboxId);
  expect(git.branches.map(({ name }: { name: string }) => name)).toEqual([branch, own, "main"]);
});
