import { expect, test } from "vitest";
import { toElapsed } from "./elapsed.ts";
import { formatEvent } from "./event-line.ts";
import { formatFields, formatTable } from "./table.ts";
import { cut, toPaint, toSafeLine, toSafeText, wrap } from "./terminal.ts";

test("colour is for terminals that want it", () => {
  expect(toPaint(true, {}).red("x")).toBe("\u001B[31mx\u001B[39m");
  expect(toPaint(true, { NO_COLOR: "" }).red("x")).toContain("\u001B");
  expect(toPaint(true, { NO_COLOR: "1" }).red("x")).toBe("x");
  expect(toPaint(true, { TERM: "dumb" }).red("x")).toBe("x");
  expect(toPaint(false, {}).red("x")).toBe("x");
});

test("nothing that steers a terminal gets through", () => {
  expect(toSafeText("a\u001B]52;c;aGk=\u0007b\u001B[2Jc\u009B31md\u202Ee\rf\u001B")).toBe("abc31mdef");
  expect(toSafeText("one\n\ttwo")).toBe("one\n\ttwo");
  expect(toSafeLine("  one\n\ttwo ")).toBe("one two");
});

test("text is cut by characters and wrapped between words", () => {
  expect(cut("abc", 3)).toBe("abc");
  expect(cut("abcd", 3)).toBe("ab…");
  expect(cut("😀😀😀", 2)).toBe("😀…");
  expect(wrap("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrap("a\n\nb", 7)).toEqual(["a", "", "b"]);
  expect(wrap("unbreakable", 5)).toEqual(["unbr…"]);
});

test("a table lines up and gives way at its end", () => {
  expect(formatTable(["A", "LONG", "C"], [["aaa", "b", "cccccccc"]], 12)).toEqual(["A    LONG  C", "aaa  b     …"]);
  expect(
    formatFields([
      ["a", ["1", "2"]],
      ["bb", ["3"]],
    ]),
  ).toEqual(["a   1", "    2", "bb  3"]);
});

test("durations are short", () => {
  const now = new Date("2026-01-02T00:00:00Z");
  expect(
    [
      "2026-01-01T23:59:18Z",
      "2026-01-01T23:53:00Z",
      "2026-01-01T21:00:00Z",
      "2025-12-21T00:00:00Z",
      "2026-01-03T00:00:00Z",
    ].map((time) => toElapsed(time, now)),
  ).toEqual(["42s", "7m", "3h", "12d", "0s"]);
});

test("an event is one line, whatever it holds", () => {
  const event = {
    id: "e",
    seq: 1,
    sandbox_seq: 12_345,
    event_type: "custom.type",
    event_data: { text: `a\nb${"x".repeat(200)}` },
    source: "agent",
    created_at: "2026-01-01T12:34:56Z",
  } as const;
  const line = formatEvent(event, 80, toPaint(false, {}));
  expect(line).toMatch(/^12345 {2}12:34:56 {2}custom\.type {15}\{"text":"a\\nbx+…$/);
  expect(line).toHaveLength(80);
  expect(formatEvent({ ...event, event_data: {} }, 80, toPaint(false, {}))).toBe("12345  12:34:56  custom.type");
  const told = (event_type: string, event_data: Record<string, string | number>) =>
    formatEvent({ ...event, event_type, event_data }, 80, toPaint(false, {})).slice(43);
  expect(told("command.output", { stream: "stdout", chunk: " 1\n 2\n" })).toBe("1 2");
  expect(told("agent.tool_result", { tool: "Write", result: "created a.txt" })).toBe("created a.txt");
  expect(told("agent.tool_result", { tool: "Bash", result: "" })).toBe("(nothing)");
  const used = { model: "m", input_tokens: 5, output_tokens: 2, cache_read_tokens: 3, cost_usd: 0.25 };
  expect(told("agent.usage", used)).toMatch(/^\$0\.25\d* · 5 in, 3 cached, 2 out · m$/);
  expect(told("agent.usage", { model: "m" })).toBe('{"model":"m"}');
  expect(told("agent.heartbeat", { status: "running", tool: "Bash", tool_age_s: 30 })).toBe("running · Bash for 30 s");
  expect(told("MESSAGE_STATE_CHANGED", { state: "seen", turn: 2 })).toBe("seen in turn 2");
  expect(told("agent.permission_answered", { decision: "deny", by: "policy", turn: 1 })).toBe("deny by policy");
  expect(told("agent.tool_result", { toString: "x" })).toBe('{"toString":"x"}');
});
