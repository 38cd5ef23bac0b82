/** Old sessions go as a whole, where their project says so; what stands, what others name and what is young stays.
 *  Broken on purpose, each seen here: sandboxes that still stand count as expired; bytes that another session names are removed; a session
 *  that another goes on from, or whose task is not over, is removed. */
import { createHash } from "node:crypto";
import { access, utimes } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { applyRetentionOnce } from "./apply-retention.ts";

const { signal } = new AbortController();
const FACT = { timeout: 30_000, interval: 50 };

async function fill(server: TestServer, sandbox: TestSandbox, ...contents: readonly string[]) {
  const ids = contents.map((content) => createHash("sha256").update(content).digest("hex"));
  for (const [index, id] of ids.entries())
    await server.call("PUT", `/sandboxes/${sandbox.id}/artifacts/${id}`, {
      token: sandbox.token,
      raw: contents[index] ?? "",
    });
  await sandbox.post({
    events: Array.from({ length: 30 }, (_, n) => ({ event_type: "agent.noted", event_data: { n } })),
  });
  return ids;
}

async function end(server: TestServer, sandbox: TestSandbox, daysAgo: number) {
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  const isClosed = async () =>
    (await server.db.query(sql`select closed_at is not null as closed from sandboxes where id = ${sandbox.id}`))[0]?.[
      "closed"
    ];
  await expect.poll(isClosed, FACT).toBe(true);
  await server.db.query(
    sql`update sandboxes set (ended_at, closed_at) = (now() - make_interval(days => ${daysAgo}), now() - make_interval(days => ${daysAgo}))
      where id = ${sandbox.id}`,
  );
}

const count = async (server: TestServer, id: string) =>
  (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events.length as number;

const toFile = (server: TestServer, id: string) => join(server.dataDir, "blobs", id.slice(0, 2), id);
const isThere = (server: TestServer, id: string) =>
  access(toFile(server, id)).then(
    () => true,
    () => false,
  );

test("sessions that ended before their project's time are removed whole, once, and told; nothing else is touched", async ({
  server,
}) => {
  const project = await server.createProject();
  const forever = await server.createProject();
  await server.call("PATCH", `/projects/${project}`, { body: { settings: { retention_days: 7 } } });
  const make = (project_id: typeof project) => server.createSandbox({ project_id });
  const [old, young, running, kept, gone, working] = [
    await make(project),
    await make(project),
    await make(project),
    await make(forever),
    await make(project),
    await make(project),
  ];
  const [own = "", shared = ""] = await fill(server, old, "only here", "also there");
  await fill(server, young, "also there");
  for (const one of [running, kept]) await fill(server, one, "elsewhere");
  await server.call("POST", `/sandboxes/${old.id}/messages`, { body: { content: "hello" } });
  await server.db.query(
    sql`insert into guardian_analyses (id, sandbox_id, project_id, model, cursor_seq, verdict)
      values ('ana-000000000001', ${old.id}, ${project}, 'a-model', 1, '{"details": "what it said"}')`,
  );
  await end(server, old, 8);
  await end(server, young, 6);
  await end(server, kept, 1_000);
  await server.db.query(sql`update sandboxes set ended_at = now() - interval '30 days' where id = ${running.id}`);
  // A run that stands goes on from one, and the task of another is to be tried again.
  await gone.post({ event_type: "agent.message", event_data: { turn: 1, content: "What I found." } });
  for (const one of [gone, working]) await end(server, one, 30);
  const later = await server.createSandbox({ resume_from: gone.id });
  const ticket = await server.call("POST", "/tickets", { body: { title: "Sheep", project_id: project } });
  const task = await server.call("POST", "/tasks", { body: { ticket_id: ticket.body.id, title: "Count" } });
  await server.db.query(sql`update sandboxes set task_id = ${task.body.id} where id = ${working.id}`);
  const needed = [young, running, kept, gone, working];
  const before = await Promise.all(needed.map(({ id }) => count(server, id)));

  const operator = await server.createToken("operator", project);
  expect((await server.call("POST", "/retention", { token: operator.token, body: {} })).status).toBe(403);
  const dry = await server.call("POST", "/retention", { body: { dry_run: true } });
  expect(dry.body.items.map((item: { sandbox_id: string }) => item.sandbox_id)).toEqual([old.id]);
  expect(await count(server, old.id)).toBeGreaterThan(30);
  const stranger = await server.createToken("admin", forever);
  expect((await server.call("POST", "/retention", { token: stranger.token, body: {} })).body.items).toEqual([]);

  // Two replicas at once.
  const passes = await Promise.all([applyRetentionOnce(server.deps, signal), applyRetentionOnce(server.deps, signal)]);
  expect(passes.reduce((sum, { removed }) => sum + removed, 0)).toBe(1);
  expect(await count(server, old.id)).toBe(0);
  expect((await server.call("GET", `/sandboxes/${old.id}`)).body).toMatchObject({ state: "terminated", prompt: null });
  expect((await server.call("GET", `/sandboxes/${old.id}/messages/history`)).body.items ?? []).toEqual([]);
  expect((await server.call("GET", `/sandboxes/${old.id}/artifacts/${own}`)).status).toBe(404);
  expect(await Promise.all(needed.map(({ id }) => count(server, id)))).toEqual(before);
  expect(await server.db.query(sql`select id from guardian_analyses where sandbox_id = ${old.id}`)).toEqual([]);
  const audit = await server.db.query(
    sql`select actor from audit where action = 'retention.remove' and target = ${old.id}`,
  );
  expect(audit).toHaveLength(1);
  expect(await applyRetentionOnce(server.deps, signal)).toEqual({ removed: 0, emptied: 0, blobs: 0 });
  await end(server, later, 1);
  await server.call("POST", `/tasks/${task.body.id}/cancel`, { body: {} });
  expect(await applyRetentionOnce(server.deps, signal)).toMatchObject({ removed: 2, emptied: 2 });

  // Bytes go when they are old and nobody names them; what was put again meanwhile stays.
  await server.db.query(sql`update unused_blobs set since = now() - interval '2 hours'`);
  expect((await applyRetentionOnce(server.deps, signal)).blobs).toBe(0);
  expect(await isThere(server, own)).toBe(true);
  const longAgo = new Date(Date.now() - 7_200_000);
  for (const id of [own, shared]) await utimes(toFile(server, id), longAgo, longAgo);
  await server.db.query(
    sql`insert into unused_blobs (id, since) values (${own}, now() - interval '2 hours'), (${shared}, now() - interval '2 hours')`,
  );
  expect((await applyRetentionOnce(server.deps, signal)).blobs).toBe(1);
  expect(await isThere(server, own)).toBe(false);
  expect((await server.call("GET", `/sandboxes/${young.id}/artifacts/${shared}`)).text).toBe("also there");
});
