import { request, type ClientRequest, type IncomingMessage } from "node:http";
import type { EventFrame } from "@drover/contract";
import { expect } from "vitest";
import { sql } from "../store/sql.ts";
import { ADMIN_TOKEN, test as base, type TestServer } from "../../../testkit/src/server.ts";

interface Heard {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Messages so far: `id`, `event` and `data` of each. */
  readonly messages: readonly Readonly<Record<string, string>>[];
  until(isTrue: (messages: Heard["messages"]) => boolean): Promise<void>;
  readonly ended: Promise<void>;
}

function listen(
  server: TestServer,
  path: string,
  headers: Record<string, string>,
  opened: ClientRequest[],
): Promise<Heard> {
  const asked = request(`${server.url}/api/v1${path}`, {
    headers: headers["cookie"] === undefined ? { authorization: `Bearer ${ADMIN_TOKEN}`, ...headers } : headers,
  });
  opened.push(asked);
  asked.on("error", () => undefined).end();
  return new Promise((resolve) => {
    asked.once("response", (incoming) => {
      const messages: Record<string, string>[] = [];
      const waiters = new Set<() => void>();
      const ended = new Promise<void>((end) => incoming.once("close", end));
      let text = "";
      incoming.on("error", () => undefined);
      incoming.setEncoding("utf8").on("data", (more: string) => {
        const parts = (text + more).split("\n\n");
        text = parts.pop() ?? "";
        for (const part of parts)
          messages.push(
            Object.fromEntries(
              part.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
            ),
          );
        for (const waiter of waiters) waiter();
      });
      const until: Heard["until"] = (isTrue) =>
        new Promise((done) => {
          const look = () => isTrue(messages) && done(void waiters.delete(look));
          waiters.add(look);
          look();
        });
      resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, messages, until, ended });
    });
  });
}

type Open = (path: string, headers?: Record<string, string>) => Promise<Heard>;

const test = base.extend<{ $test: { open: Open } }>({
  open: async ({ server }: { server: TestServer }, use: (open: Open) => Promise<void>) => {
    const opened: ClientRequest[] = [];
    await use((path, headers = {}) => listen(server, path, headers, opened));
    for (const one of opened) one.destroy();
  },
});

const events = (messages: Heard["messages"]) =>
  messages
    .filter((message) => message["id"] !== undefined)
    .map((message) => JSON.parse(message["data"]!) as EventFrame);

test("the log of one sandbox is streamed with its numbers as ids, and goes on live", async ({
  server,
  sandbox,
  open,
}) => {
  const other = await server.createSandbox();
  for (const { post } of [other, sandbox])
    await post({ event_type: "agent.message", event_data: { n: 1, text: "line\nend" } });
  const heard = await open(`/sandboxes/${sandbox.id}/stream?after_seq=0`);
  expect([heard.status, heard.headers["content-type"], heard.headers["cache-control"]]).toEqual([
    200,
    "text/event-stream; charset=utf-8",
    "no-store",
  ]);
  expect(heard.headers["x-request-id"]).toBeDefined();
  await heard.until((messages) => messages.some((message) => message["event"] === "sync"));
  const { body } = await sandbox.post({ event_type: "agent.message", event_data: { n: 2 } });
  await heard.until((messages) => messages.at(-1)?.["id"] === String(body.seq));
  expect(events(heard.messages).every((event) => event.entity_id === sandbox.id)).toBe(true);
  expect(events(heard.messages).flatMap((event) => event.payload["n"] ?? [])).toEqual([1, 2]);
  expect(events(heard.messages).find((event) => event.payload["n"] === 1)?.payload["text"]).toBe("line\nend");
});

test("Last-Event-ID resumes exactly after it, and wins over after_seq", async ({ server, sandbox, open }) => {
  await sandbox.post({ events: Array.from({ length: 10 }, (_, n) => ({ event_type: "x", event_data: { n } })) });
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=x&order=asc`);
  const heard = await open(`/sandboxes/${sandbox.id}/stream?after_seq=0`, {
    "last-event-id": String(body.events[6].seq),
  });
  await heard.until((messages) => messages.some((message) => message["event"] === "sync"));
  expect(events(heard.messages).map((event) => event.payload["n"])).toEqual([7, 8, 9]);
});

test("without a number only what is new is streamed", async ({ sandbox, open }) => {
  await sandbox.post({ event_type: "x", event_data: { n: 1 } });
  const heard = await open(`/sandboxes/${sandbox.id}/stream`);
  await heard.until((messages) => messages.length > 0);
  await sandbox.post({ event_type: "x", event_data: { n: 2 } });
  await heard.until((messages) => events(messages).length > 0);
  expect(events(heard.messages)[0]?.payload["n"]).toBe(2);
});

test("a Last-Event-ID that is none is 422", async ({ server, sandbox }) => {
  for (const id of ["x", "-1", "1.5", "1e400", "9007199254740992", " 0x10"]) {
    const answer = await server.call("GET", `/sandboxes/${sandbox.id}/stream`, { headers: { "last-event-id": id } });
    expect(answer.status, id).toBe(422);
  }
});

test("a revoked credential ends its stream", async ({ server, sandbox, open }) => {
  const { id, token } = await server.createToken("viewer");
  const heard = await open(`/sandboxes/${sandbox.id}/stream`, { authorization: `Bearer ${token}` });
  await heard.until((messages) => messages.length > 0);
  await server.call("DELETE", `/tokens/${id}`);
  await heard.ended;
});

test.concurrent("a credential that runs out ends its stream", async ({ server, sandbox, open }) => {
  const expires = new Date(Date.now() + 3_600_000);
  const { body } = await server.call("POST", "/tokens", {
    body: { name: "short", role: "viewer", expires_at: expires.toISOString() },
  });
  const heard = await open(`/sandboxes/${sandbox.id}/stream`, { authorization: `Bearer ${body.token}` });
  await heard.until((messages) => messages.length > 0);
  // Without an event: only time tells.
  await server.db.query(sql`update tokens set expires_at = now() where id = ${body.id}`);
  await heard.ended;
});

test.concurrent("a browser that logs out ends its stream, and no other", async ({ server, sandbox, open }) => {
  const { token } = await server.createToken("viewer");
  const login = await server.call("POST", "/auth/login", { body: { token } });
  const cookie = String(login.headers["set-cookie"]).split(";")[0] ?? "";
  const path = `/sandboxes/${sandbox.id}/stream`;
  const [mine, other] = [await open(path, { cookie }), await open(path, { authorization: `Bearer ${token}` })];
  for (const heard of [mine, other]) await heard.until((messages) => messages.length > 0);
  await server.call("POST", "/auth/logout", { headers: { cookie, authorization: undefined } });
  await mine.ended;
  await sandbox.post({ event_type: "x" });
  await other.until((messages) => events(messages).length > 0);
});
