import { expect, test } from "vitest";
import { emptyFeed, foldFeed } from "./feed.ts";
import { createFinder } from "./search.ts";

test("text is found in messages, commands, their output and diffs, whatever its case", () => {
  const created_at = "2026-01-01T00:00:00.000Z";
  const events = [
    { event_type: "agent.message", event_data: { content: "Look at OAuth" } },
    { event_type: "agent.tool_use", event_data: { tool: "Bash", tool_use_id: "c", input: { command: "pytest" } } },
    { event_type: "agent.tool_result", event_data: { tool_use_id: "c", result: "oauth failed" } },
    { event_type: "agent.file_edited", event_data: { file_path: "a.ts", full_diff: "+ const OAUTH = 1" } },
    { event_type: "agent.heartbeat", event_data: {} },
  ].map((event, n) => ({ ...event, id: String(n), sandbox_seq: n + 1, source: "agent", created_at }));
  const find = createFinder("oauth");
  expect(
    foldFeed(emptyFeed(), events)
      .rows.filter(find)
      .map((row) => row.kind),
  ).toEqual(["message", "command", "edit"]);
});
