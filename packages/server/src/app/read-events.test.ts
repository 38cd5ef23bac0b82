import type { StoredEvent, Trajectory } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";

const page = async (server: TestServer, id: string, query = "") =>
  (await server.call("GET", `/sandboxes/${id}/events${query}`)).body;
const types = (events: readonly StoredEvent[]) => events.map((event) => event.event_type);
const seqs = (events: readonly StoredEvent[]) => events.map((event) => event.seq);

test("without a filter the newest come first, and the count is that of the log", async ({ server, sandbox }) => {
  await sandbox.post({ events: [{ event_type: "a" }, { event_type: "b" }, { event_type: "c" }] });
  const found = await page(server, sandbox.id);
  expect(types(found.events).slice(-2)).toEqual(["STATE_CHANGED", "SPAWNED"]);
  expect(seqs(found.events)).toEqual(seqs(found.events).toSorted((a, b) => b - a));
  expect(found).toMatchObject({
    total_count: found.events.length,
    sandbox_id: sandbox.id,
    last_seq: found.events[0].seq,
  });
});

test("filters combine, and total_count counts what they match", async ({ server, sandbox }) => {
  await sandbox.post({
    events: ["a", "b", "a", "c", "a"].map((event_type) => ({
      event_type,
      source: event_type === "b" ? "worker" : "agent",
    })),
  });
  const all = (await page(server, sandbox.id, "?order=asc")).events as readonly StoredEvent[];
  const [first, , third] = all.filter((event) => event.event_type === "a");
  expect(await page(server, sandbox.id, "?event_type=a&limit=2")).toMatchObject({
    total_count: 3,
    events: [{ event_type: "a" }, { event_type: "a" }],
  });
  expect(types((await page(server, sandbox.id, "?event_type=a&event_type=b&order=asc")).events)).toEqual([
    "a",
    "b",
    "a",
    "a",
  ]);
  expect(await page(server, sandbox.id, "?source=worker")).toMatchObject({
    total_count: 1,
    events: [{ event_type: "b" }],
  });
  expect(await page(server, sandbox.id, "?source=user")).toMatchObject({
    total_count: 1,
    events: [{ event_type: "SPAWNED" }],
  });
  const between = await page(server, sandbox.id, `?after_seq=${first!.seq}&before_seq=${third!.seq}&event_type=a`);
  expect(between).toMatchObject({ total_count: 1, last_seq: all.at(-1)!.seq });
  expect(await page(server, sandbox.id, "?event_type=nothing")).toMatchObject({ total_count: 0, events: [] });
});

test("after_seq reads forward, unless another order is asked for", async ({ server, sandbox }) => {
  await sandbox.post({ events: ["a", "b", "c"].map((event_type) => ({ event_type })) });
  const all = (await page(server, sandbox.id, "?order=asc")).events as readonly StoredEvent[];
  const start = all[1]!.seq;
  expect(seqs((await page(server, sandbox.id, `?after_seq=${start}`)).events)).toEqual(seqs(all.slice(2)));
  expect(seqs((await page(server, sandbox.id, `?after_seq=${start}&order=desc`)).events)).toEqual(
    seqs(all.slice(2)).toReversed(),
  );
  expect(seqs((await page(server, sandbox.id, `?before_seq=${start}`)).events)).toEqual(seqs(all.slice(0, 1)));
  expect((await page(server, sandbox.id, "?after_seq=9007199254740991")).events).toEqual([]);
});

test("pages by offset lose and repeat nothing", async ({ server, sandbox }) => {
  await sandbox.post({ events: Array.from({ length: 25 }, (_, n) => ({ event_type: `n${n}` })) });
  const whole = (await page(server, sandbox.id, "?limit=500")).events;
  const pages: StoredEvent[] = [];
  for (let offset = 0; offset < whole.length; offset += 7)
    pages.push(...(await page(server, sandbox.id, `?limit=7&offset=${offset}`)).events);
  expect(pages).toEqual(whole);
  expect((await page(server, sandbox.id, "?offset=1000")).events).toEqual([]);
});

test("events of all sandboxes are those of one's projects", async ({ server }) => {
  const mine = await server.createProject();
  const [inside, outside] = [await server.createSandbox({ project_id: mine }), await server.createSandbox()];
  for (const { post } of [inside, outside]) await post({ event_type: "seen.by.some" });
  const { token } = await server.createToken("viewer", mine);
  const { body } = await server.call("GET", "/events?limit=500", { token });
  expect(new Set(body.events.map((event: StoredEvent) => event.sandbox_id))).toEqual(new Set([null, inside.id]));
  expect(body.total_count).toBe(body.events.length);
  const { body: filtered } = await server.call("GET", "/events?event_type=seen.by.some", { token });
  expect(filtered).toMatchObject({ total_count: 1, events: [{ sandbox_id: inside.id }] });
  const { body: everything } = await server.call("GET", "/events?event_type=seen.by.some");
  expect(everything.total_count).toBe(2);
});

const trajectory = async (server: TestServer, id: string, query = ""): Promise<Trajectory> =>
  (await server.call("GET", `/sandboxes/${id}/trajectory${query}`)).body;

const tool = (name: string, more: object = {}) => ({
  event_type: "agent.tool_use",
  event_data: { tool: name, ...more },
});

async function postMixed(sandbox: TestSandbox): Promise<void> {
  const noise = [
    tool("Grep", { input: { pattern: "x" } }),
    tool("Glob", { input: { pattern: "src/**/*.ts" } }),
    { event_type: "agent.tool_completed", event_data: { tool: "Glob", tool_input: { pattern: "**" } } },
    { event_type: "agent.tool_result", event_data: { tool: "Grep" } },
  ];
  const beats = ["agent.heartbeat", "heartbeat", "spec.heartbeat"].map((event_type) => ({ event_type }));
  const kept = [
    tool("Read"),
    tool("Glob", { input: { pattern: "src/*.ts" } }),
    { event_type: "agent.message", event_data: { content: "Grep" } },
  ];
  await sandbox.post({ events: Array.from({ length: 60 }, () => [...noise, ...beats, ...kept]).flat() });
}

test("heartbeats of every kind are folded, and noise is left out unless it is asked for", async ({
  server,
  sandbox,
}) => {
  await postMixed(sandbox);
  await server.call("POST", `/sandboxes/${sandbox.id}/heartbeat`, { token: sandbox.token });
  const found = await trajectory(server, sandbox.id, "?limit=1000");
  expect(found.heartbeat_summary.count).toBe(181);
  expect(found.heartbeat_summary.first_heartbeat! <= found.heartbeat_summary.last_heartbeat!).toBe(true);
  expect(found.events.filter((event) => event.event_type.startsWith("agent."))).toHaveLength(180);
  expect(found.events.some((event) => /heartbeat/.test(event.event_type) || event.event_data["tool"] === "Grep")).toBe(
    false,
  );
  const [count] = await server.db.query(sql`select count(*) as count from events where sandbox_id = ${sandbox.id}`);
  expect(found).toMatchObject({
    sandbox_id: sandbox.id,
    total_events: count?.["count"],
    trajectory_events: found.events.length,
    has_more: false,
    next_cursor: null,
  });
  const noisy = await trajectory(server, sandbox.id, "?limit=1000&noise=true");
  expect(noisy.events.filter((event) => event.event_type.startsWith("agent."))).toHaveLength(420);
});

test("pages are full while more exist, and lose and repeat nothing in both directions", async ({ server, sandbox }) => {
  await postMixed(sandbox);
  await server.db.query(sql`update events set created_at = '2026-01-01T00:00:00Z' where sandbox_id = ${sandbox.id}`);
  const whole = (await trajectory(server, sandbox.id, "?limit=1000")).events;
  for (const noise of ["false", "true"]) {
    const all = (await trajectory(server, sandbox.id, `?limit=1000&noise=${noise}`)).events;
    const older: StoredEvent[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const found: Trajectory = await trajectory(
        server,
        sandbox.id,
        `?limit=17&noise=${noise}${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      if (found.has_more) expect(found.events).toHaveLength(17);
      older.push(...found.events);
      cursor = found.next_cursor;
    }
    expect(older).toEqual(all);
  }
  const newer: StoredEvent[] = [];
  for (let cursor = whole.at(-1)!.id as string; ;) {
    const found = await trajectory(server, sandbox.id, `?limit=17&direction=newer&cursor=${cursor}`);
    newer.unshift(...found.events);
    if (!found.has_more) break;
    cursor = found.prev_cursor!;
  }
  expect(newer).toEqual(whole.slice(0, -1));
});

const LIST_BYTES = 32 * 1024 * 1024;

const bytesOf = (events: readonly StoredEvent[]) =>
  events.reduce((bytes, event) => bytes + JSON.stringify(event.event_data).length, 0);

test("a page ends where it is large enough, says that there is more, and what is left is lost nowhere", async ({
  server,
  sandbox,
}) => {
  const text = "x".repeat(250_000);
  for (let n = 0; n < 150; n += 25)
    await sandbox.post({ events: Array.from({ length: 25 }, () => ({ event_type: "large", event_data: { text } })) });
  const all = (await server.db.query(
    sql`select seq, size from events where sandbox_id = ${sandbox.id} order by seq desc limit 1000`,
  )) as unknown as readonly { readonly seq: number; readonly size: number }[];
  const expected = all.map(({ seq }) => seq);

  const listed: number[] = [];
  for (let [query, isMore] = ["", true]; isMore;) {
    const found = await page(server, sandbox.id, `?limit=500${query}`);
    if (found.has_more) expect(bytesOf(found.events)).toBeGreaterThanOrEqual(LIST_BYTES);
    expect(bytesOf(found.events)).toBeLessThan(LIST_BYTES + 300_000);
    listed.push(...seqs(found.events));
    [query, isMore] = [`&before_seq=${found.events.at(-1).seq}`, found.has_more];
  }
  expect(listed).toEqual(expected);

  const seen: number[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const found: Trajectory = await trajectory(
      server,
      sandbox.id,
      `?limit=1000${cursor === "" ? "" : `&cursor=${cursor}`}`,
    );
    expect(bytesOf(found.events)).toBeLessThan(LIST_BYTES + 300_000);
    expect(found.has_more).toBe(found.next_cursor !== null);
    seen.push(...seqs(found.events));
    cursor = found.next_cursor;
  }
  expect(seen).toEqual(expected);
});

test("a cursor of another sandbox is none", async ({ server, sandbox }) => {
  const other = await server.createSandbox();
  const { body } = await other.post({ event_type: "agent.message" });
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/trajectory?cursor=${body.event_id}`)).status).toBe(404);
});
