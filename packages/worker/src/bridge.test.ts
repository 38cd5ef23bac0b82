/** The bridge hands requests on with the sandbox's credential, streams both ways, and passes nothing else.
 *  Broken on purpose, each seen here: other paths passed; a key of the agent's passed. */
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test as base } from "vitest";
import { type Bridge, openBridge } from "./bridge.ts";
import { noLog } from "./log.ts";

type Serve = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

interface Rig {
  /** A server with this behaviour, and a bridge to it. */
  open(serve: Serve, listen?: "tcp" | "unix"): Promise<Bridge>;
}

const test = base.extend<{ rig: Rig }>({
  rig: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "bridge-"));
    const ends: (() => Promise<unknown>)[] = [];
    await use({
      open: async (serve, listen = "tcp") => {
        const server: Server = createServer((incoming, response) => void serve(incoming, response));
        const socket = join(folder, "api.sock");
        if (listen === "tcp") server.listen(0, "127.0.0.1");
        else server.listen(socket);
        await once(server, "listening");
        const callbackUrl =
          listen === "tcp" ? `http://127.0.0.1:${(server.address() as AddressInfo).port}` : `unix://${socket}`;
        const bridge = await openBridge({ callbackUrl, token: "drv_s_secret", log: noLog });
        ends.push(async () => {
          await bridge.close();
          server.closeAllConnections();
          server.close();
        });
        return bridge;
      },
    });
    for (const end of ends) await end();
    await rm(folder, { recursive: true, force: true });
  },
});

const echo: Serve = async (incoming, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  response
    .writeHead(201, { "content-type": "application/json", "x-kept": "yes" })
    .end(
      JSON.stringify({ url: incoming.url, headers: incoming.headers, body: Buffer.concat(chunks).toString("utf8") }),
    );
};

/** The path as it is, also what `fetch` would tidy up. */
const ask = (bridge: Bridge, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(bridge.url);
    const outgoing = request({ hostname, port, path: path.replace("{}", pathname), agent: false });
    outgoing.once("error", reject);
    outgoing.once("response", (answer) => resolve((answer.resume(), answer.statusCode ?? 0)));
    outgoing.end();
  });

test.for(["tcp", "unix"] as const)(
  "a request reaches the server over %s with its credential alone",
  async (listen, { rig }) => {
    const bridge = await rig.open(echo, listen);
    const reply = await fetch(`${bridge.url}/api/v1/gateway/anthropic/v1/messages?beta=true`, {
      method: "POST",
      headers: { "x-api-key": "dummy", authorization: "Bearer dummy", "anthropic-version": "1", cookie: "a=b" },
      body: "{}",
    });
    expect(reply.status).toBe(201);
    expect(reply.headers.get("x-kept")).toBe("yes");
    const seen = (await reply.json()) as { url: string; headers: Record<string, string>; body: string };
    expect(seen).toMatchObject({
      url: "/api/v1/gateway/anthropic/v1/messages?beta=true",
      body: "{}",
      headers: { authorization: "Bearer drv_s_secret", "anthropic-version": "1" },
    });
    expect(JSON.stringify(seen.headers)).not.toContain("dummy");
    expect(seen.headers["cookie"]).toBeUndefined();
  },
);

test.for([
  "{}/api/v1/sandboxes/drover-00000000-000000/events",
  "{}/api/v1/gateway/../sandboxes",
  "{}/api/v1/gateway/%2e%2e/sandboxes",
  "{}/api/v1/gateway/..%2fsandboxes",
  "{}/api/v1/gateway\\..\\sandboxes",
  "{}/api/v1/gateway//sandboxes",
  "{}//api/v1/gateway/anthropic",
  "/api/v1/gateway/anthropic/v1/messages",
  "http://elsewhere/api/v1/gateway/anthropic",
  "/",
])("%s goes nowhere", async (path, { rig }) => {
  let asked = 0;
  const bridge = await rig.open((_request, response) => void response.end(String((asked += 1))));
  expect(await ask(bridge, path)).toBe(404);
  expect(asked).toBe(0);
});

test("an answer is passed on piece by piece, as it comes", async ({ rig }) => {
  const halves = Promise.withResolvers<void>();
  const bridge = await rig.open(async (_request, response) => {
    response.write("first");
    await halves.promise;
    response.end("second");
  });
  const reply = await fetch(`${bridge.url}/api/v1/gateway/anthropic/x`);
  const reader = reply.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("first");
  halves.resolve();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("second");
});

test("whoever hangs up, the other side hears of it", async ({ rig }) => {
  const closed = Promise.withResolvers<void>();
  const bridge = await rig.open((incoming, response) => {
    response.once("close", closed.resolve);
    response.write("first");
    if (incoming.url?.endsWith("/break") === true) setImmediate(() => response.destroy());
  });
  const stop = new AbortController();
  const reply = await fetch(`${bridge.url}/api/v1/gateway/anthropic/x`, { signal: stop.signal });
  await reply.body?.getReader().read();
  stop.abort();
  await closed.promise;
  const broken = await fetch(`${bridge.url}/api/v1/gateway/anthropic/break`);
  await expect(broken.text()).rejects.toThrow();
});

/** Many turns of the event loop: whatever could go on by itself has gone on. */
async function settle(turns = 300): Promise<false> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  return false;
}

test("a reader that does not read stops the server from writing", async ({ rig }) => {
  const LIMIT = 32 * 1024 * 1024;
  const outcome = Promise.withResolvers<"stuck" | "all of it is on its way">();
  const bridge = await rig.open(async (_request, response) => {
    const piece = Buffer.alloc(64 * 1024);
    for (let written = 0; written < LIMIT; written += piece.length) {
      if (response.write(piece)) continue;
      const drained = once(response, "drain").then(() => true);
      if (!(await Promise.race([drained, settle()]))) outcome.resolve("stuck");
      await drained;
    }
    outcome.resolve("all of it is on its way");
    response.end();
  });
  const { hostname, port, pathname } = new URL(bridge.url);
  const outgoing = request({ hostname, port, path: `${pathname}/api/v1/gateway/anthropic/x`, agent: false }).end();
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  expect(await outcome.promise).toBe("stuck");
  let read = 0;
  for await (const chunk of answer) read += (chunk as Buffer).length;
  expect(read).toBe(LIMIT);
});

test("a server that is away is told to the agent as an error it may retry", async ({ rig }) => {
  const bridge = await rig.open((_request, response) => void response.destroy());
  const reply = await fetch(`${bridge.url}/api/v1/gateway/anthropic/x`);
  expect(reply.status).toBe(502);
  expect(await reply.text()).toContain("does not answer");
});

test("only Drover's own refusal means that the budget is spent: a vendor's 402 is an error like others", async ({
  rig,
}) => {
  const types: Readonly<Record<string, string>> = { ours: "application/problem+json", theirs: "application/json" };
  const bridge = await rig.open((incoming, response) => {
    const type = types[incoming.url?.split("?")[1] ?? ""];
    response.writeHead(type === undefined ? 200 : 402, { "content-type": type ?? "application/json" }).end("{}");
  });
  const isSpentAfter = async (who: string) => {
    await ask(bridge, `{}/api/v1/gateway/anthropic/v1/messages?${who}`);
    return bridge.isBudgetSpent();
  };
  expect(await isSpentAfter("theirs")).toBe(false);
  expect(await isSpentAfter("ours")).toBe(true);
  expect(await isSpentAfter("nobody")).toBe(false);
});
