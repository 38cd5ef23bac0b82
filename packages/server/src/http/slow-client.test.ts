/** Clients that do not read: they slow nobody, cost little, and may come back where they were. */
import { connect, type Socket } from "node:net";
import { expect, test } from "vitest";
import { isSync } from "../../../testkit/src/live-stream.ts";
import { isPosted, numbers, post, settle } from "../../../testkit/src/posted.ts";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../../../testkit/src/server.ts";

/** A client that says hello and then reads nothing. */
function openDeaf(server: TestServer, path = "/api/v1/ws/events?after_seq=0"): Promise<Socket> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(
    `GET ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${ADMIN_TOKEN}\r\nconnection: upgrade\r\n` +
      "upgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  );
  return new Promise((resolve) => socket.once("data", () => resolve(socket.pause())));
}

test("one that takes nothing slows nobody, costs little, and is closed after the stall time", async () => {
  await using server = await startTestServer({ config: { streamStallSeconds: 1.5, eventBurst: 100_000 } });
  const sandbox = await server.createSandbox();
  const [deaf, quick] = [
    await Promise.all(Array.from({ length: 5 }, () => openDeaf(server))),
    await server.openStream(),
  ];
  await quick.next(isSync);
  const before = process.memoryUsage().rss;
  const content = "x".repeat(50_000);
  for (let n = 0; n < 25; n += 1) {
    await post(sandbox, n * 20, 20, { content });
    await quick.until(() => quick.events().filter(isPosted).length === (n + 1) * 20);
  }
  // 25 MB went to each that listens; what lies in memory for the deaf is bounded.
  expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  // Who reads again before the stall time is over stays: they are read only when the server has given them up.
  const countSockets = async () =>
    /^drover_stream_sockets (\d+)/m.exec((await server.request("GET", "/metrics", { token: ADMIN_TOKEN })).text)?.[1];
  await expect.poll(countSockets, { timeout: 30_000 }).toBe("1");
  for (const socket of deaf) {
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve()).resume();
    });
  }
  await settle(quick);
  expect(quick.socket.readyState).toBe(quick.socket.OPEN);
}, 60_000);

test("a slow client is told 1013 and may come back where it was", async () => {
  await using server = await startTestServer({ config: { streamStallSeconds: 1 } });
  const sandbox = await server.createSandbox();
  const stream = await server.openStream({ query: { after_seq: 0, entity_ids: sandbox.id } });
  await stream.next(isSync);
  stream.send({ type: "ack", seq: 0 });
  await settle(stream);
  for (let n = 0; n < 3; n += 1) await post(sandbox, n * 1_000, 1_000);
  expect((await stream.closed).code).toBe(1013);
  const again = await server.openStream({
    query: { after_seq: stream.events().at(-1)!.seq, entity_ids: sandbox.id },
  });
  await again.next(isSync);
  const all = [...stream.events(), ...again.events()].filter(isPosted);
  expect(numbers(all)).toEqual(Array.from({ length: 3_000 }, (_, n) => n));
});

test("one that asks without listening is not answered without end", async () => {
  await using server = await startTestServer();
  const deaf = await openDeaf(server);
  const ping = Buffer.from([0x81, 0x8f, 0, 0, 0, 0, ...Buffer.from('{"type":"ping"}')]);
  const flood = Buffer.concat(Array.from({ length: 20_000 }, () => ping));
  const ended = new Promise<void>((resolve) => deaf.once("close", () => resolve()));
  for (let n = 0; n < 100 && !deaf.destroyed; n += 1) {
    await Promise.race([ended, new Promise<void>((resolve) => void deaf.write(flood, () => resolve()))]);
  }
  await ended;
  expect((await server.request("GET", "/healthz")).status).toBe(200);
});
