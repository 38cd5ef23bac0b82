/** A ticket's tasks run by themselves: in order, within limits, tried again, and never for ever. */
import type { StoredEvent, Task } from "@drover/contract";
import { describe, expect, vi } from "vitest";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import {
  after,
  becomes,
  createWork,
  FACT_MS,
  finish,
  listAttempts,
  loadSandbox,
  loadTask,
  takeOver,
} from "../../../testkit/src/work.ts";
import { closeTicketByMerge } from "./close-ticket.ts";
import { sql } from "../store/sql.ts";

vi.setConfig({ testTimeout: 120_000 });

// Room for all that the tests of this file leave running.
const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { maxConcurrentTasks: 1_000 } });
      await use(server);
    },
    { scope: "file" },
  ],
});

const statusOf = async (server: TestServer, id: string) => (await loadTask(server, id)).status;

describe("from claim to end", () => {
  test("a ready task is assigned, runs and is completed, and its ticket with it", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one");
    const worker = await takeOver(server, task);
    await becomes(server, task, "assigned");
    await worker.say("agent.started");
    await becomes(server, task, "running");
    await worker.say("agent.completed", { final_output: "it is done" });
    await becomes(server, task, "completed");
    expect(await listAttempts(server, task.id)).toMatchObject([
      { number: 1, kind: "work", outcome: "completed", sandbox_id: worker.sandboxId },
    ]);
    expect((await loadTask(server, task.id)).result).toMatchObject({ final_output: "it is done" });
    expect((await server.call("GET", `/sandboxes/${worker.sandboxId}/task`)).body.id).toBe(task.id);
    const loadStatus = async () => (await server.call("GET", `/tickets/${work.ticketId}`)).body.status;
    await expect.poll(loadStatus, { timeout: FACT_MS }).toBe("done");
    const { body } = await server.call("GET", `/events?limit=500&order=asc`);
    const told = body.events.filter(
      (event: { event_data: { task_id?: string } }) => event.event_data.task_id === task.id,
    );
    expect(told.map((event: { event_type: string }) => event.event_type)).toEqual(
      expect.arrayContaining(["TASK_CREATED", "TASK_ASSIGNED", "TASK_STARTED", "TASK_COMPLETED"]),
    );
  });

  test("a task waits for what it depends on, and two that do not wait run at once", async ({ server }) => {
    const work = await createWork(server);
    const first = await work.add("first");
    const [left, right] = [await work.add("left", after(first)), await work.add("right", after(first))];
    const last = await work.add("last", after(left, right));
    await finish(server, first);
    const [one, two] = [await takeOver(server, left), await takeOver(server, right)];
    expect(await statusOf(server, last.id)).toBe("pending");
    for (const worker of [one, two]) await worker.say("agent.completed");
    await finish(server, last);
    await becomes(server, last, "completed");
  });

  test("a ticket that ends while a task of it is claimed takes the task with it", async ({ server }) => {
    const work = await createWork(server);
    const first = await work.add("first");
    const next = await work.add("next", after(first));
    const worker = await takeOver(server, first);
    await server.db.tx(async (tx) => {
      await tx.query(sql`update tickets set status = 'done', phase_id = 'PHASE_DONE' where id = ${work.ticketId}`);
      await worker.say("agent.completed");
      await becomes(server, next, "claiming");
    });
    await becomes(server, next, "cancelled");
    expect(await listAttempts(server, next.id)).toEqual([]);
  });

  test("completion is reported once, for one's own task only, and says what it unblocks", async ({ server }) => {
    const work = await createWork(server, { max_concurrent_tasks: 1 });
    const task = await work.add("one", { priority: "CRITICAL" });
    const next = await work.add("two", after(task));
    const worker = await takeOver(server, task);
    const stranger = await worker.post("task-complete", { task_id: next.id });
    expect([stranger.status, stranger.body.type]).toEqual([409, "urn:drover:error:task.not_yours"]);
    const report = { task_id: task.id, result: { answer: 42 }, evidence: { tests_passed: true } };
    const first = await worker.post("task-complete", report);
    expect(first.body).toEqual({
      status: "accepted",
      task_id: task.id,
      new_status: "completed",
      unblocked_tasks: [next.id],
    });
    expect((await worker.post("task-complete", report)).body).toMatchObject({ new_status: "completed" });
    expect(await listAttempts(server, task.id)).toHaveLength(1);
    expect((await loadTask(server, task.id)).result).toEqual({ answer: 42, evidence: { tests_passed: true } });
  });

  test("a merge closes a ticket and what was still open of it, once", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one");
    const worker = await takeOver(server, task);
    for (const _ of [1, 2]) await closeTicketByMerge(server.deps, work.ticketId, { pr_number: 7, commit: "c" });
    expect(await loadTask(server, task.id)).toMatchObject({ status: "completed", result: { pr_number: 7 } });
    expect((await server.call("GET", `/tickets/${work.ticketId}`)).body.status).toBe("done");
    expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
  });
});

describe("limits", () => {
  test("no more of a project run at once than its settings say", async ({ server }) => {
    const work = await createWork(server, { max_concurrent_tasks: 2 });
    const tasks: Task[] = [];
    for (const title of ["a", "b", "c"]) tasks.push(await work.add(title));
    const active = async () => (await Promise.all(tasks.map(({ id }) => statusOf(server, id)))).toSorted();
    await expect.poll(active, { timeout: FACT_MS }).toEqual(["assigned", "assigned", "pending"]);
    const [{ body: ready }] = [await server.call("GET", `/tasks/ready?project_id=${work.projectId}`)];
    expect(ready.items).toHaveLength(1);
    const running = await server.call("GET", `/tasks?project_id=${work.projectId}&status=assigned`);
    await finish(server, running.body.items[0]);
    await expect.poll(active, { timeout: FACT_MS }).toEqual(["assigned", "assigned", "completed"]);
  });

  test("tasks that may touch the same files run one after the other", async ({ server }) => {
    const work = await createWork(server);
    const one = await work.add("one", { owned_files: ["src/**"], priority: "CRITICAL" });
    await becomes(server, one, "assigned");
    const two = await work.add("two", { owned_files: ["src/a/*.ts"] });
    const three = await work.add("three", { owned_files: ["docs/**"] });
    await becomes(server, three, "assigned");
    expect(await statusOf(server, two.id)).toBe("pending");
    const { body } = await server.call("GET", `/graph/forecast/ticket/${work.ticketId}`);
    expect(body.overlaps).toMatchObject([{ task_ids: [one.id, two.id], patterns: ["src/**", "src/a/*.ts"] }]);
    await finish(server, one);
    await becomes(server, two, "assigned");
  });

  test("only an autonomous project starts tasks unasked; a forced one starts anyway", async ({ server }) => {
    const work = await createWork(server);
    await server.call("PATCH", `/projects/${work.projectId}`, { body: { autonomous_execution_enabled: false } });
    const waits = await work.add("waits");
    const forced = await work.add("forced", { execution_config: { force_execute: true } });
    await becomes(server, forced, "assigned");
    expect(await loadTask(server, waits.id)).toMatchObject({ status: "pending", is_ready: false });
    await server.call("PATCH", `/projects/${work.projectId}`, { body: { autonomous_execution_enabled: true } });
    await becomes(server, waits, "assigned");
  });

  test("work on a blocked ticket, or on one that waits for a person, does not begin", async ({ server }) => {
    const work = await createWork(server, { ticket_human_review: true });
    const task = await work.add("one");
    expect(task.is_ready).toBe(false);
    await server.call("POST", `/tickets/${work.ticketId}/block`, { body: { reason: "environment" } });
    expect((await server.call("POST", `/tickets/${work.ticketId}/approve`)).body.approval_status).toBe("approved");
    expect((await loadTask(server, task.id)).is_ready).toBe(false);
    await server.call("POST", `/tickets/${work.ticketId}/unblock`);
    await becomes(server, task, "assigned");
    expect(
      (await server.call("POST", `/tickets/${work.ticketId}/reject`, { body: { rejection_reason: "no" } })).status,
    ).toBe(409);
  });
});

describe("failures", () => {
  test("what may pass is tried again in a new sandbox, what lasts is not", async ({ server }) => {
    const work = await createWork(server);
    const [flaky, broken] = [await work.add("flaky"), await work.add("broken")];
    await (await takeOver(server, flaky)).say("agent.failed", { error: "connection reset" });
    await (await takeOver(server, broken)).say("agent.failed", { error: "permission denied" });
    await becomes(server, broken, "failed");
    await finish(server, flaky, "at last", 2);
    await becomes(server, flaky, "completed");
    expect(await listAttempts(server, flaky.id)).toMatchObject([
      { outcome: "failed", error_message: "connection reset", resumes: null },
      { outcome: "completed", resumes: null },
    ]);
    expect(await loadTask(server, broken.id)).toMatchObject({ error_message: "permission denied", retry_count: 0 });
  });

  test("a task whose sandbox cannot be made is tried again as often as it may be, then fails and says why", async ({
    server,
  }) => {
    const work = await createWork(server, { provider: "local" });
    const task = await work.add("one", { max_retries: 1, execution_config: { runtime: "gemini" } });
    await becomes(server, task, "failed");
    expect(await loadTask(server, task.id)).toMatchObject({
      retry_count: 1,
      error_message: expect.stringContaining("Sandbox spawn failed: Gemini CLI"),
    });
    expect(await listAttempts(server, task.id)).toEqual([]);
  });

  test("a lost sandbox becomes a new attempt that goes on with its session", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one");
    const worker = await takeOver(server, task);
    await worker.say("agent.started");
    await server.db.query(
      sql`update sandboxes set state = 'failed', state_cause = 'the provider lost it' where id = ${worker.sandboxId}`,
    );
    await takeOver(server, task, 2);
    expect(await listAttempts(server, task.id)).toMatchObject([
      { outcome: "lost" },
      { outcome: null, resumes: worker.sandboxId },
    ]);
    const { events } = (await server.call("GET", "/events?event_type=AGENT_RESTARTED&limit=500")).body;
    const told = events.filter((one: StoredEvent) => one.event_data["agent_id"] === worker.sandboxId);
    const [, second] = await listAttempts(server, task.id);
    expect(told).toMatchObject([
      { event_data: { replacement_agent_id: second?.sandbox_id, reassigned_tasks: [task.id], reason: "lost" } },
    ]);
  });

  test("what waits for a failed task is blocked, however far away, and comes back with it", async ({ server }) => {
    const work = await createWork(server);
    const first = await work.add("first");
    const second = await work.add("second", after(first));
    const third = await work.add("third", after(second));
    expect((await server.call("POST", `/tasks/${first.id}/fail`)).body).toMatchObject({ status: "failed" });
    await becomes(server, third, "blocked");
    expect(await loadTask(server, second.id)).toMatchObject({ status: "blocked" });
    expect((await server.call("POST", `/tasks/${first.id}/retry`)).status).toBe(200);
    await becomes(server, third, "pending");
    for (const task of [second, third]) {
      await server.call("POST", `/tasks/${first.id}/cancel`);
      await becomes(server, task, "blocked");
    }
    await server.db.query(
      sql`update tasks set status_changed_at = now() - interval '2 days' where id = any(${[second.id, third.id]}::text[])`,
    );
    // One after the other, and which one first is nobody's promise.
    for (const task of [second, third]) await becomes(server, task, "skipped");
  });

  test("cancelling stops the sandbox; twice is refused", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one");
    const worker = await takeOver(server, task);
    const { status, body } = await server.call("POST", `/tasks/${task.id}/cancel`, { body: { reason: "no need" } });
    expect([status, body]).toEqual([
      200,
      { task_id: task.id, cancelled: true, reason: "no need", status: "cancelled" },
    ]);
    expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
    expect((await worker.say("agent.message")).status).toBe(401);
    expect((await server.call("POST", `/tasks/${task.id}/cancel`)).status).toBe(409);
    expect(await listAttempts(server, task.id)).toMatchObject([{ outcome: "cancelled" }]);
  });

  test("a task that a person says is done stops its sandbox, and holds up no other", async ({ server }) => {
    const work = await createWork(server);
    const [done, stray] = [await work.add("done"), await work.add("stray")];
    const [worker, lost] = [await takeOver(server, done), await takeOver(server, stray)];
    await worker.say("agent.started");
    await becomes(server, done, "running");
    expect((await server.call("PATCH", `/tasks/${done.id}`, { body: { status: "completed" } })).status).toBe(200);
    expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
    expect(await listAttempts(server, done.id)).toMatchObject([{ outcome: "completed" }]);
    // A task whose row and try contradict each other, whatever brought that about.
    await server.db.query(sql`update tasks set status = 'completed' where id = ${stray.id}`);
    await lost.say("agent.failed", { error: "too late" });
    const next = await work.add("next");
    await finish(server, next);
    await becomes(server, next, "completed");
  });

  test("a task whose time is over fails and stops its sandbox", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one", { timeout_seconds: 3_600 });
    const worker = await takeOver(server, task);
    await worker.say("agent.started");
    await becomes(server, task, "running");
    await server.db.query(sql`update tasks set started_at = now() - interval '2 hours' where id = ${task.id}`);
    await becomes(server, task, "failed");
    expect((await loadTask(server, task.id)).error_message).toContain("timed out after 3600 s");
    expect((await loadSandbox(server, worker.sandboxId)).state).toBe("cancelled");
  });

  test("a claim is stale by the time of the claim, however old the task is", async ({ server }) => {
    const work = await createWork(server, { max_concurrent_tasks: 1 });
    const [busy, waiting] = [await work.add("busy", { priority: "CRITICAL" }), await work.add("waiting")];
    await becomes(server, busy, "assigned");
    const claim = (seconds: number) =>
      server.db.query(sql`update tasks set status = 'claiming', claimed_by = 'somebody who died',
        created_at = now() - interval '1 day', status_changed_at = now() - make_interval(secs => ${seconds})
        where id = ${waiting.id}`);
    await claim(5);
    await finish(server, busy);
    await becomes(server, busy, "completed");
    expect(await statusOf(server, waiting.id)).toBe("claiming");
    await claim(61);
    await becomes(server, waiting, "assigned");
  });
});

describe("validation", () => {
  test("a second agent sends work back, with what is wrong, until it passes", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one", { validation_enabled: true });
    const implementer = await finish(server, task);
    const validator = await takeOver(server, task, 2);
    expect((await loadSandbox(server, validator.sandboxId)).prompt).toContain("Check the work of another agent");
    const verdict = { task_id: task.id, passed: false, feedback: "no tests", recommendations: ["write some"] };
    expect((await implementer.post("validation-result", { ...verdict, passed: true })).status).toBe(409);
    const sentBack = await validator.post("validation-result", verdict);
    expect(sentBack.body).toMatchObject({ validation_passed: false, new_task_status: "needs_revision" });
    expect((await validator.post("validation-result", verdict)).status).toBe(200);
    const { events } = (await server.call("GET", "/events?event_type=VALIDATION_SANDBOX_SPAWNED&limit=500")).body;
    expect(events.map((one: StoredEvent) => [one.sandbox_id, one.event_data["sandbox_id"]])).toContainEqual([
      null,
      validator.sandboxId,
    ]);
    const again = await finish(server, task, "with tests", 3);
    expect((await loadSandbox(server, again.sandboxId)).prompt).toContain("write some");
    // A validator's last words count as well.
    await finish(server, task, 'fine\n{"passed": true, "feedback": "good"}', 4);
    await becomes(server, task, "completed");
    expect(await loadTask(server, task.id)).toMatchObject({ review_done: true, validation_iteration: 2 });
    expect((await listAttempts(server, task.id)).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      "work completed",
      "validation rejected",
      "work completed",
      "validation passed",
    ]);
  });

  test("a validator that finds no end in the task's time is stopped, and another looks", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one", { validation_enabled: true, timeout_seconds: 3_600 });
    await finish(server, task);
    const mute = await takeOver(server, task, 2);
    await mute.say("agent.started");
    await server.db.query(
      sql`update sandboxes set started_at = now() - interval '2 hours' where id = ${mute.sandboxId}`,
    );
    await finish(server, task, '{"passed": true, "feedback": "good"}', 3);
    await becomes(server, task, "completed");
    expect((await loadSandbox(server, mute.sandboxId)).state).toBe("cancelled");
    expect((await listAttempts(server, task.id)).map(({ kind, outcome }) => `${kind} ${outcome}`)).toEqual([
      "work completed",
      "validation failed",
      "validation passed",
    ]);
  });
});

describe("what agents and joins add", () => {
  test("a join hands the results of its sources on", async ({ server }) => {
    const work = await createWork(server);
    const [one, two] = [await work.add("one"), await work.add("two")];
    const sum = await work.add("sum", after(one));
    const { body } = await server.call("POST", "/joins", {
      body: { source_task_ids: [one.id, two.id], continuation_task_id: sum.id },
    });
    expect(body).toMatchObject({ status: "waiting", merge_strategy: "combine" });
    const [first, second] = [await takeOver(server, one), await takeOver(server, two)];
    await first.post("task-complete", { task_id: one.id, result: { a: 1 } });
    await second.post("task-complete", { task_id: two.id, result: { b: 2 } });
    const worker = await takeOver(server, sum);
    expect((await loadTask(server, sum.id)).synthesis_context).toMatchObject({ a: 1, b: 2, _join_id: body.join_id });
    expect((await loadSandbox(server, worker.sandboxId)).prompt).toContain("Results of the tasks before");
  });

  test("an agent adds tasks to its own ticket, once per key and within the limit", async ({ server }) => {
    const work = await createWork(server);
    const task = await work.add("one");
    const last = await work.add("last", after(task));
    const worker = await takeOver(server, task);
    const found = {
      discovery_type: "bug",
      description: "the parser drops the last line",
      tasks: [{ title: "fix it" }, { title: "test it", after: [0], blocks: [last.id] }],
    };
    const headers = { "idempotency-key": "found once" };
    const first = await worker.post("discoveries", found, headers);
    expect(first.status).toBe(201);
    expect((await worker.post("discoveries", found, headers)).body).toEqual(first.body);
    const [fix, check] = first.body.spawned_task_ids;
    expect(await loadTask(server, check)).toMatchObject({
      parent_task_id: task.id,
      dependencies: { depends_on: [fix] },
    });
    expect((await loadTask(server, last.id)).dependencies.depends_on.toSorted()).toEqual(
      [String(task.id), String(check)].toSorted(),
    );
    const many = { ...found, tasks: Array.from({ length: 20 }, (_, n) => ({ title: `more ${n}` })) };
    expect((await worker.post("discoveries", many)).status).toBe(201);
    expect((await worker.post("discoveries", many)).status).toBe(201);
    expect((await worker.post("discoveries", many)).status).toBe(409);
    const { body: graph } = await server.call("GET", `/graph/dependency-graph/ticket/${work.ticketId}`);
    expect(graph.nodes.filter((node: { type: string }) => node.type === "discovery")).toHaveLength(3);
    expect(graph.metadata.total_tasks).toBe(44);
  });
});
