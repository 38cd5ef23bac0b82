/** Two servers on one database, with hints over a real Redis that comes and goes. */
import type { EventFrame } from "@drover/contract";
import { Redis } from "ioredis";
import { expect } from "vitest";
import { isEvent, isSync, type LiveStream } from "../../../testkit/src/live-stream.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startRedis, type TestRedis } from "../../../testkit/src/redis.ts";
import { startTestServer, test as base, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

interface Pair {
  readonly redis: TestRedis;
  readonly servers: readonly [TestServer, TestServer];
}

const isReady = async (server: TestServer) => (await server.request("GET", "/readyz")).status === 200;

const test = base.extend<{ $file: { pair: Pair } }>({
  pair: [
    async ({}, use) => {
      await using redis = await startRedis();
      await using database = await createDatabase();
      const config = { redisUrl: redis.url, secretKey: "the key that both replicas have" };
      await using one = await startTestServer({ database, config });
      await using two = await startTestServer({ database, config });
      for (const server of [one, two]) {
        await server.running.ready;
        expect(await isReady(server)).toBe(true);
      }
      await use({ redis, servers: [one, two] });
    },
    { scope: "file" },
  ],
});

const post = (sandbox: TestSandbox, n: number) => sandbox.post({ event_type: "agent.message", event_data: { n } });
const hears = (stream: LiveStream, count: number) => stream.until((frames) => frames.filter(isEvent).length >= count);
const numbers = (stream: LiveStream) => stream.events().map((frame: EventFrame) => frame.payload["n"]);

/** The same sandbox, posting through the other replica. */
const through = (server: TestServer, sandbox: TestSandbox): TestSandbox => ({
  ...sandbox,
  post: (body) => server.call("POST", `/sandboxes/${sandbox.id}/events`, { token: sandbox.token, body }),
});

test("each sees the other's events, all in one order, once", async ({ pair: { servers } }) => {
  const [one, two] = servers;
  const here = await one.createSandbox();
  const there = through(two, await one.createSandbox());
  const start = one.deps.tail.head();
  const streams = await Promise.all(servers.map((server) => server.openStream({ query: { after_seq: start } })));
  for (const stream of streams) await stream.next(isSync);
  await Promise.all(
    [here, there].map(async (sandbox) => {
      for (let n = 0; n < 40; n += 1) await post(sandbox, n);
    }),
  );
  const all = await one.db.query(sql`select seq from events where seq > ${start} order by seq limit 10000`);
  for (const stream of streams) {
    await hears(stream, all.length);
    expect(stream.events().map((frame) => frame.seq)).toEqual(all.map((row) => row["seq"]));
  }
}, 120_000);

test("other programs hear the same frames on Redis, each on the channel of its type", async ({
  pair: { redis, servers },
}) => {
  const subscriber = new Redis(redis.url).on("error", () => undefined);
  const heard: [string, string][] = [];
  subscriber.on("pmessage", (_pattern, channel, json) => void heard.push([channel, json]));
  await subscriber.psubscribe("events.*");
  const sandbox = await servers[0].createSandbox();
  const stream = await servers[1].openStream({
    query: { entity_ids: sandbox.id, event_types: "SANDBOX_agent.message" },
  });
  await stream.next(isSync);
  await post(sandbox, 7);
  await hears(stream, 1);
  const frame = stream.events()[0]!;
  await expect
    .poll(() =>
      heard.filter(([, json]) => json.includes(frame.id)).map(([channel, json]) => [channel, JSON.parse(json)]),
    )
    .toEqual([["events.SANDBOX_agent.message", frame]]);
  subscriber.disconnect();
});

test("a token revoked at one replica is out at the other, and its sockets close", async ({ pair: { servers } }) => {
  const [one, two] = servers;
  const { id, token } = await one.createToken("viewer");
  expect((await two.call("GET", "/auth/whoami", { token })).status).toBe(200);
  const stream = await two.openStream({ token });
  await stream.next(isSync);
  await one.call("DELETE", `/tokens/${id}`);
  expect((await stream.closed).code).toBe(4401);
  expect((await two.call("GET", "/auth/whoami", { token })).status).toBe(401);
});

test("a message sent through one replica ends the long poll at the other at once", async ({ pair: { servers } }) => {
  const [one, two] = servers;
  const { id, token } = await one.createSandbox();
  const polled = two.call("GET", `/sandboxes/${id}/messages?lease=30&wait=30`, { token });
  const startedAt = performance.now();
  await one.call("POST", `/sandboxes/${id}/messages`, { body: { content: "over there" } });
  expect((await polled).body).toMatchObject([{ content: "over there" }]);
  expect(performance.now() - startedAt).toBeLessThan(3_000);
});

test("a key used at one replica is known at the other", async ({ pair: { servers } }) => {
  const headers = { "idempotency-key": "on both" };
  const [first, second] = [
    await servers[0].call("POST", "/projects", { body: { name: "on both" }, headers }),
    await servers[1].call("POST", "/projects", { body: { name: "on both" }, headers }),
  ];
  expect([second.status, second.body]).toEqual([first.status, first.body]);
});

test("without Redis events still come within a second or so, in order, once; and it may come back", async ({
  pair: { redis, servers },
}) => {
  const [one, two] = servers;
  const sandbox = await one.createSandbox();
  const stream = await two.openStream({ query: { entity_ids: sandbox.id, event_types: "SANDBOX_agent.message" } });
  await stream.next(isSync);
  await post(sandbox, 0);
  await hears(stream, 1);

  await redis.kill();
  await expect.poll(() => isReady(one), { timeout: 20_000 }).toBe(false);
  const startedAt = performance.now();
  for (let n = 1; n < 20; n += 1) expect((await post(sandbox, n)).status).toBe(200);
  await hears(stream, 20);
  expect(performance.now() - startedAt).toBeLessThan(5_000);

  await redis.start();
  for (const server of servers) await expect.poll(() => isReady(server), { timeout: 20_000 }).toBe(true);
  for (let n = 20; n < 40; n += 1) await post(sandbox, n);
  await hears(stream, 40);
  expect(numbers(stream)).toEqual(Array.from({ length: 40 }, (_, n) => n));
}, 120_000);
