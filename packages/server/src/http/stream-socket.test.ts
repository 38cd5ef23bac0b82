/** The live stream as a client has it: frames, replay, filters, credentials, flow. */
import type { EventFrame, ServerFrame } from "@drover/contract";
import { describe, expect } from "vitest";
import { isEvent, isSync, type LiveStream } from "../../../testkit/src/live-stream.ts";
import { isPosted, isType, numbers, post, settle } from "../../../testkit/src/posted.ts";
import { ADMIN_TOKEN, startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { isFullPage, listTail } from "../store/events.ts";
import { sql } from "../store/sql.ts";

const seqs = (frames: readonly EventFrame[]) => frames.map((frame) => frame.seq);
const hasError = (frame: ServerFrame) => "error" in frame;

describe("frames", () => {
  test("an event is published flat, with what the server knows of it", async ({ server, sandbox }) => {
    const stream = await server.openStream({ query: { entity_ids: sandbox.id } });
    await stream.next(isSync);
    const event_data = { n: 1, content: "ä\u2028", source: "mine", original_event_type: "mine" };
    const { body } = await sandbox.post({ event_type: "agent.tool_use", event_data, source: "worker" });
    const frame = await stream.next((one) => isEvent(one) && one.seq === body.seq);
    expect(frame).toEqual({
      type: "event",
      seq: body.seq,
      sandbox_seq: expect.any(Number),
      id: body.event_id,
      ts: body.timestamp,
      event_type: "SANDBOX_agent.tool_use",
      entity_type: "sandbox",
      entity_id: sandbox.id,
      project_id: sandbox.created.project_id,
      payload: { n: 1, content: "ä\u2028", source: "worker", original_event_type: "agent.tool_use" },
    });
    const replayed = await server.openStream({ query: { entity_ids: sandbox.id, after_seq: body.seq - 1 } });
    expect(await replayed.next((one) => isEvent(one) && one.seq === body.seq)).toEqual(frame);
  });

  test("frames of every length arrive whole", async ({ server, sandbox }) => {
    const stream = await server.openStream({ query: { entity_ids: sandbox.id } });
    await stream.next(isSync);
    const lengths = [0, 1, 124, 125, 126, 127, 1_000, 65_200, 65_535, 65_536, 200_000];
    for (const [n, length] of lengths.entries())
      await sandbox.post({ event_type: "x", event_data: { n, content: "é".repeat(length / 2) } });
    await stream.until(() => stream.events().filter(isPosted).length === lengths.length);
    expect(
      stream
        .events()
        .filter(isPosted)
        .map((frame) => (frame.payload["content"] as string).length),
    ).toEqual(lengths.map((length) => Math.floor(length / 2)));
  });

  test("events of other things carry no prefix", async ({ server }) => {
    const stream = await server.openStream({ query: { entity_types: "project,token" } });
    await stream.next(isSync);
    const project = await server.createProject();
    expect(await stream.next(isEvent)).toMatchObject({
      event_type: "project.created",
      entity_type: "project",
      entity_id: project,
      project_id: project,
      sandbox_seq: null,
    });
  });
});

describe("replay", () => {
  test("after_seq gives everything after it, then one sync, then live ones", async ({ server, sandbox }) => {
    await post(sandbox, 0, 1_000);
    await post(sandbox, 1_000, 200);
    const first = (await server.call("GET", `/sandboxes/${sandbox.id}/events?order=asc&limit=1`)).body.events[0].seq;
    const stream = await server.openStream({ query: { after_seq: first, entity_ids: sandbox.id } });
    const sync = await stream.next(isSync);
    expect(sync).toMatchObject({ from_seq: first, through_seq: expect.any(Number) });
    expect(numbers(stream.events().filter(isPosted))).toEqual(Array.from({ length: 1_200 }, (_, n) => n));
    await post(sandbox, 1_200, 3);
    await stream.until(() => stream.events().filter(isPosted).length === 1_203);
    expect(stream.frames.filter(isSync)).toHaveLength(1);
  });

  test("without after_seq there is one sync and then only what is new", async ({ server, sandbox }) => {
    await post(sandbox, 0, 5);
    const stream = await server.openStream();
    expect(await stream.next(() => true)).toMatchObject({ type: "sync" });
    await post(sandbox, 5, 1);
    await stream.until(() => stream.events().some(isPosted));
    expect(numbers(stream.events().filter(isPosted))).toEqual([5]);
  });

  test("no event is lost, repeated or out of order at the seam while others post", async ({ server }) => {
    const sandboxes = await Promise.all([1, 2, 3].map(() => server.createSandbox()));
    const start = server.deps.tail.head();
    let isOver = false;
    const writers = sandboxes.map(async (sandbox, writer) => {
      for (let n = 0; n < 60; n += 1) await post(sandbox, n, 1 + (writer % 3), { writer });
    });
    const readers = (async () => {
      const opened: LiveStream[] = [];
      while (!isOver && opened.length < 15) {
        // From the start, from somewhere in the middle, and from the very head.
        for (const after of [start, Math.floor((start + server.deps.tail.head()) / 2), server.deps.tail.head()]) {
          const stream = await server.openStream({ query: { after_seq: after } });
          opened.push(stream);
          await stream.next(isSync);
        }
      }
      return opened;
    })();
    await Promise.all(writers);
    isOver = true;
    const streams = await readers;
    const [{ last } = {}] = await server.db.query(sql`select max(seq) as last from events`);
    const all = await server.db.query(sql`select seq from events where seq > ${start} order by seq limit 100000`);
    for (const stream of streams) {
      await stream.until(() => stream.events().at(-1)?.seq === last);
      const from = Number(stream.frames.find(isSync)?.["from_seq"]);
      expect(seqs(stream.events())).toEqual(all.map((row) => row["seq"]).filter((seq) => Number(seq) > from));
      expect(stream.frames.filter(isSync)).toHaveLength(1);
      stream.close();
    }
  }, 60_000);

  test("a log longer than memory is replayed whole", async () => {
    await using server = await startTestServer({ config: { eventBurst: 100_000 } });
    const sandbox = await server.createSandbox();
    const other = await server.createSandbox();
    for (let n = 0; n < 18; n += 1) await post(n % 2 === 0 ? sandbox : other, n * 1_000, 1_000);
    const stream = await server.openStream({ query: { after_seq: 0, entity_ids: sandbox.id } });
    await stream.next(isSync);
    expect(numbers(stream.events().filter(isPosted))).toEqual(
      Array.from({ length: 9 }, (_, batch) => Array.from({ length: 1_000 }, (_unused, n) => batch * 2_000 + n)).flat(),
    );
    stream.close();
  }, 60_000);
});

describe("filters", () => {
  test("a type is matched in both forms, and lists combine", async ({ server, sandbox }) => {
    const other = await server.createSandbox();
    const open = (query: Record<string, string>) => server.openStream({ query: { after_seq: 0, ...query } });
    for (const { post: say } of [sandbox, other])
      await say({
        events: [
          { event_type: "agent.tool_use", event_data: { n: 1 } },
          { event_type: "agent.message", event_data: { n: 2 } },
        ],
      });
    for (const event_types of [
      "SANDBOX_agent.tool_use",
      "SANDBOX_AGENT_TOOL_USE",
      " SANDBOX_AGENT_TOOL_USE , nothing",
    ]) {
      const stream = await open({ event_types, entity_ids: sandbox.id });
      await stream.next(isSync);
      expect(stream.events()).toMatchObject([{ entity_id: sandbox.id, payload: { n: 1 } }]);
    }
    for (const query of [
      { event_types: "agent.tool_use" },
      { event_types: "sandbox_agent_tool_use" },
      { entity_types: "task" },
      { entity_ids: "drover-00000000-000000" },
      { entity_ids: `${sandbox.id}x` },
    ]) {
      const stream = await open({ entity_ids: sandbox.id, ...query });
      await stream.next(isSync);
      expect(stream.events(), JSON.stringify(query)).toEqual([]);
    }
    const both = await open({
      event_types: "SANDBOX_agent.message",
      entity_ids: `${sandbox.id},${other.id}`,
      entity_types: "sandbox",
    });
    await both.next(isSync);
    expect(both.events().map((frame) => frame.entity_id)).toEqual([sandbox.id, other.id]);
  });

  test("a client sees only its projects, and asking for others matches nothing", async ({ server }) => {
    const project = await server.createProject();
    const [mine, foreign] = [await server.createSandbox({ project_id: project }), await server.createSandbox()];
    const { token } = await server.createToken("viewer", project);
    const open = async (query: Record<string, string>) => {
      const stream = await server.openStream({ token, query: { after_seq: 0, ...query } });
      await stream.next(isSync);
      return stream;
    };
    const [all, asked] = [await open({}), await open({ entity_ids: foreign.id })];
    asked.send({ type: "subscribe", entity_ids: [foreign.id], event_types: [] });
    await asked.next((frame) => "status" in frame);
    for (const { post: say } of [foreign, mine]) await say({ event_type: "agent.message", event_data: { n: 1 } });
    await all.until(() => all.events().some(isPosted));
    await settle(asked);
    expect(new Set(all.events().map((frame) => frame.project_id))).toEqual(new Set([project]));
    expect(asked.events()).toEqual([]);
  });

  test("given keys replace, absent ones stay, an empty list clears", async ({ server, sandbox }) => {
    const other = await server.createSandbox();
    const stream = await server.openStream({ query: { entity_ids: sandbox.id, event_types: "SANDBOX_a" } });
    await stream.next(isSync);
    let n = 0;
    const hears = async () => {
      n += 1;
      for (const event_type of ["a", "b"])
        for (const { post: say } of [sandbox, other]) await say({ event_type, event_data: { n } });
      await settle(stream);
      return stream
        .events()
        .filter((frame) => frame.payload["n"] === n)
        .map(
          (frame) => `${frame.entity_id === sandbox.id ? "this" : "other"} ${frame.event_type.replace("SANDBOX_", "")}`,
        );
    };
    const subscribe = async (filters: object) => {
      stream.send({ type: "subscribe", ...filters });
      expect(await stream.next((frame) => "status" in frame)).toEqual({ status: "subscribed", filters });
    };
    expect(await hears()).toEqual(["this a"]);
    await subscribe({ event_types: ["SANDBOX_B"] });
    expect(await hears()).toEqual(["this b"]);
    await subscribe({ entity_ids: [other.id] });
    expect(await hears()).toEqual(["other b"]);
    await subscribe({ event_types: [] });
    expect(await hears()).toEqual(["other a", "other b"]);
    await subscribe({ entity_ids: [], event_types: ["SANDBOX_a"] });
    expect(await hears()).toEqual(["this a", "other a"]);
    await subscribe({});
    expect(await hears()).toEqual(["this a", "other a"]);
  });

  test("a frame sent in the moment of opening is heard", async ({ server, sandbox }) => {
    const firstFrames = [{ type: "subscribe", entity_ids: [sandbox.id] }, { type: "ping" }];
    const stream = await server.openStream({ firstFrames });
    expect(await stream.next((frame) => "status" in frame)).toEqual({
      status: "subscribed",
      filters: { entity_ids: [sandbox.id] },
    });
    await stream.next(isType("pong"));
    const late = await server.openStream({
      token: undefined,
      firstFrames: [{ type: "auth", token: ADMIN_TOKEN }, ...firstFrames],
    });
    await late.next((frame) => "status" in frame);
  });

  test("what cannot be a name is refused without an end to the stream", async ({ server, sandbox }) => {
    const stream = await server.openStream({ query: { after_seq: 0, entity_ids: sandbox.id } });
    const bad = ["a\u0000b", "", "x".repeat(201)].map((name) => ({ type: "subscribe", entity_ids: [name] }));
    const frames = [
      "{",
      "1",
      "null",
      "[]",
      '"x"',
      "{}",
      '{"type":"shout"}',
      '{"type":"ack"}',
      '{"type":"ack","seq":-1}',
      '{"type":"subscribe","event_types":"x"}',
      ...bad,
    ];
    for (const frame of frames) {
      stream.send(frame);
      expect(await stream.next(hasError), JSON.stringify(frame)).toEqual({ error: expect.any(String) });
    }
    await post(sandbox, 1, 1);
    await stream.until(() => stream.events().some(isPosted));
  });

  test("invalid JSON is told as such", async ({ server }) => {
    const stream = await server.openStream();
    stream.send("no json");
    expect(await stream.next(hasError)).toEqual({ error: "Invalid JSON message" });
  });
});

describe("credentials", () => {
  const refused = async (server: TestServer, options: Parameters<TestServer["openStream"]>[0], code: number) => {
    const stream = await server.openStream(options);
    expect(await stream.next(hasError)).toEqual({ error: expect.any(String) });
    expect((await stream.closed).code).toBe(code);
    expect(stream.events()).toEqual([]);
  };

  test("a bad credential is told and closed with 4401, wherever it stands", async ({ server, sandbox }) => {
    const query = { after_seq: 0 };
    await refused(server, { query, token: "drv_u_nobody" }, 4401);
    await refused(server, { query: { after_seq: "x" }, token: "drv_u_nobody" }, 4401);
    await refused(server, { query, token: undefined, headers: { authorization: "Basic x" } }, 4401);
    await refused(server, { query: { ...query, ticket: "drv_t_nobody" }, token: undefined }, 4401);
    await refused(server, { query, token: undefined, headers: { cookie: "drover_session=drv_c_nobody" } }, 4401);
    await refused(server, { query, token: undefined, firstFrames: [{ type: "auth", token: "drv_u_nobody" }] }, 4401);
    await refused(server, { query, token: undefined, firstFrames: [{ type: "ping" }] }, 4401);
    await refused(server, { query, token: undefined, firstFrames: ["no json"] }, 4401);
    await refused(server, { query, token: sandbox.token }, 4403);
    await refused(server, { query, token: undefined, firstFrames: [{ type: "auth", token: sandbox.token }] }, 4403);
  });

  test("the first credential present decides: a bad bearer is not saved by a good ticket", async ({ server }) => {
    const { body } = await server.call("POST", "/auth/ws-ticket");
    await refused(server, { token: "drv_u_nobody", query: { ticket: body.ticket } }, 4401);
    const stream = await server.openStream({ token: undefined, query: { ticket: body.ticket } });
    await stream.next(isSync);
  });

  test("an auth frame, a cookie and a ticket open the stream; a ticket opens one", async ({ server }) => {
    const opens = async (options: Parameters<TestServer["openStream"]>[0]) =>
      (await server.openStream(options)).next(isSync);
    await opens({ token: undefined, firstFrames: [{ type: "auth", token: ADMIN_TOKEN }] });
    const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: ADMIN_TOKEN } });
    await opens({ token: undefined, headers: { cookie: String(login.headers["set-cookie"]).split(";")[0]! } });
    const { body } = await server.call("POST", "/auth/ws-ticket");
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(30_000);
    await opens({ token: undefined, query: { ticket: body.ticket } });
    await refused(server, { token: undefined, query: { ticket: body.ticket } }, 4401);
  });

  test("a ticket is void after its time", async ({ server }) => {
    const { body } = await server.call("POST", "/auth/ws-ticket");
    await server.db.query(sql`update one_time_secrets set expires_at = now() where kind = 'ws'`);
    await refused(server, { token: undefined, query: { ticket: body.ticket } }, 4401);
  });

  test("a revoked credential closes its live sockets, and only those", async ({ server }) => {
    const [ending, staying] = [await server.createToken("viewer"), await server.createToken("viewer")];
    const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: ending.token } });
    const cookie = String(login.headers["set-cookie"]).split(";")[0]!;
    const closing = [
      await server.openStream({ token: ending.token }),
      await server.openStream({ token: undefined, headers: { cookie } }),
    ];
    const open = await server.openStream({ token: staying.token });
    for (const stream of [...closing, open]) await stream.next(isSync);
    await server.call("DELETE", `/tokens/${ending.id}`);
    for (const stream of closing) expect((await stream.closed).code).toBe(4401);
    await settle(open);
  });

  test("a foreign Origin gets nothing", async ({ server }) => {
    const stream = await server.openStream({ headers: { origin: "https://evil.example" }, query: { after_seq: 0 } });
    await stream.next(hasError);
    expect((await stream.closed).code).toBeGreaterThan(4_000);
    expect(stream.events()).toEqual([]);
  });

  test("a query that is none is refused", async ({ server }) => {
    for (const query of [
      { after_seq: "x" },
      { after_seq: -1 },
      { after_seq: "1e400" },
      { after_seq: "" },
      { entity_ids: "a\u0000b" },
      { event_types: "x".repeat(201) },
    ]) {
      const stream = await server.openStream({ query });
      await stream.next(hasError);
      expect((await stream.closed).code).toBe(1008);
    }
  });

  test.concurrent("no credential within five seconds is 4401", async ({ server }) => {
    await refused(server, { token: undefined, query: { after_seq: 0 } }, 4401);
  });

  test.concurrent("logging out closes the sockets of that session, and only those", async ({ server }) => {
    const logIn = async () => {
      const login = await server.call("POST", "/auth/login", { token: undefined, body: { token: ADMIN_TOKEN } });
      return String(login.headers["set-cookie"]).split(";")[0]!;
    };
    const [leaving, staying] = [await logIn(), await logIn()];
    const [closing, open] = [
      await server.openStream({ token: undefined, headers: { cookie: leaving } }),
      await server.openStream({ token: undefined, headers: { cookie: staying } }),
    ];
    for (const stream of [closing, open]) await stream.next(isSync);
    await server.call("POST", "/auth/logout", { token: undefined, headers: { cookie: leaving } });
    expect((await closing.closed).code).toBe(4401);
    await settle(open);
  });
});

describe("keeping alive and flow", () => {
  test("a ping is answered with the head of the log", async ({ server, sandbox }) => {
    const stream = await server.openStream();
    const { body } = await sandbox.post({ event_type: "agent.message" });
    stream.send({ type: "ping" });
    expect(await stream.next(isType("pong"))).toMatchObject({ head: expect.any(Number) });
    expect(Number((stream.frames.findLast(isType("pong")) as { head?: unknown }).head)).toBeGreaterThanOrEqual(
      body.seq,
    );
  });

  test("silence is broken by a ping", async () => {
    await using server = await startTestServer({ config: { streamPingSeconds: 0.5 } });
    const stream = await server.openStream();
    await stream.next(isType("ping"));
    await stream.next(isType("ping"));
  });

  test("a client that acknowledges has at most 2,000 events open", async ({ server, sandbox }) => {
    for (let n = 0; n < 5; n += 1) await post(sandbox, n * 1_000, 1_000);
    const head = server.deps.tail.head();
    const stream = await server.openStream({ query: { entity_ids: sandbox.id } });
    await stream.next(isSync);
    stream.send({ type: "ack", seq: head });
    await settle(stream);
    for (let n = 0; n < 5; n += 1) await post(sandbox, n * 1_000, 1_000);
    await stream.until(() => stream.events().length >= 2_000);
    await settle(stream);
    expect(stream.events()).toHaveLength(2_000);
    stream.send({ type: "ack", seq: stream.events()[499]!.seq });
    await stream.until(() => stream.events().length >= 2_500);
    await settle(stream);
    expect(stream.events()).toHaveLength(2_500);
    stream.send({ type: "ack", seq: stream.events().at(-1)!.seq });
    await stream.until(() => stream.events().length >= 4_500);
    stream.send({ type: "ack", seq: stream.events().at(-1)!.seq });
    await stream.until(() => stream.events().length === 5_000);
    expect(numbers(stream.events())).toEqual(Array.from({ length: 5_000 }, (_, n) => n));
  }, 60_000);
});

describe("large bodies", () => {
  test("a page ends by its bytes, and every event arrives", async ({ server, sandbox }) => {
    const content = "x".repeat(200_000);
    for (let n = 0; n < 4; n += 1) await post(sandbox, n * 30, 30, { content });
    const rows = await listTail(server.deps.db, { projectId: null, entityIds: [sandbox.id] }, 0, 500);
    expect(rows.length).toBeLessThan(30);
    expect(isFullPage(rows, 500)).toBe(true);
    const stream = await server.openStream({ query: { after_seq: 0, entity_ids: sandbox.id } });
    await stream.next(isSync);
    expect(numbers(stream.events().filter(isPosted))).toEqual(Array.from({ length: 120 }, (_, n) => n));
  });
});
