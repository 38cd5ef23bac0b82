import type { InboxMessage, MessageRecord } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

const send = (server: TestServer, { id }: TestSandbox, body: object) =>
  server.call("POST", `/sandboxes/${id}/messages`, { body });
const receive = async (server: TestServer, { id, token }: TestSandbox, query = ""): Promise<readonly InboxMessage[]> =>
  (await server.call("GET", `/sandboxes/${id}/messages${query}`, { token })).body;
const ack = (server: TestServer, { id, token }: TestSandbox, messageId: string, body: object) =>
  server.call("POST", `/sandboxes/${id}/messages/${messageId}/ack`, { token, body });
const history = async (server: TestServer, { id }: TestSandbox, query = ""): Promise<readonly MessageRecord[]> =>
  (await server.call("GET", `/sandboxes/${id}/messages/history${query}`)).body.items;
/** Tests move the lease, not the clock. */
const expireLeases = (server: TestServer, { id }: TestSandbox) =>
  server.db.query(
    sql`update messages set leased_until = now() - interval '1 second' where sandbox_id = ${id} and state = 'leased'`,
  );
const contents = (messages: readonly { content: string }[]) => messages.map((message) => message.content);

test("a message is queued, told to subscribers with its first 100 characters, and counted", async ({
  server,
  sandbox,
}) => {
  const content = "😀".repeat(150);
  const first = await send(server, sandbox, { content });
  expect([first.status, first.body]).toEqual([
    200,
    { status: "queued", message_id: expect.stringMatching(/^msg-/), sandbox_id: sandbox.id, queue_size: 1 },
  ]);
  expect((await send(server, sandbox, { content: "second", message_type: "interrupt" })).body.queue_size).toBe(2);
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=MESSAGE_QUEUED&order=asc`);
  expect(body.events).toMatchObject([
    {
      source: "user",
      event_data: {
        message_id: first.body.message_id,
        content: "😀".repeat(100),
        message_type: "user_message",
        priority: "normal",
      },
    },
    { event_data: { content: "second", message_type: "interrupt", priority: "high" } },
  ]);
});

test("10,000 characters are allowed, counted as people count them", async ({ server, sandbox }) => {
  for (const content of ["x".repeat(10_000), "😀".repeat(10_000)]) {
    expect((await send(server, sandbox, { content })).status).toBe(200);
    expect((await receive(server, sandbox))[0]?.content).toBe(content);
  }
});

test("aliases are stored as their meaning", async ({ server, sandbox }) => {
  const meanings = {
    guidance: "user_message",
    guardian_intervention: "guardian_nudge",
    diagnostic_recovery: "system",
    system: "system",
  };
  for (const message_type of Object.keys(meanings))
    await send(server, sandbox, { content: message_type, message_type });
  const found = await receive(server, sandbox);
  expect(Object.fromEntries(found.map((message) => [message.content, message.message_type]))).toEqual(meanings);
});

test("interrupts come first, then the oldest", async ({ server, sandbox }) => {
  for (const [content, message_type] of [
    ["a", "user_message"],
    ["b", "interrupt"],
    ["c", "system"],
    ["d", "interrupt"],
  ] as const) {
    await send(server, sandbox, { content, message_type });
  }
  expect(contents(await receive(server, sandbox, "?lease=30"))).toEqual(["b", "d", "a", "c"]);
});

test("without a lease each message is read once and counts as delivered", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "a" });
  const [message] = await receive(server, sandbox);
  expect(message).toEqual({
    id: expect.any(String),
    content: "a",
    message_type: "user_message",
    timestamp: expect.stringMatching(/Z$/),
    delivery: "steer",
    sender_id: expect.stringMatching(/^tok-/),
  });
  expect(await receive(server, sandbox)).toEqual([]);
  expect(await history(server, sandbox)).toMatchObject([{ state: "delivered", delivered_at: expect.any(String) }]);
});

test("two readers at once share the messages out", async ({ server, sandbox }) => {
  for (let n = 0; n < 30; n += 1) await send(server, sandbox, { content: String(n) });
  const taken = await Promise.all([1, 2, 3, 4].map(() => receive(server, sandbox, "?lease=30")));
  expect(
    taken
      .flat()
      .map((message) => Number(message.content))
      .toSorted((a, b) => a - b),
  ).toEqual(Array.from({ length: 30 }, (_, n) => n));
});

test("a leased message comes back unless it is acknowledged in time", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "kept" });
  await send(server, sandbox, { content: "lost" });
  const [kept, lost] = await receive(server, sandbox, "?lease=300");
  expect(await receive(server, sandbox, "?lease=300")).toEqual([]);
  expect((await ack(server, sandbox, kept!.id, { status: "delivered" })).body).toEqual({
    message_id: kept!.id,
    state: "delivered",
  });
  await expireLeases(server, sandbox);
  expect((await history(server, sandbox)).map((message) => message.state)).toEqual(["delivered", "queued"]);
  expect((await receive(server, sandbox, "?lease=300")).map((message) => message.id)).toEqual([lost!.id]);
});

test("a late acknowledgement still counts", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "a" });
  const [message] = await receive(server, sandbox, "?lease=1");
  await expireLeases(server, sandbox);
  expect(
    (await ack(server, sandbox, message!.id, { status: "seen", turn: 7, detail: "in the request" })).body.state,
  ).toBe("seen");
  expect(await receive(server, sandbox, "?lease=1")).toEqual([]);
  expect(await history(server, sandbox)).toMatchObject([
    {
      state: "seen",
      turn: 7,
      detail: "in the request",
      seen_at: expect.any(String),
      delivered_at: expect.any(String),
      ended_at: expect.any(String),
    },
  ]);
});

test("an acknowledgement is an event, once", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "a" });
  const [message] = await receive(server, sandbox, "?lease=30");
  for (const status of ["delivered", "delivered", "seen", "seen", "delivered"]) {
    expect((await ack(server, sandbox, message!.id, { status })).status).toBe(200);
  }
  const { body } = await server.call(
    "GET",
    `/sandboxes/${sandbox.id}/events?event_type=MESSAGE_STATE_CHANGED&order=asc`,
  );
  expect(body.events.map((event: { event_data: { state: string } }) => event.event_data.state)).toEqual([
    "delivered",
    "seen",
  ]);
});

test("a foreign message does not exist", async ({ server, sandbox }) => {
  const other = await server.createSandbox();
  const { body } = await send(server, other, { content: "a" });
  expect((await ack(server, sandbox, body.message_id, { status: "seen" })).status).toBe(404);
  expect((await history(server, other))[0]?.state).toBe("queued");
});

test("a long poll is answered the moment a message comes, and ends when its time is over", async ({
  server,
  sandbox,
}) => {
  const startedAt = performance.now();
  const polled = receive(server, sandbox, "?lease=30&wait=30");
  // Something else of the sandbox's log must not end the wait.
  await sandbox.post({ event_type: "agent.message" });
  await send(server, sandbox, { content: "now" });
  expect(contents(await polled)).toEqual(["now"]);
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(await receive(server, sandbox, "?lease=30&wait=0.2")).toEqual([]);
  expect(await receive(server, sandbox, "?lease=30&wait=0")).toEqual([]);
});

test("a long poll gets a message whose lease runs out", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "again" });
  await receive(server, sandbox, "?lease=300");
  const polled = receive(server, sandbox, "?lease=300&wait=20");
  await expireLeases(server, sandbox);
  expect(contents(await polled)).toEqual(["again"]);
});

test("a caller that hangs up takes nothing along", async ({ server, sandbox }) => {
  const hangUp = new AbortController();
  const polled = server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=300&wait=30`, {
    token: sandbox.token,
    signal: hangUp.signal,
  });
  await sandbox.post({ event_type: "agent.message" });
  hangUp.abort();
  await expect(polled).rejects.toThrow();
  // The next request on a fresh connection is answered after the server has seen the other one end.
  await expect.poll(async () => (await server.request("GET", "/healthz")).status).toBe(200);
  await send(server, sandbox, { content: "still there" });
  await expect.poll(async () => contents(await receive(server, sandbox, "?lease=30"))).toEqual(["still there"]);
});

test("a HEAD request takes nothing", async ({ server, sandbox }) => {
  await send(server, sandbox, { content: "a" });
  const { status } = await server.call("HEAD", `/sandboxes/${sandbox.id}/messages`, { token: sandbox.token });
  expect(status).toBe(404);
  expect(contents(await receive(server, sandbox))).toEqual(["a"]);
});

test("the history shows everything by pages and takes nothing", async ({ server, sandbox }) => {
  for (const content of ["a", "b", "c", "d", "e"]) await send(server, sandbox, { content });
  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const query: string = `?limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/messages/history${query}`);
    seen.push(...contents(body.items));
    cursor = body.next_cursor;
  }
  expect(seen).toEqual(["a", "b", "c", "d", "e"]);
  expect(await receive(server, sandbox)).toHaveLength(5);
});

test("a new generation gets again what no model has seen", async ({ server, sandbox }) => {
  for (const content of ["seen", "delivered", "leased", "failed", "queued"]) await send(server, sandbox, { content });
  const taken = await receive(server, sandbox, "?lease=300");
  const idOf = (content: string) => taken.find((message) => message.content === content)!.id;
  for (const status of ["seen", "delivered", "failed"]) await ack(server, sandbox, idOf(status), { status });
  const { body } = await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`);
  const next = { ...sandbox, token: body.worker_token as string };
  expect(contents(await receive(server, next, "?lease=300"))).toEqual(["delivered", "leased", "queued"]);
  expect(
    (await server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=30`, { token: sandbox.token })).status,
  ).toBe(409);
  expect((await ack(server, sandbox, idOf("leased"), { status: "seen" })).status).toBe(409);
});

test("a poll that waits is told when its worker is replaced or its sandbox ends", async ({ server, sandbox }) => {
  const poll = (token: string) => server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=30&wait=30`, { token });
  const replaced = poll(sandbox.token);
  await sandbox.post({ event_type: "agent.message" });
  const { body } = await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`);
  expect((await replaced).status).toBe(409);
  const ended = poll(body.worker_token);
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  expect((await ended).status).toBe(401);
});

test("a sandbox that has ended takes no messages, and those that waited expire", async ({ server }) => {
  const terminated = await server.createSandbox();
  await send(server, terminated, { content: "too late" });
  await server.call("DELETE", `/sandboxes/${terminated.id}`);
  expect((await send(server, terminated, { content: "x" })).status).toBe(409);
  expect(await history(server, terminated)).toMatchObject([{ state: "expired", ended_at: expect.any(String) }]);

  const failed = await server.createSandbox();
  await send(server, failed, { content: "too late" });
  await failed.post({ event_type: "agent.failed" });
  expect((await send(server, failed, { content: "x" })).status).toBe(409);
  expect(await history(server, failed)).toMatchObject([{ state: "expired" }]);
});

test("a completed sandbox still takes messages", async ({ server, sandbox }) => {
  await sandbox.post({ event_type: "agent.completed" });
  expect((await send(server, sandbox, { content: "one more thing" })).status).toBe(200);
});
