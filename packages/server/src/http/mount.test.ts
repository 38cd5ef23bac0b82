import { api, API_BASE, type Endpoint } from "@drover/contract";
import { expect } from "vitest";
import { ADMIN_TOKEN, startTestServer, test } from "../../../testkit/src/server.ts";

test("health is open; what tells about the installation is not", async ({ server, sandbox }) => {
  for (const path of ["/healthz", "/readyz", "/api/v1/sandboxes/health"]) {
    expect((await server.request("GET", path)).status, path).toBe(200);
  }
  expect((await server.request("GET", "/api/v1/sandboxes/health")).body).toEqual({
    status: "ok",
    service: "sandbox-api",
    timestamp: expect.stringMatching(/Z$/),
  });
  for (const path of [
    "/openapi.json",
    "/metrics",
    "/api/v1/events",
    "/api/v1/nothing",
    "/api/nothing",
    "/git/x.git",
    "/mcp",
  ]) {
    expect((await server.request("GET", path)).status, path).toBe(401);
    expect((await server.request("GET", path, { token: "drv_u_nobody" })).status, path).toBe(401);
  }
  for (const path of ["/openapi.json", "/metrics"]) {
    expect((await server.request("GET", path, { token: sandbox.token })).status).toBe(403);
    expect((await server.request("GET", path, { token: ADMIN_TOKEN })).status).toBe(200);
  }
  expect((await server.request("GET", "/api/v1/nothing", { token: ADMIN_TOKEN })).status).toBe(404);
  expect((await server.request("HEAD", "/healthz")).status).toBe(200);
});

test("OpenAPI 3.1 names every endpoint with its method, credential and parameters", async ({ server }) => {
  const { body } = await server.request("GET", "/openapi.json", { token: ADMIN_TOKEN });
  expect(body.openapi).toMatch(/^3\.1/);
  for (const [name, endpoint] of Object.entries(api as Record<string, Endpoint>)) {
    const path = (API_BASE + endpoint.path).replaceAll(/:(\w+)/g, "{$1}");
    const operation = body.paths[path]?.[endpoint.method.toLowerCase()];
    expect(operation, name).toMatchObject({ operationId: name, responses: { default: expect.anything() } });
    expect(operation.security, name).toHaveLength(
      endpoint.access === "open" ? 0 : endpoint.access === "worker" ? 1 : 2,
    );
    for (const [, parameter] of endpoint.path.matchAll(/:(\w+)/g)) {
      expect(operation.parameters, name).toContainEqual(
        expect.objectContaining({ name: parameter, in: "path", required: true }),
      );
    }
  }
});

test("metrics are in the Prometheus text form and move", async ({ server, sandbox }) => {
  const read = async () =>
    Number(
      /^drover_event_head (\d+)$/m.exec((await server.request("GET", "/metrics", { token: ADMIN_TOKEN })).text)?.[1],
    );
  const before = await read();
  const { body } = await sandbox.post({ event_type: "agent.message" });
  expect(before).toBeLessThan(body.seq);
  expect(await read()).toBeGreaterThanOrEqual(body.seq);
});

test("every answer carries the headers that keep browsers safe, and a request id", async ({ server }) => {
  for (const path of ["/healthz", "/api/v1/auth/whoami", "/api/v1/sandboxes/%zz", "/nothing.js", "/"]) {
    const { headers } = await server.request("GET", path);
    expect(headers, path).toMatchObject({
      "content-security-policy": expect.stringMatching(/default-src 'none'.*frame-ancestors 'none'/),
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-request-id": expect.stringMatching(/^req-/),
    });
    expect(headers["access-control-allow-origin"]).toBeUndefined();
  }
});

test("a request id is taken over when it is one, and made when not", async ({ server }) => {
  const idOf = async (given: string) =>
    (await server.request("GET", "/healthz", { headers: { "x-request-id": given } })).headers["x-request-id"];
  expect(await idOf("trace-1.2:3_4")).toBe("trace-1.2:3_4");
  for (const bad of ["a b", "<script>", "x".repeat(101), ""]) expect(await idOf(bad)).toMatch(/^req-/);
});

test("the site's own Origin is served, by each of its names", async ({ server }) => {
  const { port } = new URL(server.url);
  for (const name of ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"]) {
    const headers = { host: `${name}:${port}`, origin: `http://${name.toLowerCase()}:${port}` };
    expect((await server.call("GET", "/auth/whoami", { headers })).status, name).toBe(200);
  }
});

test("behind a proxy the public address is served, whether the proxy hands the Host on or not", async () => {
  await using server = await startTestServer({
    config: { publicUrl: "https://drover.example.org", allowedHosts: "inner.example.org, other.example.org" },
  });
  const ask = async (headers: Record<string, string>) => (await server.call("GET", "/auth/whoami", { headers })).status;
  expect(await ask({ host: "drover.example.org", origin: "https://drover.example.org" })).toBe(200);
  expect(await ask({ host: new URL(server.url).host, origin: "https://drover.example.org" })).toBe(200);
  expect(await ask({ host: "inner.example.org" })).toBe(200);
  expect(await ask({ host: "drover.example.org", origin: "https://inner.example.org" })).toBe(403);
  expect(await ask({ host: "drover.example.org", origin: "http://drover.example.org:8080" })).toBe(403);
  expect(await ask({ host: "elsewhere.example.org" })).toBe(403);
  const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: ADMIN_TOKEN } });
  expect(login.headers["set-cookie"]?.[0]).toContain("; Secure");
});

test("every request is one record of the log, with its id and its sandbox, and without its query", async () => {
  const records: [string, Readonly<Record<string, unknown>> | undefined][] = [];
  const note = (name: string, fields?: Readonly<Record<string, unknown>>) => void records.push([name, fields]);
  const log = { debug: note, info: note, warn: note, error: note };
  await using server = await startTestServer({ log, config: { logLevel: "debug" } });
  const { id } = await server.createSandbox();
  await server.call("GET", `/sandboxes/${id}?secret=in-a-query`, { headers: { "x-request-id": "told-1" } });
  const find = () => records.find(([name, fields]) => name === "http.request" && fields?.["request_id"] === "told-1");
  await expect.poll(find).toBeDefined();
  expect(find()?.[1]).toMatchObject({
    method: "GET",
    route: "/api/v1/sandboxes/:sandbox_id",
    status: expect.any(Number),
    ms: expect.any(Number),
    sandbox: id,
  });
  expect(JSON.stringify(records)).not.toContain("in-a-query");
});
