import { api, type Endpoint } from "@drover/contract";
import { describe, expect } from "vitest";
import { startTestServer, test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { takeSnapshot } from "../../../testkit/src/snapshot.ts";

interface Creating {
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>>;
  /** Another body that is just as valid. */
  readonly other?: Readonly<Record<string, unknown>>;
}

type ToRequest = (sandbox: TestSandbox, unique: string, server: TestServer) => Creating | Promise<Creating>;

async function createTicket(server: TestServer, unique: string): Promise<string> {
  return (await server.call("POST", "/tickets", { body: { title: unique, force_create: true } })).body.id;
}

async function createTasks(server: TestServer, unique: string): Promise<readonly string[]> {
  const ticket_id = await createTicket(server, unique);
  const one = await server.call("POST", "/tasks", { body: { ticket_id, title: "one" } });
  const two = await server.call("POST", "/tasks", { body: { ticket_id, title: "two" } });
  return [one.body.id, two.body.id];
}

async function createHook(server: TestServer, description: string): Promise<string> {
  const body = { url: "https://receiver.example/hook", description, is_enabled: false };
  return (await server.call("POST", "/webhooks", { body })).body.id;
}

/** A request per endpoint that creates something. `unique` keeps names apart. */
const REQUESTS: Readonly<Record<string, ToRequest>> = {
  createWsTicket: () => ({ path: "/auth/ws-ticket" }),
  createToken: (_, unique) => ({
    path: "/tokens",
    body: { name: unique, role: "viewer" },
    other: { name: unique, role: "admin" },
  }),
  createProject: (_, unique) => ({ path: "/projects", body: { name: unique }, other: { name: `${unique} too` } }),
  createSandbox: () => ({
    path: "/sandboxes",
    body: { provider: "external" },
    other: { provider: "external", prompt: "else" },
  }),
  forkSandbox: ({ id }) => ({
    path: `/sandboxes/${id}/fork`,
    body: { fresh: true },
    other: { fresh: true, prompt: "else" },
  }),
  createWebhook: (_, unique) => ({
    path: "/webhooks",
    body: { url: "https://receiver.example/hook", description: unique, is_enabled: false },
    other: { url: "https://receiver.example/other", description: unique, is_enabled: false },
  }),
  pingWebhook: async (_, unique, server) => ({ path: `/webhooks/${await createHook(server, unique)}/ping` }),
  rotateWebhook: async (_, unique, server) => ({
    path: `/webhooks/${await createHook(server, unique)}/rotate-secret`,
  }),
  createBudget: ({ id }) => ({
    path: "/budgets",
    body: { scope_type: "sandbox", scope_id: id, limit_amount: 1 },
    other: { scope_type: "sandbox", scope_id: id, limit_amount: 2 },
  }),
  createCostBudget: ({ id }) => ({
    path: "/costs/budgets",
    body: { scope_type: "sandbox", scope_id: id, limit_amount: 1 },
    other: { scope_type: "sandbox", scope_id: id, limit_amount: 2 },
  }),
  registerAgent: (_, unique) => ({
    path: "/agents/register",
    body: { agent_name: unique },
    other: { agent_name: `${unique} too` },
  }),
  splitTask: async (_, unique, server) => {
    const [one] = await createTasks(server, unique);
    const body = { tasks: [{ title: "a half" }] };
    return { path: `/tasks/${one}/split`, body, other: { tasks: [{ title: "another half" }] } };
  },
  createSync: async (_, unique, server) => {
    const task_ids = await createTasks(server, unique);
    return { path: "/syncs", body: { task_ids }, other: { task_ids, required_count: 1 } };
  },
  spawnPhaseTasks: async (_, unique, server) => ({
    path: `/tickets/${await createTicket(server, unique)}/spawn-phase-tasks`,
    body: { phase_id: "PHASE_TESTING" },
    other: { phase_id: "PHASE_DEPLOYMENT" },
  }),
  createAlertRule: (_, unique) => ({
    path: "/monitor/alert-rules",
    body: { name: unique, metric: "tokens", comparison: "above", threshold: 1e9 },
    other: { name: unique, metric: "tokens", comparison: "above", threshold: 2e9 },
  }),
  createTicket: (_, unique) => ({
    path: "/tickets",
    body: { title: unique, force_create: true },
    other: { title: unique, force_create: true, priority: "LOW" },
  }),
  addTicketComment: async (_, unique, server) => ({
    path: `/tickets/${await createTicket(server, unique)}/comments`,
    body: { comment_text: unique },
    other: { comment_text: `${unique} too` },
  }),
  broadcastMessage: () => ({
    path: "/collaboration/broadcast",
    body: { content: "to all" },
    other: { content: "to all others" },
  }),
  createTask: async (_, unique, server) => {
    const ticket_id = await createTicket(server, unique);
    return { path: "/tasks", body: { ticket_id, title: unique }, other: { ticket_id, title: "else" } };
  },
  createJoin: async (_, unique, server) => {
    const [one, two] = await createTasks(server, unique);
    const body = { source_task_ids: [one], continuation_task_id: two };
    return { path: "/joins", body, other: { ...body, merge_strategy: "union" } };
  },
  createShare: ({ id }) => ({
    path: `/sandboxes/${id}/shares`,
    body: { expires_in_s: 60 },
    other: { expires_in_s: 61 },
  }),
  replaceWorker: ({ id }) => ({ path: `/sandboxes/${id}/worker-token` }),
  sendMessage: ({ id }) => ({ path: `/sandboxes/${id}/messages`, body: { content: "a" }, other: { content: "b" } }),
};

/** They need more than a sandbox of provider `external`, and are held to it beside what they are about. */
const NOT_HERE = [
  "triggerDiagnostic",
  "startDemo",
  "answerPermission",
  "startBranch",
  "finishBranch",
  "createPull",
  "reportComment",
  "reportDiscovery",
];

test("every endpoint that creates something is held to this", () => {
  const creating = Object.entries(api as Record<string, Endpoint>)
    .filter(([, endpoint]) => endpoint.creates === true)
    .map(([name]) => name);
  expect([...Object.keys(REQUESTS), ...NOT_HERE].toSorted()).toEqual(creating.toSorted());
});

describe.for(Object.entries(REQUESTS))("%s", ([name, toRequest]) => {
  test("repeated with its key it creates nothing more and answers the same", async ({ server, sandbox }) => {
    const { path, body, other } = await toRequest(sandbox, `${name} again`, server);
    const headers = { "idempotency-key": `key of ${name}` };
    const first = await server.call("POST", path, { body, headers });
    expect(first.status).toBeLessThan(300);
    const before = await takeSnapshot(server);
    const again = await server.call("POST", path, { body, headers });
    expect([again.status, again.body]).toEqual([first.status, first.body]);
    if (other !== undefined) {
      const reused = await server.call("POST", path, { body: other, headers });
      expect([reused.status, reused.body.type]).toEqual([422, "urn:drover:error:request.key_reused"]);
    }
    expect(await takeSnapshot(server)).toEqual(before);
  });

  test("ten at once with one key are one", async ({ server, sandbox }) => {
    const { path, body } = await toRequest(sandbox, `${name} at once`, server);
    const headers = { "idempotency-key": `ten of ${name}` };
    const answers = await Promise.all(Array.from({ length: 10 }, () => server.call("POST", path, { body, headers })));
    expect(new Set(answers.map((answer) => `${answer.status} ${answer.text}`)).size).toBe(1);
    expect(answers[0]?.status).toBeLessThan(300);
  });

  test("the same key of another person is another key", async ({ server, sandbox }) => {
    const headers = { "idempotency-key": `shared key of ${name}` };
    const { token } = await server.createToken("admin");
    const mine = await toRequest(sandbox, `${name} mine`, server);
    const theirs = await toRequest(sandbox, `${name} theirs`, server);
    const first = await server.call("POST", mine.path, { body: mine.body, headers });
    const second = await server.call("POST", theirs.path, { body: theirs.body, headers, token });
    expect(second.status).toBe(first.status);
    expect(second.body).not.toEqual(first.body);
  });
});

test("a refused request does not use its key up", async ({ server }) => {
  const headers = { "idempotency-key": "used later" };
  expect((await server.call("POST", "/tokens", { body: { name: "", role: "viewer" }, headers })).status).toBe(422);
  expect((await server.call("POST", "/tokens", { body: { name: "a", role: "viewer" }, headers })).status).toBe(201);
});

test("a replica with another key says so, and creates nothing a second time", async () => {
  await using database = await createDatabase();
  await using one = await startTestServer({ database });
  await using two = await startTestServer({ database, config: { secretKey: "not the key of the other" } });
  const headers = { "idempotency-key": "sealed" };
  expect((await one.call("POST", "/projects", { body: { name: "sealed" }, headers })).status).toBe(201);
  const { status, body } = await two.call("POST", "/projects", { body: { name: "sealed" }, headers });
  expect([status, body.detail]).toEqual([503, expect.stringContaining("DROVER_SECRET_KEY")]);
});
