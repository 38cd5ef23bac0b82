/** The proxy of a sandbox, spoken to over its socket, with servers on loopback that a rule allows. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttp } from "node:http";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SandboxId } from "@drover/contract";
import { toEgressRule, type EgressPolicy } from "@drover/core";
import { expect, onTestFinished, test } from "vitest";
import { toJudge } from "../app/govern-egress.ts";
import { openEgressProxy } from "./egress-proxy.ts";

const ID = "drover-00000000-000000" as SandboxId;

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

interface Opened {
  readonly notes: readonly string[];
  readonly resolved: readonly string[];
  /** Sends bytes and gives everything that comes back until the end. */
  say(bytes: string | Buffer): Promise<string>;
  close(): Promise<void>;
}

async function openProxy(
  rules: readonly string[],
  answers: Readonly<Record<string, readonly string[]>>,
): Promise<Opened> {
  const folder = await mkdtemp(join(tmpdir(), "drover-egress-"));
  const policy: EgressPolicy = {
    network: "allowlist",
    rules: rules.flatMap((text) => toEgressRule(text, [443, 80], true) ?? []),
    openPorts: [443, 80],
    own: { addresses: [], port: 18_000 },
  };
  const [notes, resolved]: [string[], string[]] = [[], []];
  const proxy = openEgressProxy({
    resolve: async (host) => {
      resolved.push(host);
      return answers[host] ?? [];
    },
  });
  const judge = toJudge(
    async () => policy,
    (authority, outcome, reason) => notes.push(`${authority} ${outcome} ${reason}`),
  );
  await proxy.open(ID, folder, judge);
  onTestFinished(async () => {
    await proxy.closeAll();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    notes,
    resolved,
    say: async (bytes) => {
      const socket = connect(join(folder, "egress.sock"));
      socket.write(bytes);
      const chunks: Buffer[] = [];
      for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
      return Buffer.concat(chunks).toString("latin1");
    },
    close: () => proxy.close(ID),
  };
}

test("CONNECT gives a tunnel in both directions, with what was sent along", async () => {
  const port = await listen(
    createServer((socket) => socket.once("data", (data) => socket.end(`heard ${data.toString()}`))),
  );
  const proxy = await openProxy([`echo.test:${port}`], { "echo.test": ["127.0.0.1"] });
  const answer = await proxy.say(`CONNECT echo.test:${port} HTTP/1.1\r\nHost: x\r\n\r\nhello`);
  expect(answer).toBe("HTTP/1.1 200 Connection Established\r\n\r\nheard hello");
  expect(proxy.notes).toEqual([`echo.test:${port} allowed null`]);
});

test("absolute form forwards method, path, body and answer, and drops what is between neighbours", async () => {
  const seen: { url?: string | undefined; headers?: unknown; body?: string } = {};
  const port = await listen(
    createHttp((request, response) => {
      Object.assign(seen, { url: request.url, headers: request.headers, body: "" });
      request.on("data", (chunk) => (seen.body += String(chunk)));
      request.on("end", () => response.writeHead(201, { "x-kept": "yes" }).end("made"));
    }),
  );
  const proxy = await openProxy([`web.test:${port}`], { "web.test": ["127.0.0.1"] });
  const answer = await proxy.say(
    `POST http://web.test:${port}/a/b?c=d HTTP/1.1\r\nHost: elsewhere.test\r\nProxy-Authorization: Basic x\r\nConnection: x-hop\r\nX-Hop: 1\r\nX-Kept: 1\r\nContent-Length: 4\r\n\r\nbody`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(answer).toMatch(/x-kept: yes/);
  expect(answer).toMatch(/made/);
  expect(seen).toMatchObject({ url: "/a/b?c=d", body: "body", headers: { host: `web.test:${port}`, "x-kept": "1" } });
  expect(seen.headers).not.toHaveProperty("x-hop");
  expect(seen.headers).not.toHaveProperty("proxy-authorization");
});

test("a name that is refused is not even looked up", async () => {
  const proxy = await openProxy(["echo.test"], {});
  expect(await proxy.say("CONNECT evil.test:443 HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 403 [^]*not_on_the_list/);
  expect(proxy.resolved).toEqual([]);
  expect(proxy.notes).toEqual(["evil.test:443 refused not_on_the_list"]);
});

test("a name is looked up once, and one bad address in the answer refuses it", async () => {
  const proxy = await openProxy(["mixed.test"], { "mixed.test": ["93.184.216.34", "169.254.169.254"] });
  expect(await proxy.say("CONNECT mixed.test:443 HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 403 [^]*metadata_address/);
  expect(proxy.resolved).toEqual(["mixed.test"]);
});

test("a name without an address and a host that does not answer are told apart from a refusal", async () => {
  const closed = createServer();
  const port = await listen(closed);
  closed.close();
  const proxy = await openProxy([`gone.test:${port}`, "nowhere.test"], { "gone.test": ["127.0.0.1"] });
  expect(await proxy.say(`CONNECT gone.test:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1\.1 502 [^]*no_answer/);
  expect(await proxy.say("CONNECT nowhere.test:443 HTTP/1.1\r\n\r\n")).toMatch(/^HTTP\/1\.1 502 [^]*name_not_found/);
});

test.for([
  ["a path without a host", "GET / HTTP/1.1\r\nHost: echo.test\r\nConnection: close\r\n\r\n", 400],
  ["https in absolute form", "GET https://echo.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400],
  ["somebody's name in the address", "GET http://a@echo.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 400],
  ["a tunnel without a port", "CONNECT echo.test HTTP/1.1\r\n\r\n", 403],
] as const)("%s is refused", async ([, text, status]) => {
  const proxy = await openProxy(["echo.test"], { "echo.test": ["93.184.216.34"] });
  expect(await proxy.say(text)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(proxy.resolved).toEqual([]);
});

test("two lengths, both framings, a line break in a header and an endless header are no requests", async () => {
  let requests = 0;
  const port = await listen(createHttp((_, response) => void response.end(String((requests += 1)))));
  const proxy = await openProxy([`web.test:${port}`], { "web.test": ["127.0.0.1"] });
  const line = `POST http://web.test:${port}/ HTTP/1.1\r\nHost: x\r\n`;
  const hidden = `GET http://web.test:${port}/hidden HTTP/1.1\r\n\r\n`;
  for (const text of [
    `${line}Content-Length: 4\r\nContent-Length: 40\r\n\r\nbody${hidden}`,
    `${line}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    `${line}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    `${line}X: a\nY: b\r\n\r\n`,
    `${line}X : a\r\n\r\n`,
    `${line}X: ${"a".repeat(64 * 1024)}\r\n\r\n`,
  ]) {
    // Expected: the connection is reset while the rest is still on its way.
    expect(await proxy.say(text).catch(() => "reset")).not.toMatch(/200 OK/);
  }
  expect(requests).toBe(0);
});

test("closing ends every tunnel", async () => {
  const arrived = Promise.withResolvers<void>();
  const port = await listen(
    createServer((socket) => void socket.on("error", () => undefined).once("data", () => arrived.resolve())),
  );
  const proxy = await openProxy([`echo.test:${port}`], { "echo.test": ["127.0.0.1"] });
  const said = proxy.say(`CONNECT echo.test:${port} HTTP/1.1\r\n\r\nhello`);
  await arrived.promise;
  await proxy.close();
  await expect(said).resolves.toContain("200");
});
