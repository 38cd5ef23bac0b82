import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { emptyFeed, foldFeed } from "./feed.ts";
import type { LogEvent } from "./log-event.ts";
import { eventAtFilm, listStops, pickStop, ReplayTrack, toFilm } from "./replay.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

const toEvent = (event_type: string, event_data: JsonObject, n: number, ms = n * 100): LogEvent => ({
  id: `e${n}`,
  sandbox_seq: n,
  event_type,
  event_data,
  source: "agent",
  created_at: new Date(START + ms).toISOString(),
});

const log = (...given: readonly (readonly [string, JsonObject])[]) =>
  given.map(([type, data], at) => toEvent(type, data, at + 1));

/** The same numbers for the same seed. */
function openChance(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state % below;
  };
}

/** Calls answered late, edits, messages that move on, heartbeats that fold: rows change long after they began. */
function makeLog(count: number): readonly LogEvent[] {
  const pick = openChance(7);
  return Array.from({ length: count }, (_, at) => {
    const n = at + 1;
    const id = `t${pick(200)}`;
    const turn = Math.floor(n / 50);
    switch (pick(8)) {
      case 0:
        return toEvent("agent.tool_use", { tool: "Bash", tool_use_id: id, input: { command: id }, turn }, n);
      case 1:
        return toEvent("agent.tool_completed", { tool_use_id: id, tool_response: { stdout: id, exit_code: 0 } }, n);
      case 2:
        return toEvent("agent.tool_use", { tool: "Read", tool_use_id: id, input: { file_path: id } }, n);
      case 3:
        return toEvent("agent.file_edited", { file_path: id, lines_added: 1, full_diff: "@@ -1 +1 @@" }, n);
      case 4:
        return toEvent("MESSAGE_QUEUED", { message_id: `m${pick(20)}`, content: "x" }, n);
      case 5:
        return toEvent("MESSAGE_STATE_CHANGED", { message_id: `m${pick(20)}`, state: "seen" }, n);
      case 6:
        return toEvent("agent.heartbeat", {}, n);
      default:
        return toEvent("agent.usage", { cost_usd: 0.5, input_tokens: 1, output_tokens: 2 }, n);
    }
  });
}

test("any moment equals the fold of what had happened by then, in whatever order moments are looked at", () => {
  const events = makeLog(7_000);
  const track = new ReplayTrack();
  const pick = openChance(3);
  for (const seq of [7_000, 1, 4_000, 3_999, 0, 2_000, 9_999, ...Array.from({ length: 12 }, () => pick(7_000))]) {
    expect(track.at(events, seq)).toEqual(foldFeed(emptyFeed(), events.slice(0, seq)));
  }
  // The log grows at its end, and then its beginning comes in.
  expect(track.at(events.slice(3_000, 6_000), 5_500)).toEqual(foldFeed(emptyFeed(), events.slice(3_000, 5_500)));
  expect(track.at(events.slice(3_000), 6_800)).toEqual(foldFeed(emptyFeed(), events.slice(3_000, 6_800)));
  expect(track.at(events, 6_800)).toEqual(foldFeed(emptyFeed(), events.slice(0, 6_800)));
});

test("one stops at turns, at the checkpoint after a change, and at what failed", () => {
  const events = log(
    ["agent.started", {}],
    ["agent.message", { turn: 1 }],
    ["agent.file_edited", { file_path: "a" }],
    ["agent.file_edited", { file_path: "b" }],
    ["workspace.checkpoint", { commit: "c" }],
    ["agent.message", { turn: 2 }],
    ["agent.file_edited", { file_path: "c" }],
    ["agent.tool_completed", { tool_response: { exit_code: 2 } }],
    ["agent.tool_completed", { tool_response: { exit_code: 0 } }],
    ["agent.error", { error: "x" }],
  );
  const stops = listStops(events);
  expect(stops).toEqual({ turns: [2, 6], edits: [5, 7], errors: [8, 10] });
  expect(pickStop(stops.errors, 8, 1)).toBe(10);
  expect(pickStop(stops.errors, 8, -1)).toBeUndefined();
  expect(pickStop(stops.edits, 9, -1)).toBe(7);
});

test("a film shortens silences and keeps the rest", () => {
  const events = [0, 500, 60_500, 61_000].map((ms, n) => toEvent("x", {}, n, ms));
  const film = toFilm(events);
  expect([...film]).toEqual([0, 500, 2_500, 3_000]);
  expect([-1, 0, 499, 500, 2_499, 9_999].map((ms) => eventAtFilm(film, ms))).toEqual([-1, 0, 0, 1, 1, 3]);
});
