/** What stands between a ticket and its work: duplicates, a person's approval, what agents can do, and proof of what they say. */
import { expect, vi } from "vitest";
import { isEvent, isSync } from "../../../testkit/src/live-stream.ts";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { becomes, createWork, FACT_MS, finish, loadSandbox, loadTask, takeOver } from "../../../testkit/src/work.ts";
import { sql } from "../store/sql.ts";
import { lockEdges } from "../store/tasks.ts";

vi.setConfig({ testTimeout: 120_000 });

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({
        config: { maxConcurrentTasks: 1_000, agentCapabilities: "rust, frontend" },
      });
      await use(server);
    },
    { scope: "file" },
  ],
});

test("a ticket that says the same as an open one is refused with the other's name, unless it is insisted on", async ({
  server,
}) => {
  const { projectId, ticketId } = await createWork(server, {}, { title: "Count the sheep in the northern field" });
  const body = { title: "Count the sheep in the northern field", project_id: projectId };
  const refused = await server.call("POST", "/tickets", { body });
  expect(refused.status).toBe(409);
  expect(refused.body).toMatchObject({
    type: "urn:drover:error:ticket.duplicate",
    errors: [{ path: ticketId, message: expect.stringContaining("Count the sheep") }],
  });
  expect((await server.call("GET", `/tickets?project_id=${projectId}`)).body.items).toHaveLength(1);
  const strict = { ...body, title: "Count the goats in the southern field" };
  expect((await server.call("POST", "/tickets", { body: strict })).status).toBe(201);
  expect((await server.call("POST", "/tickets", { body: { ...body, force_create: true } })).status).toBe(201);
  const unchecked = { ...body, check_duplicates: false };
  expect((await server.call("POST", "/tickets", { body: unchecked })).status).toBe(201);
  const elsewhere = await createWork(server, {}, { title: body.title });
  expect(elsewhere.ticketId).toBeTruthy();
});

test("a ticket that nobody approves in time does nothing, and says so where everybody listens", async ({ server }) => {
  const work = await createWork(server, { ticket_human_review: true });
  const task = await work.add("waits for a person");
  const stream = await server.openStream({ query: { entity_ids: work.ticketId } });
  await stream.next(isSync);
  const late = new Date(Date.now() - 1_000);
  await server.db.query(sql`update tickets set approval_deadline_at = ${late} where id = ${work.ticketId}`);
  const told = await stream.next((frame) => isEvent(frame) && frame.event_type === "TICKET_APPROVAL_TIMED_OUT");
  expect(told).toMatchObject({ entity_type: "ticket", entity_id: work.ticketId });
  const { body } = await server.call("GET", `/tickets/${work.ticketId}`);
  expect(body).toMatchObject({ approval_status: "timed_out", status: "backlog" });
  await becomes(server, task, "cancelled");
  expect((await server.call("POST", `/tickets/${work.ticketId}/approve`)).status).toBe(409);
});

test("a ticket is approved while a task is added to it: neither waits for ever for the other", async ({ server }) => {
  const work = await createWork(server, { ticket_human_review: true }, { workflow_mode: "quick" });
  const approving = await server.db.tx(async (tx) => {
    await lockEdges.one(tx, work.projectId);
    const answer = server.call("POST", `/tickets/${work.ticketId}/approve`);
    // From here on it holds the ticket.
    await expect
      .poll(() =>
        server.db.query(sql`select 1 as waits from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`),
      )
      .toHaveLength(1);
    // As a row does that names the ticket.
    await tx.query(sql`select id from tickets where id = ${work.ticketId} for key share nowait`);
    return { answer };
  });
  expect((await approving.answer).body).toMatchObject({ approval_status: "approved" });
});

test("a task is given only to agents that can do all it asks for", async ({ server }) => {
  const work = await createWork(server);
  const foreign = await work.add("asks for more", { required_capabilities: ["rust", "cobol"], priority: "CRITICAL" });
  const mine = await work.add("asks for what there is", { required_capabilities: ["frontend"], priority: "LOW" });
  await takeOver(server, mine);
  expect(await loadTask(server, foreign.id)).toMatchObject({ status: "pending" });
  const { body } = await server.call("GET", `/tasks/ready?project_id=${work.projectId}`);
  expect(JSON.stringify(body)).not.toContain(foreign.id);
});

test("a commit and a pull request that a worker names must be its branch's", async ({ server }) => {
  const work = await createWork(server);
  const task = await work.add("proves it");
  const worker = await takeOver(server, task);
  const report = { task_id: task.id, result: {}, evidence: { commit: "1".repeat(40) } };
  const refused = await worker.post("task-complete", report);
  expect(refused.body).toMatchObject({ status: 409, type: "urn:drover:error:task.unproven" });
  expect((await loadTask(server, task.id)).status).not.toBe("completed");
  const unopened = await worker.post("task-complete", { ...report, evidence: { pr_number: 1 } });
  expect(unopened.body).toMatchObject({ type: "urn:drover:error:task.unproven" });
  const { branch, pull_request } = (await server.call("GET", `/sandboxes/${worker.sandboxId}`)).body;
  expect(pull_request).toBeNull();
  const { signal } = new AbortController();
  const commit = await server.deps.git.objects.resolve(work.projectId, `refs/heads/${branch}`, signal);
  const proven = await worker.post("task-complete", { ...report, evidence: { commit } });
  expect(proven.body).toMatchObject({ status: "accepted", new_status: "completed" });
});

/** Broken on purpose, each seen to fail here: a project without a repository gets no branch; the setting is not looked at. */
test("a project that names no repository has one as soon as its first task begins, and does without if it says so", async ({
  server,
}) => {
  const work = await createWork(server);
  const [one, two] = [await work.add("works"), await work.add("works beside it")];
  const workers = await Promise.all([takeOver(server, one), takeOver(server, two)]);
  const branches = await Promise.all(
    workers.map(async ({ sandboxId }) => (await loadSandbox(server, sandboxId)).branch),
  );
  for (const branch of branches) expect(branch).toContain(work.ticketId);
  expect(new Set(branches).size).toBe(2);
  const { body } = await server.call("GET", `/projects/${work.projectId}/git`);
  expect(body).toMatchObject({ host: "builtin", default_branch: "main" });
  expect(body.branches.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(["main", ...branches]),
  );
  const without = await createWork(server, { branches_enabled: false });
  const third = await without.add("works without");
  const worker = await finish(server, third);
  expect((await loadSandbox(server, worker.sandboxId)).branch).toBeNull();
  const loadStatus = async () => (await server.call("GET", `/tickets/${without.ticketId}`)).body.status;
  await expect.poll(loadStatus, { timeout: FACT_MS }).toBe("done");
});
