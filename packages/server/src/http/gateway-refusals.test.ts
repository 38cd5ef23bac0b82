/** A hostile sandbox at the gateway: nothing but models, nothing but its own, and never a key.
 *  Broken on purpose, each seen here: a list of paths that is open at its end; any text as a model's name in a path; a key that the vendor
 *  quotes passed on. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { expect } from "vitest";
import { extendByModel } from "../../../testkit/src/model/model-server.ts";
import type { TestSandbox } from "../../../testkit/src/server.ts";
import { insertSandboxToken } from "../store/sandboxes.ts";

const CANARY = "sk-ant-CANARY-0123456789";
const STORED = "sk-CANARY-stored";
const lines: string[] = [];
const note = (name: string, facts?: unknown) => void lines.push(`${name} ${JSON.stringify(facts)}`);

const test = extendByModel((model) => ({
  config: { anthropicBaseUrl: model.url, anthropicApiKey: CANARY, modelAllow: "claude-*, gpt-5", modelBodyMb: 1 },
  log: { debug: note, info: note, warn: note, error: note },
}));

const MESSAGES = "/gateway/anthropic/v1/messages";
const BODY = { model: "claude-sonnet-4-5", messages: [] };

test.for([
  ["/gateway/anthropic/v1/../../../sandboxes", 404],
  ["/gateway/anthropic/v1/%2e%2e/v1/messages", 404],
  ["/gateway/anthropic//v1/messages", 404],
  ["/gateway/anthropic/v1/messages/", 404],
  ["/gateway/anthropic/v1/messages/batches", 404],
  ["/gateway/anthropic/v1/messages%2f..%2fadmin", 404],
  ["/gateway/anthropic/v1/messages\\..\\x", 404],
  ["/gateway/anthropic/http://elsewhere/v1/messages", 404],
  ["/gateway/anthropic@elsewhere/v1/messages", 404],
  ["/gateway/nobody/v1/messages", 404],
  ["/gateway/gemini/v1beta/models/..:generateContent", 404],
  ["/gateway/gemini/v1beta/models/a%2fb:generateContent", 404],
] as const)("%s goes nowhere", async ([path, status], { server, model, sandbox }) => {
  const before = model.calls.length;
  const answer = await server.call("POST", path, { token: sandbox.token, body: BODY });
  expect(answer.status).toBe(status);
  expect(answer.body).toMatchObject({ status, error: expect.any(Object) });
  expect(model.calls.length).toBe(before);
});

test("an address in the request line or in the Host header leads nowhere else", async ({ server, model, sandbox }) => {
  model.setScript(() => ({ text: "ok" }));
  const absolute = await server.request("POST", `http://169.254.169.254/api/v1${MESSAGES}`, {
    token: sandbox.token,
    body: BODY,
  });
  expect(absolute.status).toBeGreaterThanOrEqual(400);
  const foreign = await server.call("POST", MESSAGES, {
    token: sandbox.token,
    body: BODY,
    headers: { host: "169.254.169.254" },
  });
  expect(foreign.status).toBe(403);
  const n = model.requests.length + 1;
  await server.call("POST", `${MESSAGES}?base_url=http://elsewhere`, { token: sandbox.token, body: BODY });
  expect((await model.nthRequest(n)).headers.host).toBe(new URL(model.url).host);
});

test("only a sandbox's own credential of the present generation passes", async ({ server, model }) => {
  model.setScript(() => ({ text: "ok" }));
  const sandbox = await server.createSandbox();
  const status = async (token: string | undefined, headers = {}) =>
    (await server.call("POST", MESSAGES, { token, headers, body: BODY })).status;
  expect(await status(undefined)).toBe(401);
  expect(await status("drv_s_nobody")).toBe(401);
  expect(await status((await server.createToken("admin")).token)).toBe(403);
  expect(await status(undefined, { "x-api-key": sandbox.token })).toBe(200);
  expect(await status(undefined, { "x-goog-api-key": sandbox.token })).toBe(200);

  const scoped = async (scope: string) => {
    const token = `drv_s_${scope}-of-${sandbox.id}`;
    await insertSandboxToken(server.db, createHash("sha256").update(token).digest(), sandbox.id, 1, scope);
    return token;
  };
  const gatewayToken = await scoped("gateway");
  expect(await status(gatewayToken)).toBe(200);
  expect(await status(await scoped("git"))).toBe(403);
  const asWorker = await server.call("GET", `/sandboxes/${sandbox.id}/assignment`, { token: gatewayToken });
  expect(asWorker.status).toBe(403);

  await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`);
  expect(await status(sandbox.token)).toBe(409);
  expect(await status(gatewayToken)).toBe(409);
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  expect([401, 409]).toContain(await status(sandbox.token));
});

test.for([
  ["not JSON", "{", 400],
  ["bad UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]), 400],
  ["no object", "[]", 422],
  ["nothing", "", 400],
  ["no model", '{"messages":[]}', 422],
  ["a model that is none", '{"model":{"a":1}}', 422],
  ["a model that is not allowed", '{"model":"o3-pro"}', 403],
  ["a model in two spellings", '{"model":"claude-x","Model":"o3-pro"}', 422],
  ["nested without end", `{"model":"claude-x","messages":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, 422],
  ["more than the limit", JSON.stringify({ model: "claude-x", messages: "x".repeat(1024 * 1024) }), 413],
] as const)("a body that is %s is refused and reaches nobody", async ([, raw, status], { server, model, sandbox }) => {
  const before = model.calls.length;
  const answer = await server.call("POST", MESSAGES, { token: sandbox.token, raw });
  expect(answer).toMatchObject({ status });
  expect(answer.body.error.message).toMatch(/^Drover: /);
  expect(model.calls.length).toBe(before);
});

test("a model that is named twice is named once to the vendor, as it was judged", async ({
  server,
  model,
  sandbox,
}) => {
  model.setScript(() => ({ text: "ok" }));
  for (const name of ["model", "mod\\u0065l"]) {
    const n = model.requests.length + 1;
    const raw = `{"${name}":"o3-pro","model":"claude-x","messages":[]}`;
    expect((await server.call("POST", MESSAGES, { token: sandbox.token, raw })).status).toBe(200);
    expect((await model.nthRequest(n)).headers["content-length"]).toBe(
      String('{"model":"claude-x","messages":[]}'.length),
    );
  }
});

test("an answer in the background, which nobody would meter, is refused", async ({ server, sandbox }) => {
  const answer = await server.call("POST", "/gateway/openai/v1/responses", {
    token: sandbox.token,
    body: { model: "gpt-5", input: "hi", background: true },
  });
  expect(answer).toMatchObject({ status: 422, body: { error: { message: /background/ } } });
});

test("a huge body without a length is cut off at the limit", async ({ server, sandbox }) => {
  const answer = await server.call("POST", MESSAGES, {
    token: sandbox.token,
    raw: "x".repeat(3 * 1024 * 1024),
    headers: { "content-length": undefined, "transfer-encoding": "chunked" },
  });
  expect(answer.status).toBe(413);
});

/** Broken on purpose, seen here: no limit; room that is not given back. */
test("many large requests of one sandbox hold up only that sandbox, and only while they are under way", async ({
  server,
  model,
}) => {
  model.setScript(() => ({ text: "ok" }));
  const [greedy, other] = [await server.createSandbox(), await server.createSandbox()];
  const large = "x".repeat(900 * 1024);
  const begin = () => {
    const outgoing = request(`${server.url}/api/v1${MESSAGES}`, {
      method: "POST",
      agent: false,
      headers: { authorization: `Bearer ${greedy.token}`, "content-length": large.length + 1 },
    });
    const answered = once(outgoing, "response").then(([answer]) => (answer as IncomingMessage).resume().statusCode);
    outgoing.on("error", () => undefined).write(large);
    return { outgoing, answered };
  };
  const calls = [begin(), begin(), begin()];
  // Two fit; the last byte of none has come.
  expect(await Promise.race(calls.map(({ answered }) => answered))).toBe(429);
  const ask = async ({ token }: TestSandbox) =>
    (await server.call("POST", MESSAGES, { token, body: { ...BODY, x: large } })).status;
  expect([await ask(greedy), await ask(other)]).toEqual([429, 200]);
  for (const { outgoing, answered } of calls) {
    answered.catch(() => undefined);
    outgoing.destroy();
  }
  await expect.poll(() => ask(greedy)).toBe(200);
});

test("a vendor that is not connected is named together with what to set", async ({ server, sandbox }) => {
  const answer = await server.call("POST", "/gateway/openai/v1/responses", {
    token: sandbox.token,
    body: { model: "gpt-5", input: "hi" },
  });
  expect(answer).toMatchObject({ status: 422, headers: { "x-should-retry": "false" } });
  expect(answer.body.error.message).toContain("OPENAI_API_KEY");
});

test("a key that was stored is used and never told", async ({ server, model, sandbox }) => {
  model.setScript(() => ({ text: "ok" }));
  const put = await server.call("PUT", "/models/upstreams/openai", { body: { base_url: model.url, api_key: STORED } });
  expect(put.body).toEqual({ protocol: "openai", base_url: model.url, has_key: true, origin: "stored" });
  const n = model.requests.length + 1;
  const answer = await server.call("POST", "/gateway/openai/v1/responses", {
    token: sandbox.token,
    body: { model: "gpt-5", input: "hi" },
  });
  expect(answer.status).toBe(200);
  expect((await model.nthRequest(n)).headers.authorization).toBe(`Bearer ${STORED}`);
  const rows = await server.db.query({ text: "select sealed_key from model_upstreams", values: [] });
  expect(Buffer.from(rows[0]?.["sealed_key"] as Uint8Array).includes(STORED)).toBe(false);
  const { token } = await server.createToken("admin", await server.createProject());
  expect((await server.call("GET", "/models/upstreams", { token })).status).toBe(403);
  await server.call("DELETE", "/models/upstreams/openai");
});

test("a vendor that is away is told as such, and may be asked again", async ({ server, sandbox }) => {
  await server.call("PUT", "/models/upstreams/gemini", { body: { base_url: "http://127.0.0.1:9", api_key: STORED } });
  const answer = await server.call("POST", "/gateway/gemini/v1beta/models/claude-g:generateContent", {
    token: sandbox.token,
    body: { contents: [] },
  });
  expect(answer).toMatchObject({ status: 502, headers: { "x-should-retry": "true" } });
  await server.call("DELETE", "/models/upstreams/gemini");
});

test("no key is in any answer, event, log line or page, even when the vendor quotes it", async ({
  server,
  model,
  sandbox,
}) => {
  model.setScript([
    { error: { status: 401, body: { error: { message: `invalid x-api-key ${CANARY}` } } } },
    { text: "ok" },
  ]);
  const quoted = await server.call("POST", MESSAGES, { token: sandbox.token, body: BODY });
  expect(quoted).toMatchObject({ status: 401, body: { error: { message: "invalid x-api-key ***" } } });
  await server.call("POST", MESSAGES, { token: sandbox.token, body: { ...BODY, stream: true } });
  const told = [
    JSON.stringify(quoted.headers),
    ...(await Promise.all(
      [
        `/sandboxes/${sandbox.id}/events?limit=500`,
        `/sandboxes/${sandbox.id}`,
        "/models/upstreams",
        "/costs/records",
        "/events?limit=500",
      ].map(async (path) => (await server.call("GET", path)).text),
    )),
    (await server.request("GET", "/openapi.json", { token: sandbox.token })).text,
    ...lines,
  ].join("\n");
  expect(told).toContain("agent.usage");
  for (const key of [CANARY, STORED]) expect(told).not.toContain(key);
});
