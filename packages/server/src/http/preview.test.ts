/** A port of a sandbox in a browser: let in by a link that works once, at an origin of its own, with hostile programs inside and hostile pages outside.
 *  Broken on purpose, each seen here: a ticket good for another port; a cookie good for another preview; our cookies passed in;
 *  cookies for a name above, or of our names, passed out; a redirect to the inside's own address left as it is; requests of other sites answered;
 *  a revoked token still let in. */
import { once } from "node:events";
import { request as requestHttp, type IncomingHttpHeaders } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import type { SandboxRef } from "../ports/sandbox-provider.ts";

const { signal } = new AbortController();
const PORT = 3_000;
/** Tells what it was asked, sets cookies as it likes, leads elsewhere, and echoes what is upgraded. */
const APP = `
const server = require("node:http").createServer(async (request, response) => {
  const url = new URL(request.url, "http://x");
  if (url.pathname === "/cookies") response.setHeader("set-cookie", ["a=1; Domain=preview.localhost; Path=/", "b=2;domain = .localhost; HttpOnly", "drover_preview=evil; Path=/", "drover_session=evil; Domain=localhost", "nothing"]);
  if (url.pathname === "/lead") return response.writeHead(302, { location: url.searchParams.get("to") }).end();
  if (url.pathname === "/hsts") response.setHeader("strict-transport-security", "max-age=1; includeSubDomains");
  let body = "";
  for await (const chunk of request) body += chunk;
  response.end(JSON.stringify({ app: "inside", method: request.method, url: request.url, headers: request.headers, body }));
});
server.on("upgrade", (request, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nconnection: upgrade\\r\\nupgrade: echo\\r\\n\\r\\n" + JSON.stringify(request.headers) + "\\n");
  socket.pipe(socket);
});
server.listen(${PORT}, "localhost", () => require("node:fs").writeFileSync("/tmp/ready", ""));`;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

let server: TestServer;
let id: string;
let host: string;

beforeAll(async () => {
  server = await startTestServer();
  const script = { steps: [{ wait_for_message: { seconds: 600 } }] };
  const body = { runtime: "scripted", script, resources: { memory_gb: 0.5 } };
  ({ id } = (await server.call("POST", "/sandboxes", { body })).body);
  const isRunning = async () => (await server.call("GET", `/sandboxes/${id}`)).body.state === "running";
  await vi.waitUntil(isRunning, { timeout: 60_000 });
  const local = await server.deps.providers.open("local");
  const [ref] = await local.list({ "drover.sandbox": id }, signal);
  await local.startDetached(ref as SandboxRef, { argv: ["node", "-e", APP] }, signal);
  const wait = ["sh", "-c", "while ! test -e /tmp/ready; do sleep 0.05; done"];
  await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: wait } });
  host = `p${PORT}-${id}.preview.localhost:${new URL(server.url).port}`;
});
afterAll(() => server?.stop());

async function ask(
  path: string,
  headers: Readonly<Record<string, string>>,
  more: { readonly method?: string; readonly body?: string } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(server.url);
  const request = requestHttp({ hostname, port, path, method: more.method ?? "GET", headers, agent: false });
  request.end(more.body);
  const [response] = await once(request, "response");
  return { status: response.statusCode, headers: response.headers, text: await text(response) };
}

const openLink = async (port = PORT, token = ADMIN_TOKEN) =>
  (await server.call("POST", `/sandboxes/${id}/preview`, { token, body: { port } })).body;

/** What the browser holds after it followed a link. */
async function letIn(token = ADMIN_TOKEN): Promise<string> {
  const { pathname, search } = new URL((await openLink(PORT, token)).url);
  const { headers } = await ask(pathname + search, { host });
  return headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
}

describe("being let in", () => {
  test("a link works once, for its own preview, and leaves a cookie of that origin alone", async () => {
    const link = await openLink();
    expect(link).toMatchObject({ origin: `http://${host}`, port: PORT, is_answering: true });
    const told = await server.call("GET", "/events?event_type=PREVIEW_READY");
    expect(told.body.events[0].event_data).toMatchObject({ sandbox_id: id, port: PORT, preview_url: link.origin });
    expect(told.text).not.toContain("ticket=");
    const { pathname, search } = new URL(link.url);
    const elsewhere = await ask(pathname + search, { host: host.replace("p3000", "p3001") });
    expect(elsewhere.status).toBe(401);
    const opened = await ask(pathname + search, { host });
    expect(opened).toMatchObject({ status: 303, headers: { location: "/", "referrer-policy": "no-referrer" } });
    const [cookie = ""] = opened.headers["set-cookie"] ?? [];
    expect(cookie).toMatch(/^drover_preview=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
    expect((await ask(pathname + search, { host })).status).toBe(401);
    const [pair = ""] = cookie.split(";");
    expect((await ask("/", { host, cookie: pair })).text).toContain('"app":"inside"');
    // A cookie that a neighbour planted beside it does not keep anybody out.
    expect((await ask("/", { host, cookie: `drover_preview=planted; ${pair}` })).status).toBe(200);
  });

  test("without one, with one of another preview, or with one that was made up, nobody is", async () => {
    const pair = await letIn();
    const ticket = new URL((await openLink()).url).searchParams.get("ticket") ?? "";
    const tries = [
      { host },
      { host: host.replace("p3000", "p3001"), cookie: pair },
      { host: host.replace(id, "drover-00000000-000000"), cookie: pair },
      { host, cookie: "drover_preview=x" },
      { host, cookie: `drover_preview=${ticket}` },
      { host, cookie: `drover_session=${ADMIN_TOKEN}`, authorization: `Bearer ${ADMIN_TOKEN}` },
    ];
    for (const headers of tries) expect((await ask("/", headers)).status).toBe(401);
  });

  test("who may not run commands there gets no link, and who is revoked is out", async () => {
    const viewer = await server.createToken("viewer");
    const body = { port: PORT };
    const refused = await server.call("POST", `/sandboxes/${id}/preview`, { token: viewer.token, body });
    expect(refused.status).toBe(403);
    const own = await server.call("POST", `/sandboxes/${id}/preview`, { body: { port: 3_128 } });
    expect(own.status).toBe(422);
    const operator = await server.createToken("operator");
    const pair = await letIn(operator.token);
    expect((await ask("/", { host, cookie: pair })).status).toBe(200);
    await server.call("DELETE", `/tokens/${operator.id}`);
    await expect.poll(async () => (await ask("/", { host, cookie: pair })).status).toBe(401);
  });

  test("where nothing listens it is said, and there is no link to a sandbox that nobody can enter", async () => {
    expect(await openLink(3_999)).toMatchObject({ is_answering: false });
    const { pathname, search } = new URL((await openLink(3_999)).url);
    const other = host.replace("p3000", "p3999");
    const cookie = (await ask(pathname + search, { host: other })).headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
    expect(await ask("/", { host: other, cookie })).toMatchObject({ status: 502, text: "nothing answers at 3999\n" });
    const { id: foreign } = await server.createSandbox();
    expect((await server.call("POST", `/sandboxes/${foreign}/preview`, { body: {} })).status).toBe(422);
  });
});

describe("hostile programs inside", () => {
  test("they see the request as if it came to them, and nothing of ours", async () => {
    const cookie = `${await letIn()}; theirs=1; drover_session=secret`;
    const headers = { host, cookie, authorization: `Bearer ${ADMIN_TOKEN}`, referer: `http://${host}/x?ticket=1` };
    const { text: said } = await ask("/some/path?a=b", headers, { method: "POST", body: "a body" });
    expect(JSON.parse(said)).toMatchObject({
      method: "POST",
      url: "/some/path?a=b",
      body: "a body",
      headers: { host: `localhost:${PORT}`, cookie: "theirs=1" },
    });
    expect(said).not.toMatch(/drv_|drover_|preview\.localhost|secret|referer/);
    const basic = await ask("/", { host, cookie, authorization: "Basic dGhlaXI6b3du" });
    expect(JSON.parse(basic.text).headers.authorization).toBe("Basic dGhlaXI6b3du");
  });

  test("a cookie of theirs is for this origin alone, and none takes the place of ours", async () => {
    const { headers } = await ask("/cookies", { host, cookie: await letIn() });
    expect(headers["set-cookie"]).toEqual(["a=1; Path=/", "b=2; HttpOnly"]);
    const strict = await ask("/hsts", { host, cookie: await letIn() });
    expect(strict.headers).not.toHaveProperty("strict-transport-security");
  });

  test("a redirect to themselves stays at this origin, and one elsewhere carries nothing with it", async () => {
    const cookie = await letIn();
    const lead = async (to: string) =>
      (await ask(`/lead?to=${encodeURIComponent(to)}`, { host, cookie })).headers.location;
    expect(await lead(`http://localhost:${PORT}/next?x=1`)).toBe("/next?x=1");
    expect(await lead(`http://127.0.0.1:${PORT}//evil.test/`)).toBe("/evil.test/");
    expect(await lead("next")).toBe("/next");
    expect(await lead("https://elsewhere.test/x")).toBe("https://elsewhere.test/x");
    expect(await lead(`${server.url}/api/v1/whoami`)).toBe(`${server.url}/api/v1/whoami`);
  });
});

describe("hostile pages outside", () => {
  test("another origin is refused, whether it is of this server, of nobody or of a neighbour", async () => {
    const cookie = await letIn();
    const neighbour = `http://${host.replace("p3000", "p3001")}`;
    for (const origin of [server.url, "null", "https://evil.test", neighbour, `https://${host}.evil.test`]) {
      const { status } = await ask("/", { host, cookie, origin }, { method: "POST" });
      expect({ origin, status }).toEqual({ origin, status: 403 });
    }
    expect((await ask("/", { host, cookie, origin: `http://${host}` }, { method: "POST" })).status).toBe(200);
    const fetched = (mode: string, dest: string) =>
      ask("/", { host, cookie, "sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": dest });
    expect((await fetched("no-cors", "script")).status).toBe(403);
    expect((await fetched("navigate", "iframe")).status).toBe(403);
    expect((await fetched("navigate", "document")).status).toBe(200);
  });

  test("a host is a preview's or the server's, and never both", async () => {
    const cookie = await letIn();
    const credentials = { cookie, authorization: `Bearer ${ADMIN_TOKEN}` };
    expect((await ask("/api/v1/whoami", { host, ...credentials })).text).toContain('"app":"inside"');
    expect((await ask("/healthz", { host })).status).toBe(401);
    for (const [tried, status] of [
      ["preview.localhost", 403],
      ["x.preview.localhost", 404],
      ["p99999-drover-00000000-000000.preview.localhost", 404],
      [`${host.split(":")[0]}.evil.test`, 403],
      [`${host.split(":")[0]}.`, 403],
    ] as const)
      expect({ tried, ...(await ask("/", { host: tried, ...credentials })) }).toMatchObject({ tried, status });
    expect((await ask("/", { host: new URL(server.url).host, cookie })).text).not.toContain('"app":"inside"');
  });
});

test("a socket is upgraded for the preview's own pages only, and carries bytes both ways", async () => {
  const cookie = await letIn();
  const { hostname, port } = new URL(server.url);
  const upgrade = (headers: Readonly<Record<string, string>>) =>
    requestHttp({
      hostname,
      port,
      path: "/socket",
      agent: false,
      headers: { connection: "Upgrade", upgrade: "echo", ...headers },
    });
  for (const headers of [
    { host, origin: `http://${host}` },
    { host, cookie },
    { host, cookie, origin: server.url },
  ]) {
    const request = upgrade(headers).end();
    const [refused] = await once(request, "response");
    expect(refused.statusCode).toBe(403);
  }
  const request = upgrade({ host, cookie: `${cookie}; theirs=1`, origin: `http://${host}` }).end();
  const [response, socket, first] = await once(request, "upgrade");
  expect(response).toMatchObject({ statusCode: 101, headers: { upgrade: "echo" } });
  let said = String(first);
  socket.on("data", (chunk: Buffer) => (said += chunk.toString()));
  socket.write("ping through the sandbox");
  await expect.poll(() => said).toContain("ping through the sandbox");
  expect(said).toContain(`"origin":"http://localhost:${PORT}"`);
  expect(said).toContain('"cookie":"theirs=1"');
  expect(said).not.toContain("drover_");
  socket.destroy();
});
