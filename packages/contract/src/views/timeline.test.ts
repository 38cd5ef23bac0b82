import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import type { LogEvent } from "./log-event.ts";
import { toTimeline } from "./timeline.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

const log = (...given: readonly (readonly [number, string, JsonObject])[]): readonly LogEvent[] =>
  given.map(([ms, event_type, event_data], at) => ({
    id: `e${at + 1}`,
    sandbox_seq: at + 1,
    event_type,
    event_data,
    source: "agent",
    created_at: new Date(START + ms).toISOString(),
  }));

test("turns, calls, waiting, edits, errors and cost lie where they happened", () => {
  const timeline = toTimeline(
    log(
      [0, "agent.started", {}],
      [100, "agent.tool_use", { turn: 1, tool: "Bash", tool_use_id: "a" }],
      [900, "agent.tool_completed", { turn: 1, tool_use_id: "a", tool_response: { exit_code: 1 } }],
      [1_000, "agent.usage", { cost_usd: 0.25, input_tokens: 100, cache_read_tokens: 50 }],
      [1_100, "agent.waiting", { turn: 1 }],
      [1_600, "agent.heartbeat", {}],
      [2_100, "agent.message_injected", { turn: 2 }],
      [2_200, "agent.file_edited", { turn: 2, file_path: "a.ts" }],
      [2_300, "agent.usage", { cost_usd: 0.5 }],
    ),
  );
  expect(timeline.lengthMs).toBe(2_300);
  expect(timeline.turns).toMatchObject([
    { turn: 1, seq: 2, from: 100, to: 900, costUsd: 0.25, tools: 1, errors: 1, isError: true },
    { turn: 2, seq: 7, from: 2_100, to: 2_200, costUsd: 0.5, edits: 1, errors: 0, isError: false },
  ]);
  expect(timeline.tools).toMatchObject([{ seq: 2, from: 100, to: 900, label: "Bash", isError: true }]);
  expect(timeline.waits).toMatchObject([{ seq: 5, from: 1_100, to: 2_100, label: "for a message" }]);
  expect(timeline.edits).toMatchObject([{ seq: 8, from: 2_200, label: "a.ts" }]);
  expect(timeline.errors).toMatchObject([{ seq: 3, from: 900 }]);
  expect(timeline.cost).toEqual([
    { at: 1_000, usd: 0.25 },
    { at: 2_300, usd: 0.75 },
  ]);
  expect(timeline.context).toEqual([{ at: 1_000, tokens: 150 }]);
});

test("what runs tests is told from other tools, and what neither a tool nor anybody took is the model's", () => {
  const timeline = toTimeline(
    log(
      [0, "agent.message", { turn: 1, content: "Let me see." }],
      [300, "agent.tool_use", { turn: 1, tool: "Bash", tool_use_id: "a", input: { command: "ls" } }],
      [500, "agent.tool_completed", { turn: 1, tool_use_id: "a", tool_response: { exit_code: 0 } }],
      [900, "agent.tool_use", { turn: 1, tool: "Bash", tool_use_id: "b", input: { command: "npm test" } }],
      [1_500, "agent.tool_completed", { turn: 1, tool_use_id: "b", tool_response: { exit_code: 1 } }],
      [1_700, "agent.message", { turn: 1, content: "It failed." }],
    ),
  );
  expect(timeline.tools.map(({ label }) => label)).toEqual(["$ ls", "$ npm test"]);
  expect(timeline.tests).toMatchObject([{ seq: 4, from: 900, to: 1_500, isError: true }]);
  expect(timeline.model).toMatchObject([
    { seq: 1, from: 0, to: 300 },
    { seq: 2, from: 500, to: 900 },
    { seq: 4, from: 1_500, to: 1_700 },
  ]);
});

test("nothing is a strip of no length", () => {
  expect(toTimeline([])).toMatchObject({ lengthMs: 0, turns: [], tools: [] });
});
