import { api, API_BASE, type Endpoint } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { hashSecret } from "./credential.ts";

const share = async (server: TestServer, id: string, body: object = {}) => {
  const answer = await server.call("POST", `/sandboxes/${id}/shares`, { body });
  expect(answer.status).toBe(201);
  return answer.body as { id: string; token: string; path: string; expires_at: string };
};

test("a link reads its own run where the contract says so, and every other endpoint refuses it", async ({ server }) => {
  const mine = await server.createSandbox();
  const other = await server.createSandbox();
  await mine.post({ event_type: "agent.message", event_data: { content: "seen by the link" } });
  const { token, path } = await share(server, mine.id);
  expect(path).toBe(`/s/${mine.id}#${token}`);

  const { body } = await server.call("GET", `/sandboxes/${mine.id}/events`, { token });
  expect(JSON.stringify(body)).toContain("seen by the link");
  const moment = await server.call("GET", `/sandboxes/${mine.id}/moment`, { token });
  expect(moment).toMatchObject({ status: 200, body: { files: null, memory: "reseeded" } });

  const wrong: string[] = [];
  for (const [name, endpoint] of Object.entries(api) as [string, Endpoint][]) {
    if (endpoint.access === "open") continue;
    const at = (id: string) => endpoint.path.replace(":sandbox_id", id).replaceAll(/:\w+/g, "x");
    const own = (await server.call(endpoint.method, at(mine.id), { token })).status;
    const isOpen = endpoint.isShared === true;
    if (isOpen ? own === 401 : own !== 403) wrong.push(`${name} of its own run answers ${own}`);
    if (!endpoint.path.includes(":sandbox_id")) continue;
    const foreign = (await server.call(endpoint.method, at(other.id), { token })).status;
    if (foreign !== 404) wrong.push(`${name} of another run answers ${foreign}`);
  }
  expect(wrong).toEqual([]);
  // Into the sandbox itself, and bytes that are no recording: not by a link.
  expect((await server.call("GET", `/sandboxes/${mine.id}/files`, { token })).status).toBe(403);
  expect((await server.call("GET", `/sandboxes/${mine.id}/files/content?path=a`, { token })).status).toBe(403);
  const artifact = Buffer.from(hashSecret("memory")).toString("hex");
  await server.call("PUT", `/sandboxes/${mine.id}/artifacts/${artifact}`, { token: mine.token, raw: "memory" });
  expect((await server.call("GET", `/sandboxes/${mine.id}/artifacts/${artifact}`)).status).toBe(200);
  expect((await server.call("GET", `/sandboxes/${mine.id}/artifacts/${artifact}`, { token })).status).toBe(404);
  expect((await server.request("GET", "/metrics", { token })).status).toBe(403);
  // As a session or a ticket it is nothing.
  const cookie = { headers: { cookie: `drover_session=${token}` }, token: undefined };
  expect((await server.call("GET", `/sandboxes/${mine.id}`, cookie)).status).toBe(401);
  const login = await server.request("POST", `${API_BASE}/auth/login`, { body: { token } });
  expect(login.status).toBe(401);
});

test("a link's stream tells of its run only, whatever it asks for, and ends when the link is revoked", async ({
  server,
}) => {
  const mine = await server.createSandbox();
  const other = await server.createSandbox();
  const { id, token } = await share(server, mine.id);
  const stream = await server.openStream({ token, query: { entity_ids: other.id } });
  stream.send({ type: "subscribe", entity_ids: [other.id], entity_types: ["sandbox"] });
  await expect.poll(() => stream.frames.some((frame) => "status" in frame)).toBe(true);
  await other.post({ event_type: "agent.message", event_data: { content: "not for the link" } });
  await mine.post({ event_type: "agent.message", event_data: { content: "for the link" } });
  await expect.poll(() => JSON.stringify(stream.frames)).toContain("for the link");
  expect(JSON.stringify(stream.frames)).not.toContain("not for the link");

  expect((await server.call("DELETE", `/sandboxes/${other.id}/shares/${id}`)).status).toBe(404);
  const ended = await server.call("DELETE", `/sandboxes/${mine.id}/shares/${id}`);
  expect(ended).toMatchObject({ status: 200, body: { id, revoked_at: expect.any(String) } });
  expect((await stream.closed).code).toBe(4401);
  expect((await server.call("GET", `/sandboxes/${mine.id}`, { token })).status).toBe(401);
  expect((await server.call("DELETE", `/sandboxes/${mine.id}/shares/${id}`)).body).toEqual(ended.body);
});

test("a link runs out, is kept as a hash, is listed without its secret, and is on the record", async ({ server }) => {
  const { id } = await server.createSandbox();
  const made = await share(server, id, { expires_in_s: 3_600 });
  expect(Date.parse(made.expires_at) - Date.now()).toBeGreaterThan(3_000_000);
  const used = await server.call("GET", `/sandboxes/${id}`, { token: made.token });
  expect(used.status).toBe(200);
  const { body } = await server.call("GET", `/sandboxes/${id}/shares`);
  expect(body.items).toMatchObject([{ id: made.id, revoked_at: null, last_used_at: expect.any(String) }]);
  expect(JSON.stringify(body)).not.toContain(made.token);
  for (const table of ["shares", "events", "audit"]) {
    const text = `select coalesce(string_agg(t::text, ' '), '') as rows from "${table}" t`;
    const [row] = await server.db.query({ text, values: [] });
    expect(String(row?.["rows"])).not.toContain(made.token);
  }
  const audited = await server.db.query(
    sql`select action, detail from audit where target = ${made.id} order by id limit 9`,
  );
  expect(audited).toMatchObject([{ action: "share.create", detail: { sandbox_id: id } }]);
  await server.db.query(sql`update shares set expires_at = now() where id = ${made.id}`);
  server.deps.credentials.forget();
  expect((await server.call("GET", `/sandboxes/${id}`, { token: made.token })).status).toBe(401);
  const viewer = await server.createToken("viewer");
  expect((await server.call("POST", `/sandboxes/${id}/shares`, { body: {}, token: viewer.token })).status).toBe(403);
});
