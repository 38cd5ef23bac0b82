/** What no HTTP library would send: the server answers or hangs up, and goes on. */
import { connect } from "node:net";
import { Readable } from "node:stream";
import { Problem } from "@drover/contract";
import { expect } from "vitest";
import { ADMIN_TOKEN, test, type TestServer } from "../../../testkit/src/server.ts";
import { readBytes } from "./body.ts";

/** Sends the bytes and resolves with all that comes back until the server hangs up. */
function exchange(server: TestServer, bytes: string | Uint8Array, options: { reset?: boolean } = {}): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => (answer += text));
    socket.on("error", () => undefined).once("close", () => resolve(answer));
    socket.write(bytes, () => {
      if (options.reset === true) socket.resetAndDestroy();
    });
  });
}

const isWell = async (server: TestServer) => (await server.request("GET", "/healthz")).status === 200;

const UPGRADE =
  "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

test.for(["//", "///", "http://[", "*", "/api/v1/ws/events%zz", "/api/v1/ws/nothing", "/%00"])(
  "an upgrade to %s is refused and hurts nobody",
  async (target, { server }) => {
    const answer = await exchange(server, `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1\r\n${UPGRADE}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(await isWell(server)).toBe(true);
  },
);

test("an upgrade to nothing is refused as any request is", async ({ server }) => {
  const asked = `GET /api/v1/ws/nothing HTTP/1.1\r\nhost: 127.0.0.1\r\nx-request-id: mine-1\r\n${UPGRADE}\r\n`;
  const answer = await exchange(server, asked);
  const problem = Problem.parse(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)));
  expect(problem).toMatchObject({ status: 404, request_id: "mine-1" });
  expect(answer).toMatch(/x-request-id: mine-1\r\n/);
});

test.for(["h2c", "TLS/1.2", "h2c, websocket"])(
  "who offers to speak %s is answered as it asked",
  async (offer, { server }) => {
    const head = `host: 127.0.0.1\r\nconnection: upgrade, http2-settings, close\r\nupgrade: ${offer}\r\nhttp2-settings: AAMAAABk\r\n`;
    expect(await exchange(server, `GET /healthz HTTP/1.1\r\n${head}\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    const body = `{"token":"${ADMIN_TOKEN}"}`;
    const login = `POST /api/v1/auth/login HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`;
    expect(await exchange(server, login)).toMatch(/^HTTP\/1\.1 200 /);
  },
);

test("a client that resets its upgrade hurts nobody", async ({ server }) => {
  for (const path of ["/nothing", "/api/v1/ws/events"]) {
    for (let n = 0; n < 20; n += 1) {
      await exchange(server, `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${UPGRADE}\r\n`, { reset: true });
    }
  }
  expect(await isWell(server)).toBe(true);
});

const BROKEN: readonly [string, string | Uint8Array, number][] = [
  ["noise", Buffer.from([0x16, 0x03, 0x01, 0x00, 0xff]), 400],
  ["a method that is none", "BREW /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 400],
  ["a NUL byte in the path", "GET /health\0z HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", 400],
  ["no host", "GET /api/v1/events HTTP/1.1\r\nconnection: close\r\n\r\n", 403],
  ["headers without end", `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${"y".repeat(100_000)}\r\n\r\n`, 431],
  [
    "two lengths",
    "POST /api/v1/auth/login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    400,
  ],
  [
    "a length and chunks",
    "POST /api/v1/auth/login HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
    400,
  ],
];
test.for(BROKEN)("%s is answered with a problem document", async ([, bytes, status], { server }) => {
  const answer = await exchange(server, bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(answer).toMatch(/content-type: application\/problem\+json/i);
  const problem = Problem.parse(JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)));
  expect(problem.status).toBe(status);
  expect(answer.toLowerCase()).toContain(`x-request-id: ${problem.request_id}`);
  expect(await isWell(server)).toBe(true);
});

test("a connection that was answered before is told why its next request is refused", async ({ server }) => {
  const long = `GET /healthz?${"y".repeat(100_000)} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname).setEncoding("latin1");
  const answers = await new Promise<string>((resolve) => {
    let text = "";
    socket.on("data", (part: string) => {
      const isFirst = text === "";
      text += part;
      if (isFirst) socket.write(long);
    });
    socket.on("error", () => undefined).once("close", () => resolve(text));
    socket.write("GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  });
  expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 431"]);
});

test.for(["/../x", "/assets/../../x", "/api/v1/sandboxes//restore/x", "/api/v1/../x", "/%2e%2e%2fx"])(
  "a path that leads out of its folder leads nowhere: %s",
  async (path, { server }) => {
    const head = `host: 127.0.0.1\r\nauthorization: Bearer ${ADMIN_TOKEN}\r\nconnection: close\r\n\r\n`;
    const answer = await exchange(server, `GET ${path}.txt HTTP/1.1\r\n${head}`);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  },
);

test("an empty Host is not served", async ({ server }) => {
  const answer = await exchange(server, "GET /api/v1/sandboxes/health HTTP/1.1\r\nhost:\r\nconnection: close\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 403 /);
});

test("a body that never comes to its end stores nothing", async ({ server, sandbox }) => {
  const before = (await server.call("GET", `/sandboxes/${sandbox.id}`)).body.event_count;
  const head = `POST /api/v1/sandboxes/${sandbox.id}/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${sandbox.token}\r\n`;
  await exchange(server, `${head}content-type: application/json\r\ncontent-length: 5000\r\n\r\n{"event_type":"a"}`, {
    reset: true,
  });
  expect(await isWell(server)).toBe(true);
  expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body.event_count).toBe(before);
});

test("a body that breaks off is the caller's doing, not a failure of the server", async () => {
  const body = new Readable({ read: () => void body.destroy(new Error("aborted")) });
  await expect(readBytes(body)).rejects.toMatchObject({ code: "request.malformed" });
});
