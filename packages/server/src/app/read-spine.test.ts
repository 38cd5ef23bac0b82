import { gzipSync } from "node:zlib";
import { toTraits } from "@drover/core";
import { Spine, SPINE_FLAGS, type NewEvent, type StoredEvent } from "@drover/contract";
import fc from "fast-check";
import { expect } from "vitest";
import { test, type TestServer } from "../../../testkit/src/server.ts";
import type { SpineRow } from "../store/events.ts";
import { foldSpine } from "./read-spine.ts";

const SANDBOX = "drover-00000000-000000" as Spine["sandbox_id"];

/** The rows that the columns stand for. */
function unfold(spine: Spine) {
  let seq = spine.after_seq;
  let ms = Date.parse(spine.started_at ?? "");
  return Array.from({ length: spine.count }, (_, index) => {
    seq += spine.seq[index]!;
    ms += spine.dt[index]!;
    const tool = spine.tool[index]!;
    return {
      seq,
      ms,
      type: spine.types[spine.type[index]!],
      turn: spine.turn[index],
      tool: tool === 0 ? null : spine.tools[tool - 1],
      before: spine.ref[index] === 0 ? null : index - spine.ref[index]!,
      size: spine.size[index],
      flags: spine.flags[index],
    };
  });
}

const Row = fc.record({
  gap: fc.integer({ min: 1, max: 1_000 }),
  ms: fc.integer({ min: 0, max: 1e12 }),
  event_type: fc.constantFrom("agent.message", "agent.tool_use", "agent.tool_result", "x"),
  turn: fc.option(fc.nat(500)),
  tool: fc.option(fc.constantFrom("Read", "Edit", "Bash")),
  ref: fc.option(fc.constantFrom("t1", "t2", "t3")),
  size: fc.nat(300_000),
  flags: fc.nat(31),
});

test("columns and rows say the same", () => {
  fc.assert(
    fc.property(fc.array(Row), fc.nat(1_000), (given, afterSeq) => {
      let seq = afterSeq;
      const rows = given.map(({ gap, ms, ...rest }): SpineRow => ({
        ...rest,
        seq: (seq += gap),
        created_at: new Date(ms),
      }));
      const spine = Spine.parse(foldSpine(SANDBOX, afterSeq, rows));
      expect(spine.last_seq).toBe(rows.at(-1)?.seq ?? afterSeq);
      expect(unfold(spine)).toEqual(
        rows.map((row, index) => {
          const before = row.ref === null ? -1 : rows.slice(0, index).findLastIndex((other) => other.ref === row.ref);
          return {
            seq: row.seq,
            ms: row.created_at.getTime(),
            type: row.event_type,
            turn: row.turn ?? 0,
            tool: row.tool,
            before: before === -1 ? null : before,
            size: row.size === 0 ? 0 : Math.floor(Math.log2(row.size)) + 1,
            flags: row.flags,
          };
        }),
      );
    }),
  );
});

/** Mulberry32: the same session every time. */
function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

interface Played {
  /** Milliseconds since the event before. */
  readonly gap: number;
  readonly event: NewEvent;
}

/** A session as agents have them: turns of thinking, a tool and its result, now and then an edit, a beat every half minute. */
function playSession(count: number): readonly Played[] {
  const played: Played[] = [];
  const next = seededRandom(7);
  const say = (gap: number, event_type: string, event_data: NewEvent["event_data"]) =>
    played.push({ gap, event: { event_type, event_data, source: "agent" } });
  for (let turn = 1; played.length < count; turn += 1) {
    const name = ["Read", "Edit", "Bash", "Grep", "Glob", "Write"][next(6)]!;
    const tool_use_id = `toolu_${turn}_${next(1e6)}`;
    say(1_000 + next(9_000), "agent.assistant_message", { turn, model: "m", block_count: 2 });
    if (next(3) === 0) say(next(3), "agent.thinking", { turn, content: "x".repeat(next(2_000)) });
    say(next(3), "agent.message", { turn, content: "x".repeat(next(800)) });
    say(next(3), "agent.tool_use", { turn, tool: name, tool_use_id, input: { path: "x".repeat(next(300)) } });
    say(5 + next(1_500), "agent.tool_result", { turn, tool: name, tool_use_id, result: "x".repeat(next(4_000)) });
    if (name === "Edit") say(next(20), "agent.file_edited", { turn, tool_use_id, full_diff: "x".repeat(next(3_000)) });
    if (turn % 6 === 0) say(next(3_000), "agent.heartbeat", { status: "alive" });
  }
  return played.slice(0, count);
}

const read = async (server: TestServer, id: string, query = "") =>
  Spine.parse((await server.call("GET", `/sandboxes/${id}/spine${query}`)).body);

test("a session of 20,000 events is told in about four bytes an event", () => {
  let ms = Date.parse("2026-01-01T00:00:00Z");
  const rows = playSession(20_000).map(({ gap, event }, index): SpineRow => {
    const { event_type, event_data } = event;
    const size = Buffer.byteLength(JSON.stringify(event_data));
    return {
      seq: index + 1,
      created_at: new Date((ms += gap)),
      event_type,
      size,
      ...toTraits(event_type, event_data, false),
    };
  });
  const bytes = gzipSync(JSON.stringify(foldSpine(SANDBOX, 0, rows))).length;
  expect(bytes / rows.length).toBeLessThan(4);
});

test("the spine of a session says of every event what the log says, compressed or not", async ({ server, sandbox }) => {
  const session = playSession(2_000).map(({ event }) => event);
  for (const start of [0, 1_000])
    expect((await sandbox.post({ events: session.slice(start, start + 1_000) })).status).toBe(200);
  const answer = await server.call("GET", `/sandboxes/${sandbox.id}/spine`, { headers: { "accept-encoding": "gzip" } });
  expect(answer.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  const spine = Spine.parse(answer.body);
  expect(await read(server, sandbox.id)).toEqual(spine);
  for (const refusal of ["gzip;q=0", "identity, gzip; q=0.0", "x-gzipped"]) {
    const plain = await server.call("GET", `/sandboxes/${sandbox.id}/spine`, {
      headers: { "accept-encoding": refusal },
    });
    expect(plain.headers).toMatchObject({ vary: "accept-encoding" });
    expect(plain.headers).not.toHaveProperty("content-encoding");
  }

  const rows = unfold(spine);
  const events: StoredEvent[] = [];
  while (events.length < spine.count) {
    const after = events.at(-1)?.seq ?? 0;
    events.push(
      ...(await server.call("GET", `/sandboxes/${sandbox.id}/events?limit=500&after_seq=${after}`)).body.events,
    );
  }
  expect(rows.map((row) => [row.seq, row.ms, row.type])).toEqual(
    events.map((event) => [event.seq, Date.parse(event.created_at), event.event_type]),
  );
  const has = (flag: keyof typeof SPINE_FLAGS) => rows.map((row) => (row.flags! & SPINE_FLAGS[flag]) !== 0);
  expect(has("heartbeat")).toEqual(events.map((event) => event.event_type === "agent.heartbeat"));
  expect(has("edit")).toEqual(events.map((event) => event.event_type === "agent.file_edited"));
  expect(has("server")).toEqual(events.map((event) => ["server", "user"].includes(event.source)));
  const result = rows.find((row) => row.type === "agent.tool_result" && row.turn === 40)!;
  expect(rows[result.before!]).toMatchObject({ type: "agent.tool_use", turn: 40, tool: result.tool });
});

test("after_seq gives the rest, and nothing when there is none", async ({ server, sandbox }) => {
  await sandbox.post({ events: ["a", "b", "c"].map((event_type) => ({ event_type })) });
  const whole = await read(server, sandbox.id);
  const middle = unfold(whole)[2]!.seq;
  expect(unfold(await read(server, sandbox.id, `?after_seq=${middle}`)).map((row) => row.seq)).toEqual(
    unfold(whole)
      .slice(3)
      .map((row) => row.seq),
  );
  expect(await read(server, sandbox.id, `?after_seq=${whole.last_seq}`)).toMatchObject({
    count: 0,
    last_seq: whole.last_seq,
    started_at: null,
  });
});
