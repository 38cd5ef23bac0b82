import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { toContextFill } from "./context-fill.ts";
import type { LogEvent } from "./log-event.ts";

const KNOWN = [
  { model: "merino-*", context_tokens: 200_000 },
  { model: "merino-4-5*", context_tokens: 1_000_000 },
  { model: "goat*", context_tokens: null },
];

const event = (type: string, data: JsonObject = {}): LogEvent => ({
  id: type,
  sandbox_seq: 1,
  event_type: type,
  event_data: data,
  source: "agent",
  created_at: "2026-11-18T10:00:00.000Z",
});
const call = (model: string, more: JsonObject = {}) =>
  event("agent.usage", { model, input_tokens: 1_000, cache_read_tokens: 80_000, output_tokens: 500, ...more });

test("the newest call says how full the window is, by the row that knows the model best", () => {
  expect(toContextFill([call("merino-4.5-wool"), call("merino-3")], KNOWN)).toEqual({
    tokens: 81_000,
    window: 200_000,
  });
  expect(toContextFill([call("Merino-4.5-wool")], KNOWN)).toEqual({ tokens: 81_000, window: 1_000_000 });
});

test("what the agent itself tells of its window holds before the table", () => {
  expect(toContextFill([call("merino-3", { context_window: 90_000 })], KNOWN)?.window).toBe(90_000);
});

test("nothing is said where nobody knows: no call, no window, another model, or a memory just compacted", () => {
  expect(toContextFill([], KNOWN)).toBeUndefined();
  expect(toContextFill([call("goat-1")], KNOWN)).toBeUndefined();
  expect(toContextFill([call("a-merino-3")], KNOWN)).toBeUndefined();
  expect(toContextFill([call("merino-3"), event("agent.compacted")], KNOWN)).toBeUndefined();
});
