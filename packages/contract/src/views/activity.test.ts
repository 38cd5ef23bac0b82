import { expect, test } from "vitest";
import { toActivityLine } from "./activity.ts";

test("each move is one short line", () => {
  const line = (event_type: string, event_data = {}) => toActivityLine({ event_type, event_data });
  expect(line("agent.tool_use", { tool: "Bash", input: { command: "npm\n test" } })).toBe("$ npm test");
  expect(line("agent.tool_use", { tool: "Read", input: { file_path: "src/a.ts" } })).toBe("Read src/a.ts");
  expect(line("agent.file_edited", { file_path: "a.ts", lines_added: 3, lines_removed: 1 })).toBe("Edit a.ts +3 −1");
  expect(line("agent.message", { content: "x".repeat(500) })).toHaveLength(140);
  expect(line("agent.message", { content: "## Done: `a.ts` is **faster**" })).toBe("Done: a.ts is faster");
  expect(line("agent.failed", { error: "out of memory" })).toBe("out of memory");
  expect(line("STATE_CHANGED", { to: "running" })).toBe("Sandbox is running");
  expect(line("MESSAGE_QUEUED", { content: "Stop", message_type: "user_message" })).toBe("You: Stop");
  expect(line("MESSAGE_QUEUED", { content: "Go back", message_type: "guardian_nudge" })).toBe("Guardian: Go back");
});

test("a heartbeat, a receipt and an unknown type are no moves", () => {
  for (const event_type of ["agent.heartbeat", "MESSAGE_STATE_CHANGED", "future.thing"]) {
    expect(toActivityLine({ event_type, event_data: {} })).toBeNull();
  }
});
