import { expect, test } from "vitest";
import type { Sandbox } from "../resources/sandbox.ts";
import { toLiveness } from "./liveness.ts";
import { foldSandbox } from "./sandbox.ts";

const sandbox = {
  state: "pending",
  state_cause: null,
  generation: 1,
  turn: 0,
  event_count: 1,
  last_seq: 10,
  last_heartbeat_at: null,
  started_at: null,
  ended_at: null,
} as unknown as Sandbox;
const event = (seq: number, event_type: string, event_data = {}) => ({
  id: "e",
  seq,
  sandbox_seq: seq - 8,
  event_type,
  event_data,
  source: "server",
  created_at: "2026-01-01T00:00:00.000Z",
});

test("a change of state, a turn and a heartbeat reach the listed sandbox", () => {
  const after = [
    event(11, "STATE_CHANGED", { to: "running" }),
    event(12, "agent.message", { turn: 3 }),
    event(13, "agent.heartbeat"),
  ].reduce(foldSandbox, sandbox);
  expect(after).toMatchObject({
    state: "running",
    turn: 3,
    event_count: 5,
    last_seq: 13,
    health: "alive",
    started_at: "2026-01-01T00:00:00.000Z",
  });
});

test("an event that the list already counted changes nothing", () => {
  expect(foldSandbox(sandbox, event(10, "STATE_CHANGED", { to: "failed" }))).toBe(sandbox);
});

test("liveness follows the heartbeat's age", () => {
  const at = "2026-01-01T00:00:00.000Z";
  const now = Date.parse(at);
  expect([
    toLiveness(null, now),
    toLiveness(at, now + 44_000),
    toLiveness(at, now + 46_000),
    toLiveness(at, now + 91_000),
  ]).toEqual(["none", "fresh", "late", "lost"]);
});
