import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { toSpending } from "./spending.ts";

const log = (...given: readonly (readonly [string, JsonObject])[]) =>
  given.map(([event_type, event_data], at) => ({
    id: `e${at + 1}`,
    sandbox_seq: at + 1,
    event_type,
    event_data,
    source: "agent",
    created_at: "2026-01-01T00:00:00Z",
  }));

test("a call's money is counted for the tools and files that it led to, in parts where it led to several", () => {
  const spent = toSpending(
    log(
      ["agent.tool_use", { tool: "Ignored", input: {} }],
      ["agent.usage", { cost_usd: 0.5 }],
      ["agent.tool_use", { tool: "Read", input: { file_path: "/workspace/a.ts" } }],
      ["agent.tool_use", { tool: "Bash", input: { command: "ls" } }],
      ["agent.usage", { cost_usd: 1 }],
      ["agent.tool_use", { tool: "Edit", input: { file_path: "/workspace/a.ts" } }],
      ["agent.file_edited", { file_path: "a.ts" }],
      ["agent.usage", { cost_usd: 0.25 }],
      ["agent.message", { content: "Done." }],
    ),
  );
  expect(spent.tools).toEqual([
    { name: "Edit", usd: 1, calls: 1 },
    { name: "Read", usd: 0.25, calls: 1 },
    { name: "Bash", usd: 0.25, calls: 1 },
    { name: "words", usd: 0.25, calls: 1 },
  ]);
  expect(spent.files).toEqual([{ name: "a.ts", usd: 1.5, calls: 2 }]);
});
