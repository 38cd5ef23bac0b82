import { expect } from "vitest";
import { test } from "../../../testkit/src/server.ts";

test("the state at a number is what the log had told by then", async ({ server }) => {
  const { id, post } = await server.createSandbox();
  const at = async (seq?: number, status = 200) => {
    const answer = await server.call("GET", `/sandboxes/${id}/state${seq === undefined ? "" : `?at_seq=${seq}`}`);
    expect(answer.status).toBe(status);
    return answer.body;
  };
  const { body: first } = await post({ event_type: "agent.started", event_data: { turn: 1 } });
  await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: "hello" } });
  await post({ event_type: "agent.message_injected", event_data: { turn: 2 } });
  await post({ event_type: "agent.file_edited", event_data: { turn: 2, file_path: "a" } });
  const { body: kept } = await post({ event_type: "workspace.checkpoint", event_data: { turn: 2, commit: "c" } });
  const { body: second } = await post({ event_type: "agent.message", event_data: { turn: 3 } });
  await server.call("DELETE", `/sandboxes/${id}`);
  expect(await at(0)).toMatchObject({ at_seq: 0, state: "pending", event_count: 0, turn: 0, last_event_type: null });
  expect(await at(first.seq - 1)).toMatchObject({ state: "creating", state_cause: "external", event_count: 2 });
  expect(await at(second.seq)).toMatchObject({
    at_seq: second.seq,
    state: "running",
    turn: 3,
    generation: 1,
    last_event_type: "agent.message",
    last_event_at: second.timestamp,
  });
  const nothing = { edits: 0, messages: 0, messages_read: 0, cost_usd: 0, checkpoint: null };
  expect(await at(first.seq)).toMatchObject(nothing);
  expect(await at(kept.seq)).toMatchObject({
    edits: 1,
    messages: 1,
    messages_read: 1,
    checkpoint: { seq: kept.seq, commit: "c" },
  });
  expect(await at()).toMatchObject({ state: "terminated", state_cause: "user" });
  await at(-1, 422);
});
