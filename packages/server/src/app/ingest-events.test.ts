import { EVENT_DATA_LIMIT_BYTES, type StoredEvent } from "@drover/contract";
import { expect } from "vitest";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { openSeverablePostgres } from "../../../testkit/src/severed-postgres.ts";
import { sql } from "../store/sql.ts";

const listAll = async (server: TestServer, id: string): Promise<readonly StoredEvent[]> => {
  const found: StoredEvent[] = [];
  for (;;) {
    const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=500&after_seq=${found.at(-1)?.seq ?? 0}`);
    found.push(...body.events);
    if (body.events.length < 500) return found;
  }
};

// First of all: after a repeated key everything is read again for a while, and this is about what is not.
test("what somebody else wrote between two events of a sandbox is not written over", async ({ server, sandbox }) => {
  const load = async () =>
    (
      await server.db.query(
        sql`select turn, last_sandbox_seq, last_seq, xmin::text as version from sandboxes where id = ${sandbox.id}`,
      )
    )[0];
  await sandbox.post({ event_type: "agent.message", event_data: { turn: 2 } });
  await sandbox.post({ event_type: "agent.message", event_data: { turn: 3 } });
  const before = await load();
  expect(before).toMatchObject({ turn: 3 });
  await server.db.query(sql`update sandboxes set turn = 41 where id = ${sandbox.id}`);
  const { body } = await sandbox.post({ event_type: "x" });
  expect(await load()).toMatchObject({
    turn: 41,
    last_sandbox_seq: Number(before?.["last_sandbox_seq"]) + 1,
    last_seq: body.seq,
  });
  await sandbox.post({ event_type: "x" });
  await server.db.query(sql`update sandboxes set closed_at = now() where id = ${sandbox.id}`);
  const { seq } = body;
  expect((await sandbox.post({ event_type: "x" })).status).toBe(401);
  expect((await load())?.["last_seq"]).toBe(seq + 1);
});

test("one event is answered with its number and is then in the log", async ({ server, sandbox }) => {
  const event_data = { turn: 3, content: "ä\u2028😀", nested: { list: [1, null, { a: true }] }, __proto__x: 1 };
  const answer = await sandbox.post({ event_type: "agent.message", event_data, source: "worker" });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    status: "received",
    sandbox_id: sandbox.id,
    event_type: "agent.message",
    event_id: expect.any(String),
    seq: expect.any(Number),
    timestamp: expect.stringMatching(/Z$/),
  });
  const events = await listAll(server, sandbox.id);
  expect(events.find((event) => event.id === answer.body.event_id)).toEqual({
    id: answer.body.event_id,
    seq: answer.body.seq,
    sandbox_seq: expect.any(Number),
    sandbox_id: sandbox.id,
    task_id: null,
    event_type: "agent.message",
    event_data,
    source: "worker",
    created_at: answer.body.timestamp,
    client_event_id: null,
    generation: 1,
    caused_by: null,
  });
});

test("defaults are empty data and the agent as source", async ({ server, sandbox }) => {
  const { body } = await sandbox.post({ event_type: "heartbeat" });
  const stored = (await listAll(server, sandbox.id)).find((event) => event.seq === body.seq);
  expect(stored).toMatchObject({ event_data: {}, source: "agent" });
});

test("data stays equal as JSON, whatever its keys and numbers", async ({ server, sandbox }) => {
  const raw =
    '{"event_type":"x","event_data":{"__proto__":{"a":1},"constructor":1,"":0,"z":1,"a":-0.5e-7,"big":1.7976931348623157e308,"s":"\\\\u0000 \\" \\ud83d\\ude00"}}';
  const answer = await server.call("POST", `/sandboxes/${sandbox.id}/events`, { token: sandbox.token, raw });
  expect(answer.status).toBe(200);
  const stored = (await listAll(server, sandbox.id)).find((event) => event.seq === answer.body.seq);
  const sortKeys = (value: object) => Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  expect(sortKeys(stored?.event_data ?? {})).toEqual(sortKeys(JSON.parse(raw).event_data));
});

test("an event may be called as anything in JavaScript is", async ({ server, sandbox }) => {
  for (const event_type of ["__proto__", "constructor", "toString", "hasOwnProperty", "-", ".", "x".repeat(100)]) {
    expect((await sandbox.post({ event_type })).status, event_type).toBe(200);
  }
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/spine`)).body.types).toContain("__proto__");
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=__proto__`)).body.total_count).toBe(1);
});

test("data of exactly the limit is kept", async ({ sandbox }) => {
  const content = "x".repeat(EVENT_DATA_LIMIT_BYTES - '{"a":""}'.length);
  expect((await sandbox.post({ event_type: "agent.message", event_data: { a: content } })).status).toBe(200);
});

test("names that are cut for the index are cut between characters", async ({ sandbox }) => {
  const long = `${"a".repeat(199)}😀`;
  const answer = await sandbox.post({ event_type: "agent.tool_use", event_data: { tool: long, tool_use_id: long } });
  expect(answer.status).toBe(200);
});

test("a batch is answered with counts and its last number", async ({ server, sandbox }) => {
  const events = Array.from({ length: 1_000 }, (_, index) => ({ event_type: "agent.message", event_data: { index } }));
  const { status, body } = await sandbox.post({ events });
  expect(status).toBe(200);
  expect(body).toEqual({
    status: "received",
    sandbox_id: sandbox.id,
    accepted: 1_000,
    duplicates: 0,
    last_seq: expect.any(Number),
  });
  const stored = (await listAll(server, sandbox.id)).filter((event) => event.event_type === "agent.message");
  expect(stored.map((event) => event.event_data["index"])).toEqual(events.map((_, index) => index));
  expect(stored.at(-1)?.seq).toBe(body.last_seq);
});

test("the same client_event_id again is a duplicate: the first payload stays", async ({ server, sandbox }) => {
  const first = await sandbox.post({ event_type: "agent.message", event_data: { n: 1 }, client_event_id: "a" });
  const again = await sandbox.post({ event_type: "agent.thinking", event_data: { n: 2 }, client_event_id: "a" });
  expect(again.body).toEqual(first.body);
  const batch = await sandbox.post({
    events: [
      { event_type: "x", event_data: { n: 3 }, client_event_id: "a" },
      { event_type: "x", event_data: { n: 4 }, client_event_id: "b" },
      { event_type: "x", event_data: { n: 5 }, client_event_id: "b" },
      { event_type: "x", event_data: { n: 6 } },
    ],
  });
  expect(batch.body).toMatchObject({ accepted: 2, duplicates: 2 });
  const onlyKnown = await sandbox.post({ events: [{ event_type: "x", client_event_id: "a" }] });
  expect(onlyKnown.body).toMatchObject({ accepted: 0, duplicates: 1, last_seq: first.body.seq });
  const numbers = (await listAll(server, sandbox.id)).flatMap((event) => event.event_data["n"] ?? []);
  expect(numbers).toEqual([1, 4, 6]);
});

test("the same client_event_id of another sandbox is another event", async ({ server, sandbox }) => {
  const other = await server.createSandbox();
  const event = { event_type: "agent.message", client_event_id: "same" };
  const answers = [await sandbox.post(event), await other.post(event)];
  expect(new Set(answers.map((answer) => answer.body.event_id)).size).toBe(2);
});

test("a repeated key of the request repeats nothing, also where its reply was lost with the server", async ({
  server,
  sandbox,
}) => {
  const headers = { "idempotency-key": "batch 1" };
  const body = { events: [{ event_type: "x" }, { event_type: "y" }] };
  expect((await sandbox.post(body, headers)).body).toMatchObject({ accepted: 2, duplicates: 0 });
  expect((await sandbox.post(body, headers)).body).toMatchObject({ accepted: 2, duplicates: 0 });
  await server.db.query(sql`delete from idempotency_keys`);
  expect((await sandbox.post(body, headers)).body).toMatchObject({ accepted: 0, duplicates: 2 });
  expect((await listAll(server, sandbox.id)).filter((event) => /^[xy]$/.test(event.event_type))).toHaveLength(2);
});

test("50 posts at once over several sandboxes: seq rises strictly, sandbox_seq has no holes, nothing is lost", async ({
  server,
}) => {
  const sandboxes = await Promise.all([1, 2, 3, 4].map(() => server.createSandbox()));
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => {
      const events = Array.from({ length: 1 + (index % 7) }, (_unused, n) => ({
        event_type: "agent.message",
        event_data: { index, n },
        // Every third post comes twice in the same moment.
        client_event_id: `${index % 3 === 0 ? Math.floor(index / 6) : index}-${index % 3 === 0 ? "twice" : "once"}-${n}`,
      }));
      return sandboxes[index % 4]!.post(index % 2 === 0 ? { events } : events[0]);
    }),
  );
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
  for (const { id } of sandboxes) {
    const events = await listAll(server, id);
    expect(events.map((event) => event.sandbox_seq)).toEqual(events.map((_, index) => index + 1));
    const keys = events.flatMap((event) => event.client_event_id ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  }
  const [log] = await server.db.query(
    sql`select bool_and(rises) as rises from (select created_at >= lag(created_at) over (partition by sandbox_id order by seq) as rises from events) as all_events`,
  );
  expect(log?.["rises"]).not.toBe(false);
});

test("the answer comes after the commit: what was answered is there for everybody", async ({ server, sandbox }) => {
  for (let n = 0; n < 20; n += 1) {
    const { body } = await sandbox.post({ event_type: "agent.message" });
    expect(await server.db.query(sql`select seq from events where seq = ${body.seq}`)).toEqual([{ seq: body.seq }]);
  }
});

test("a worker that was replaced adds late events, which change nothing else", async ({ server, sandbox }) => {
  await sandbox.post({ event_type: "agent.started" });
  const replaced = await server.call("POST", `/sandboxes/${sandbox.id}/worker-token`);
  expect(replaced.body).toMatchObject({ generation: 2, worker_token: expect.stringMatching(/^drv_s_/) });
  const before = (await server.call("GET", `/sandboxes/${sandbox.id}`)).body;
  expect((await sandbox.post({ event_type: "agent.failed", event_data: { turn: 99 } })).status).toBe(200);
  const after = (await server.call("GET", `/sandboxes/${sandbox.id}`)).body;
  expect(after).toMatchObject({
    state: before.state,
    turn: before.turn,
    generation: 2,
    event_count: before.event_count + 1,
  });
  expect((await listAll(server, sandbox.id)).at(-1)).toMatchObject({ event_type: "agent.failed", generation: 1 });
});

test("without a database an event is 503 and stays with the worker; afterwards everything works again", async () => {
  await using database = await createDatabase();
  await using way = await openSeverablePostgres(database.url);
  await using server = await startTestServer({ database: { url: way.url, db: database.db } });
  const sandbox = await server.createSandbox();
  const event = { event_type: "agent.message", client_event_id: "kept by the worker" };
  expect((await sandbox.post({ event_type: "agent.started" })).status).toBe(200);

  await way.cut();
  const refused = await sandbox.post(event);
  expect(refused.status).toBe(503);
  expect(refused.headers["retry-after"]).toBeDefined();
  expect(refused.body).toMatchObject({ status: 503, type: "urn:drover:error:database.unavailable" });
  expect((await server.request("GET", "/readyz")).status).toBe(503);
  expect((await server.request("GET", "/healthz")).status).toBe(200);
  expect((await server.call("GET", "/sandboxes")).status).toBe(503);

  await way.mend();
  expect((await sandbox.post(event)).status).toBe(200);
  expect((await server.request("GET", "/readyz")).status).toBe(200);
  const events = await listAll(server, sandbox.id);
  expect(events.filter((stored) => stored.client_event_id === event.client_event_id)).toHaveLength(1);
  expect(events.map((stored) => stored.sandbox_seq)).toEqual(events.map((_, index) => index + 1));
});
