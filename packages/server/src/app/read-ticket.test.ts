/** What is kept about tickets is read by whoever may see them, page by page. Broken on purpose, each seen to fail here: a page begins with
 *  the last one of the page before; discoveries of all projects are shown; commits are looked for on the branch alone. */
import { join } from "node:path";
import type { ProjectId } from "@drover/contract";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { commitFiles } from "../../../testkit/src/git/commit-files.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { createWork, FACT_MS, loadSandbox, loadTask, takeOver } from "../../../testkit/src/work.ts";

vi.setConfig({ testTimeout: 120_000 });

const { signal } = new AbortController();
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

const read = async (path: string, token?: string) =>
  (await server.call("GET", path, token === undefined ? {} : { token })).body;

test("history and steps are those of the ticket, newest first, each once over all pages", async () => {
  const { ticketId } = await createWork(server);
  for (const to_status of ["analyzing", "building"])
    await server.call("POST", `/tickets/${ticketId}/transition`, { body: { to_status, reason: to_status } });
  const steps = await read(`/tickets/${ticketId}/phase-history`);
  expect(steps.items).toMatchObject([
    { from_status: "analyzing", to_status: "building", phase_id: "PHASE_IMPLEMENTATION", reason: "building" },
    { from_status: "backlog", to_status: "analyzing", phase_id: "PHASE_REQUIREMENTS", reason: "analyzing" },
  ]);
  const types: string[] = [];
  let cursor: string | null = null;
  do {
    const after: string = cursor === null ? "" : `&cursor=${cursor}`;
    const page = await read(`/tickets/${ticketId}/history?limit=2${after}`);
    types.push(...page.items.map((one: { event_type: string }) => one.event_type));
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(types).toEqual([
    "ticket.status_transitioned",
    "TICKET_STATUS_CHANGED",
    "ticket.status_transitioned",
    "TICKET_STATUS_CHANGED",
    "TICKET_CREATED",
  ]);
  expect((await server.call("GET", `/tickets/${ticketId}/history?cursor=x`)).status).toBe(422);
  const { token } = await server.createToken("viewer", await server.createProject());
  for (const part of ["history", "phase-history", "commits", "blockers", "workflow-graph"])
    expect((await server.call("GET", `/tickets/${ticketId}/${part}`, { token })).status).toBe(404);
});

test("a ticket's blockers say whether they are done", async () => {
  const first = await createWork(server);
  const body = { title: "comes after", project_id: first.projectId, dependencies: { blocked_by: [first.ticketId] } };
  const { id } = (await server.call("POST", "/tickets", { body })).body;
  const told = await read(`/tickets/${id}/blockers`);
  expect(told).toMatchObject({
    blockers: [{ id: first.ticketId, status: "backlog", is_done: false }],
    all_done: false,
  });
  expect(await read(`/tickets/${first.ticketId}/blockers`)).toMatchObject({ blockers: [], all_done: true });
});

test("a ticket that would close a circle over others is refused with the way round", async () => {
  const { projectId, ticketId: first } = await createWork(server);
  const create = (title: string, dependencies: object) =>
    server.call("POST", "/tickets", { body: { title, project_id: projectId, dependencies, force_create: true } });
  const second = (await create("second", { blocked_by: [first] })).body.id;
  const third = (await create("third", { blocked_by: [second] })).body.id;
  for (const dependencies of [
    { blocked_by: [third], blocks: [first] },
    { blocked_by: [first], blocks: [first] },
  ]) {
    const refused = await create("closes the circle", dependencies);
    expect([refused.status, refused.body.type]).toEqual([422, "urn:drover:error:graph.cycle"]);
    expect(refused.body.detail).toContain(first);
  }
  expect((await create("between", { blocked_by: [first], blocks: [third] })).status).toBe(201);
});

test("what an agent found and did is read by those who may see its project", async () => {
  const work = await createWork(server);
  const task = await work.add("finds something");
  const worker = await takeOver(server, task);
  const found = { discovery_type: "bug", description: "it leaks" };
  expect((await worker.post("discoveries", found)).status).toBe(201);
  const mine = await read(`/discoveries?project_id=${work.projectId}&discovery_type=bug`);
  expect(mine.items).toMatchObject([{ description: "it leaks", source_task_id: task.id }]);
  const { token } = await server.createToken("viewer", await server.createProject());
  expect((await read("/discoveries", token)).items).toEqual([]);
  const foreign = await server.call("GET", `/discoveries?cursor=${mine.items[0].id}`, { token });
  expect(foreign.status).toBe(422);
  await worker.say("agent.started");
  const trajectory = await read(`/agents/${worker.sandboxId}/trajectory`);
  expect(trajectory.events.map((one: { event_type: string }) => one.event_type)).toContain("agent.started");
});

test("commits are those of the ticket's branch, also after its merge", async () => {
  const work = await createWork(server);
  expect(await read(`/tickets/${work.ticketId}/commits`)).toMatchObject({ branch: null, commits: [] });
  const task = await work.add("commits something");
  const worker = await takeOver(server, task);
  const { branch } = await loadSandbox(server, worker.sandboxId);
  const gitDir = join(server.dataDir, "git", `${work.projectId}.git`);
  const ref = `refs/heads/${branch}`;
  const from = (await server.deps.git.objects.resolve(work.projectId as ProjectId, ref, signal)) ?? "";
  const to = commitFiles(gitDir, { parents: [from], files: { "a.txt": "a\n" }, message: "adds a" });
  await server.deps.git.objects.moveRefs(work.projectId as ProjectId, [{ ref, from, to }], signal);
  const commits = { branch, commits: [{ subject: "adds a" }] };
  expect(await read(`/tickets/${work.ticketId}/commits`)).toMatchObject(commits);
  expect((await read(`/tickets/${work.ticketId}/workflow-graph`)).nodes).toMatchObject([{ id: task.id }]);
  await worker.say("agent.started");
  const moved = await server.call("PATCH", `/tasks/${task.id}/status`, { body: { status: "completed" } });
  expect(moved.body).toMatchObject({ status: "completed" });
  const loadStatus = async () => (await read(`/tickets/${work.ticketId}`)).status as string;
  await expect.poll(loadStatus, { timeout: FACT_MS }).toBe("done");
  expect(await read(`/tickets/${work.ticketId}/commits`)).toMatchObject(commits);
  expect((await server.call("PATCH", `/tasks/${task.id}/status`, { body: { status: "running" } })).status).toBe(409);
  expect((await loadTask(server, task.id)).status).toBe("completed");
});

test("tickets are found by their words, by likeness, and by both; only those that the caller may see", async () => {
  const { projectId } = await createWork(server);
  const create = async (title: string, description: string) =>
    (await server.call("POST", "/tickets", { body: { title, description, project_id: projectId } })).body.id as string;
  const [login, invoice, colours] = [
    await create("Log in fails after a password reset", "People are told that their password is wrong."),
    await create("Export invoices", "Accounting wants each invoice as a file."),
    await create("Dark theme", "The settings page is not readable at night."),
  ];
  const search = async (search_type: string, query: string, more = {}, token?: string) =>
    server.call("POST", "/tickets/search", {
      body: { query, search_type, project_id: projectId, ...more },
      ...(token === undefined ? {} : { token }),
    });
  const found = async (...asked: Parameters<typeof search>): Promise<readonly string[]> =>
    (await search(...asked)).body.items.map((one: { ticket: { id: string } }) => one.ticket.id);
  expect(await found("keyword", "password reset")).toEqual([login]);
  expect(await found("keyword", "passwords")).toEqual([]);
  expect((await found("semantic", "passwords resetted"))[0]).toBe(login);
  expect((await search("hybrid", "invoices")).body).toMatchObject({
    vectors: "local-lexical",
    items: [{ ticket: { id: invoice, title: "Export invoices" }, keyword_rank: 1, semantic_rank: 1, score: 2 / 61 }],
  });
  await server.call("PATCH", `/tickets/${colours}`, {
    body: { title: "Contrast", description: "Grey letters on white" },
  });
  expect(await found("semantic", "dark themes")).not.toContain(colours);
  expect((await found("hybrid", "contrasts"))[0]).toBe(colours);
  expect(await found("hybrid", "contrast", { status: ["done"] })).toEqual([]);
  const { token } = await server.createToken("viewer", await server.createProject());
  expect((await search("hybrid", "password", {}, token)).status).toBe(404);
  expect(await found("hybrid", "password", { project_id: undefined }, token)).toEqual([]);
  expect((await search("guessing", "password")).status).toBe(422);
});
