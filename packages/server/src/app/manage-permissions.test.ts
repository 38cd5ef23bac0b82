import type { Permission } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";

const OPTIONS = [
  { id: "y", name: "Allow", kind: "allow_once" },
  { id: "n", name: "Reject", kind: "reject_once" },
];
const request = (sandbox: TestSandbox, requestId: string, more: object = {}) =>
  sandbox.post({
    event_type: "agent.permission_requested",
    event_data: {
      turn: 2,
      request_id: requestId,
      tool: "Bash",
      tool_use_id: "t1",
      input: { command: "ls" },
      options: OPTIONS,
      ...more,
    },
  });
const list = async (server: TestServer, { id }: TestSandbox, query = ""): Promise<readonly Permission[]> =>
  (await server.call("GET", `/sandboxes/${id}/permissions${query}`)).body.items;
const answer = (server: TestServer, { id }: TestSandbox, requestId: string, body: object, headers = {}) =>
  server.call("POST", `/sandboxes/${id}/permissions/${requestId}`, { body, headers });
const receive = async (server: TestServer, { id, token }: TestSandbox) =>
  (await server.call("GET", `/sandboxes/${id}/messages?lease=30`, { token })).body;

test("a request is open until a person answers, and the answer travels as a message", async ({ server, sandbox }) => {
  await request(sandbox, "r1", { deadline_at: "2030-01-01T00:00:00.000Z" });
  expect(await list(server, sandbox, "?state=open")).toEqual([
    {
      sandbox_id: sandbox.id,
      request_id: "r1",
      kind: "tool",
      turn: 2,
      tool_use_id: "t1",
      tool: "Bash",
      input: { command: "ls" },
      options: OPTIONS,
      state: "open",
      decision: null,
      option_id: null,
      text: null,
      note: null,
      by: null,
      requested_at: expect.any(String),
      deadline_at: "2030-01-01T00:00:00.000Z",
      answered_at: null,
    },
  ]);
  const answered = await answer(server, sandbox, "r1", { decision: "allow", option_id: "y", note: "fine" });
  expect([answered.status, answered.body]).toMatchObject([
    200,
    { state: "answered", decision: "allow", option_id: "y", by: "person", note: "fine" },
  ]);
  const [message] = await receive(server, sandbox);
  expect(message.message_type).toBe("permission_answer");
  expect(JSON.parse(message.content)).toEqual({ request_id: "r1", decision: "allow", option_id: "y", note: "fine" });
  expect(await list(server, sandbox, "?state=open")).toEqual([]);
});

test("the same answer again changes nothing, another one is 409, and one for nobody is 404", async ({
  server,
  sandbox,
}) => {
  await request(sandbox, "r1");
  for (let times = 0; times < 2; times += 1)
    expect((await answer(server, sandbox, "r1", { decision: "deny" })).status).toBe(200);
  const other = await answer(server, sandbox, "r1", { decision: "allow" });
  expect([other.status, other.body.type]).toEqual([409, expect.stringContaining("permission.answered")]);
  expect((await answer(server, sandbox, "r2", { decision: "allow" })).status).toBe(404);
  expect(await receive(server, sandbox)).toHaveLength(1);
});

test("an Idempotency-Key answers once", async ({ server, sandbox }) => {
  await request(sandbox, "r1");
  const key = { "idempotency-key": "once" };
  const first = await answer(server, sandbox, "r1", { decision: "allow", note: "a" }, key);
  expect((await answer(server, sandbox, "r1", { decision: "allow", note: "a" }, key)).body).toEqual(first.body);
  expect(await receive(server, sandbox)).toHaveLength(1);
});

test("an option that the request does not have, or that contradicts the decision, is 422", async ({
  server,
  sandbox,
}) => {
  await request(sandbox, "r1");
  for (const body of [
    { decision: "allow", option_id: "z" },
    { decision: "allow", option_id: "n" },
    { decision: "maybe" },
  ])
    expect((await answer(server, sandbox, "r1", body)).status).toBe(422);
  expect(await list(server, sandbox, "?state=open")).toHaveLength(1);
});

test("what the worker did is what is kept, also when a person answered too late", async ({ server, sandbox }) => {
  await request(sandbox, "r1");
  await answer(server, sandbox, "r1", { decision: "allow" });
  await sandbox.post({
    event_type: "agent.permission_answered",
    event_data: { turn: 2, request_id: "r1", decision: "deny", by: "deadline" },
  });
  expect(await list(server, sandbox)).toMatchObject([{ state: "answered", decision: "deny", by: "deadline" }]);
  expect((await answer(server, sandbox, "r1", { decision: "allow" })).status).toBe(409);
});

test("a sandbox that ends closes what is open", async ({ server, sandbox }) => {
  await request(sandbox, "r1");
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  expect(await list(server, sandbox)).toMatchObject([{ state: "closed", decision: null }]);
  expect((await answer(server, sandbox, "r1", { decision: "allow" })).status).toBe(409);
});

test("a new worker closes the requests of the old one, until it asks them again", async ({ server, sandbox }) => {
  await request(sandbox, "r1");
  const { body } = await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`);
  expect(await list(server, sandbox)).toMatchObject([{ state: "closed" }]);
  expect((await answer(server, sandbox, "r1", { decision: "allow" })).status).toBe(409);
  await server.call("POST", `/sandboxes/${sandbox.id}/events`, {
    token: body.worker_token,
    body: { event_type: "agent.permission_requested", event_data: { request_id: "r1", tool: "Bash" } },
  });
  expect((await answer(server, sandbox, "r1", { decision: "allow" })).status).toBe(200);
});

test("requests come in pages; a malformed one is only an event", async ({ server, sandbox }) => {
  for (const id of ["a", "b", "c"]) await request(sandbox, id);
  await sandbox.post({ event_type: "agent.permission_requested", event_data: { request_id: "no/slash", tool: 1 } });
  const first = await server.call("GET", `/sandboxes/${sandbox.id}/permissions?limit=2`);
  const second = await server.call("GET", `/sandboxes/${sandbox.id}/permissions?cursor=${first.body.next_cursor}`);
  expect([...first.body.items, ...second.body.items].map((one: Permission) => one.request_id)).toEqual(["a", "b", "c"]);
  expect(second.body.next_cursor).toBeNull();
});

test("people cannot write a permission answer as a message", async ({ server, sandbox }) => {
  const body = { content: "{}", message_type: "permission_answer" };
  expect((await server.call("POST", `/sandboxes/${sandbox.id}/messages`, { body })).status).toBe(422);
});

test("the worker learns the policy of its sandbox", async ({ server, sandbox }) => {
  const read = async ({ id, token }: TestSandbox) =>
    (await server.call("GET", `/sandboxes/${id}/assignment`, { token })).body.agent;
  expect(await read(sandbox)).toEqual({});
  const permission_policy = { decision: "deny" as const, deadline_s: 5, rules: [] };
  expect(await read(await server.createSandbox({ permission_policy }))).toEqual({ permission_policy });
});
