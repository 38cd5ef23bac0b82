import type { Sandbox } from "@drover/contract";
import { expect } from "vitest";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { reapSandboxesOnce } from "./reap-sandboxes.ts";

const get = async (server: TestServer, id: string): Promise<Sandbox> =>
  (await server.call("GET", `/sandboxes/${id}`)).body;
const list = async (server: TestServer, query = "", token?: string) =>
  (await server.call("GET", `/sandboxes${query}`, token === undefined ? {} : { token })).body;
const ids = (items: readonly Sandbox[]) => items.map((item) => item.id);

test("a new sandbox has its worker's token, once, and what its worker needs", async ({ server }) => {
  const { created, id, token } = await server.createSandbox({
    prompt: "do it",
    runtime: "scripted",
    model: "m",
    labels: { a: "b" },
    repo: "https://example.org/a.git",
    base_branch: "main",
  });
  expect(id).toMatch(/^drover-[0-9a-f]{8}-[0-9a-f]{6}$/);
  expect(created).toMatchObject({
    state: "creating",
    generation: 1,
    provider: "external",
    prompt: "do it",
    labels: { a: "b" },
  });
  expect(created.worker_env).toEqual({ SANDBOX_ID: id, CALLBACK_URL: server.url, SANDBOX_TOKEN: token });
  const found = await get(server, id);
  expect(found).not.toHaveProperty("worker_token");
  expect(found).toMatchObject({ id, state: "creating", health: "unknown", event_count: 2 });
  expect(JSON.stringify(await server.db.query(sql`select * from sandbox_tokens limit 1000`))).not.toContain(token);
});

test("a new sandbox is told as the next read tells it, its own events counted", async ({ server }) => {
  for (const headers of [{}, { "idempotency-key": "counted" }, { "idempotency-key": "counted" }]) {
    const { body } = await server.call("POST", "/sandboxes", { body: { provider: "external" }, headers });
    const { worker_token: _token, worker_env: _env, ...told } = body;
    expect(told).toEqual(await get(server, body.id));
    expect([told.event_count, told.last_event_type]).toEqual([2, "STATE_CHANGED"]);
    const { body: log } = await server.call("GET", `/sandboxes/${body.id}/events`);
    expect(told.last_seq).toBe(log.last_seq);
  }
});

test("a provider that is away refuses the request, and nothing is stored", async () => {
  await using server = await startTestServer({ config: { dockerHost: "unix:///nowhere/engine.sock" } });
  const { status, body } = await server.call("POST", "/sandboxes", { body: { provider: "docker" } });
  expect([status, body.type]).toEqual([422, "urn:drover:error:provider.unavailable"]);
  expect(body.detail).toContain("there is no socket");
  expect((await list(server)).items).toEqual([]);
});

test("a provider that lacks its key refuses the request, and nothing is stored", async ({ server }) => {
  const { items: before } = await list(server);
  const { status, body } = await server.call("POST", "/sandboxes", { body: { provider: "daytona" } });
  expect([status, body.type]).toEqual([422, "urn:drover:error:provider.unavailable"]);
  expect(body.detail).toContain("DAYTONA_API_KEY");
  expect((await list(server)).items).toEqual(before);
});

test("what a request does not say, its project may", async ({ server }) => {
  const settings = { provider: "external", runtime: "scripted", model: "of the project", network: "none" };
  const { body: project } = await server.call("POST", "/projects", { body: { name: "with settings", settings } });
  const make = async (body: object) =>
    (await server.call("POST", "/sandboxes", { body: { project_id: project.id, ...body } })).body;
  expect(await make({})).toMatchObject(settings);
  expect(await make({ model: "mine", network: "open" })).toMatchObject({ ...settings, model: "mine", network: "open" });
  await server.call("PATCH", `/projects/${project.id}`, { body: { settings: { provider: "kubernetes" } } });
  const { status, body } = await server.call("POST", "/sandboxes", { body: { project_id: project.id } });
  expect([status, body.type]).toEqual([422, "urn:drover:error:provider.unavailable"]);
});

test("the id of a sandbox begins with that of its task", async ({ server }) => {
  const { id, created } = await server.createSandbox({ task_id: "1b2c3d4e-0000-4000-8000-000000000000" as never });
  expect(id).toMatch(/^drover-1b2c3d4e-[0-9a-f]{6}$/);
  const assignment = await server.call("GET", `/sandboxes/${id}/assignment`, { token: created.worker_token });
  expect(assignment.body).toMatchObject({
    sandbox_id: id,
    generation: 1,
    task_id: "1b2c3d4e-0000-4000-8000-000000000000",
  });
});

test("the state follows what the worker says, and every step is in the log with its cause", async ({
  server,
  sandbox,
}) => {
  const states: string[] = [];
  for (const event_type of [
    "sandbox.provisioning",
    "agent.started",
    "agent.message",
    "agent.completed",
    "agent.message",
    "agent.completed",
    "agent.failed",
  ]) {
    await sandbox.post({ event_type });
    states.push((await get(server, sandbox.id)).state);
  }
  expect(states).toEqual(["creating", "running", "running", "completed", "running", "completed", "completed"]);
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=STATE_CHANGED&order=asc`);
  expect(
    body.events.map(
      (event: { event_data: { from: string; to: string; cause: string } }) =>
        `${event.event_data.from} ${event.event_data.to} ${event.event_data.cause}`,
    ),
  ).toEqual([
    "pending creating external",
    "creating running agent.started",
    "running completing agent.completed",
    "completing completed agent.completed",
    "completed running agent.message",
    "running completing agent.completed",
    "completing completed agent.completed",
  ]);
  const { body: all } = await server.call("GET", `/sandboxes/${sandbox.id}/events?limit=500`);
  const byId = new Map(all.events.map((event: { id: string; event_type: string }) => [event.id, event.event_type]));
  expect(body.events.slice(1).map((event: { caused_by: string }) => byId.get(event.caused_by))).toEqual(
    body.events.slice(1).map((event: { event_data: { cause: string } }) => event.event_data.cause),
  );
});

test("a failed sandbox stays failed, whatever comes", async ({ server, sandbox }) => {
  await sandbox.post({
    events: ["agent.started", "agent.failed", "agent.message", "agent.completed"].map((event_type) => ({ event_type })),
  });
  expect(await get(server, sandbox.id)).toMatchObject({ state: "failed", ended_at: expect.any(String) });
});

test("any word of the worker shows that it lives; turns and times are kept", async ({ server, sandbox }) => {
  await sandbox.post({
    events: [
      { event_type: "agent.message", event_data: { turn: 4 } },
      { event_type: "agent.message", event_data: { turn: 2 } },
      { event_type: "agent.heartbeat" },
    ],
  });
  const found = await get(server, sandbox.id);
  expect(found).toMatchObject({
    health: "alive",
    turn: 4,
    last_heartbeat_at: expect.any(String),
    started_at: expect.any(String),
  });
  const { body } = await server.call("POST", `/sandboxes/${sandbox.id}/heartbeat`, {
    token: sandbox.token,
    body: { status: "running", detail: { load: 1 } },
  });
  expect(body).toMatchObject({ status: "received", event_type: "agent.heartbeat", seq: expect.any(Number) });
  const { body: log } = await server.call("GET", `/sandboxes/${sandbox.id}/events?limit=1`);
  expect(log.events[0].event_data).toMatchObject({ turn: 4, status: "running", load: 1 });
  expect((await server.call("POST", `/sandboxes/${sandbox.id}/heartbeat`, { token: sandbox.token })).status).toBe(200);
});

test("ending a sandbox twice equals ending it once, and its worker is out", async ({ server, sandbox }) => {
  await sandbox.post({ event_type: "agent.started" });
  const first = await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  expect([first.status, first.body.state]).toEqual([200, "terminated"]);
  const again = await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect((await sandbox.post({ event_type: "agent.message" })).status).toBe(401);
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/assignment`, { token: sandbox.token })).status).toBe(401);
  expect((await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`)).status).toBe(409);
});

test("a sandbox that has run for as long as it may is stopped, with that as its cause", async ({ server }) => {
  const sandbox = await server.createSandbox({ timeout_s: 60 });
  await sandbox.post({ event_type: "agent.started" });
  const backdate = (seconds: number) =>
    server.db.query(
      sql`update sandboxes set started_at = now() - make_interval(secs => ${seconds}) where id = ${sandbox.id}`,
    );
  const { signal } = new AbortController();
  // One that may run for longer than any clock goes is in nobody's way.
  const other = await server.createSandbox({ timeout_s: Number.MAX_SAFE_INTEGER });
  await other.post({ event_type: "agent.started" });
  await backdate(50);
  await reapSandboxesOnce(server.deps, signal);
  expect(await get(server, sandbox.id)).toMatchObject({ state: "running" });
  await backdate(61);
  await reapSandboxesOnce(server.deps, signal);
  expect(await get(server, sandbox.id)).toMatchObject({ state: "cancelled", state_cause: "timed out after 60 s" });
  expect((await sandbox.post({ event_type: "agent.message" })).status).toBe(401);
});

test("ten that end a sandbox at once end it once", async ({ server, sandbox }) => {
  await Promise.all(Array.from({ length: 10 }, () => server.call("DELETE", `/sandboxes/${sandbox.id}`)));
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=TERMINATED`);
  expect(body.total_count).toBe(1);
});

test("pages lose and repeat nothing when all were made at the same time", async ({ server }) => {
  const project = await server.createProject();
  const made = await Promise.all(Array.from({ length: 23 }, () => server.createSandbox({ project_id: project })));
  await server.db.query(
    sql`update sandboxes set created_at = '2026-01-01T00:00:00.123456Z' where project_id = ${project}`,
  );
  const found: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const page: { items: readonly Sandbox[]; next_cursor: string | null } = await list(
      server,
      `?project_id=${project}&limit=5${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    if (page.next_cursor !== null) expect(page.items).toHaveLength(5);
    found.push(...ids(page.items));
    cursor = page.next_cursor;
  }
  expect(found).toHaveLength(23);
  expect(found.toSorted()).toEqual(made.map((sandbox) => sandbox.id as string).toSorted());
});

test("filters find by state, task, project and text", async ({ server }) => {
  const project = await server.createProject();
  const task = "77777777-0000-4000-8000-000000000000";
  const one = await server.createSandbox({
    project_id: project,
    task_id: task as never,
    prompt: "Fix the 100% Login_page",
  });
  const two = await server.createSandbox({ project_id: project, labels: { team: "Blue" } });
  await two.post({ event_type: "agent.started" });
  const find = async (query: string) => ids((await list(server, `?project_id=${project}&${query}`)).items);
  expect(await find("status=running")).toEqual([two.id]);
  expect(await find("status=running&status=creating")).toEqual([two.id, one.id]);
  expect(await find(`task_id=${task}`)).toEqual([one.id]);
  expect(await find("q=login_PAGE")).toEqual([one.id]);
  expect(await find("q=100%25")).toEqual([one.id]);
  expect(await find("q=%25")).toEqual([one.id]);
  expect(await find("q=blue")).toEqual([two.id]);
  expect(await find(`q=${one.id.slice(0, 15)}`)).toEqual([one.id]);
  expect(await find("q=nothing")).toEqual([]);
});

test("a person sees the sandboxes of her project only", async ({ server }) => {
  const project = await server.createProject();
  const [mine, foreign] = [await server.createSandbox({ project_id: project }), await server.createSandbox()];
  const { token } = await server.createToken("operator", project);
  expect(ids((await list(server, "", token)).items)).toEqual([mine.id]);
  expect((await list(server, `?project_id=${foreign.created.project_id}`, token)).items).toEqual([]);
  expect((await server.call("GET", `/sandboxes?cursor=${foreign.id}`, { token })).status).toBe(422);
  expect((await server.createSandbox({}, token)).created.project_id).toBe(project);
});

test("an agent is the request's, else the project's, else the installation's", async () => {
  await using server = await startTestServer({ config: { sandboxRuntime: "openhands" } });
  const make = async (body: object) =>
    (await server.call("POST", "/sandboxes", { body: { provider: "external", ...body } })).body.runtime;
  const settings = { runtime: "scripted" };
  const project = (await server.call("POST", "/projects", { body: { name: "its own", settings } })).body;
  expect(await make({})).toBe("openhands");
  expect(await make({ project_id: project.id })).toBe("scripted");
  expect(await make({ project_id: project.id, runtime: "claude" })).toBe("claude");
});
