import { SandboxState, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { decideStates, isWork } from "./follow-event.ts";
import { SANDBOX } from "./sandbox-machine.ts";

const TYPES = [
  "agent.started",
  "agent.heartbeat",
  "heartbeat",
  "agent.message",
  "agent.tool_use",
  "agent.completed",
  "agent.failed",
  "agent.error",
  "agent.waiting",
  "agent.shutdown",
  "sandbox.provisioning",
  "workspace.checkpoint",
  "continuous.completed",
  "something.new",
];
const State = fc.constantFrom(...SandboxState.options);
const Type = fc.oneof(
  fc.constantFrom(...TYPES),
  fc.string(),
  fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty"),
);

test("every step that an event brings is a cell of the table, in order", () => {
  fc.assert(
    fc.property(State, Type, (from, type) => {
      let state: SandboxState = from;
      for (const next of decideStates(from, type)) {
        expect(Object.values(SANDBOX[state])).toContain(next);
        state = next;
      }
    }),
  );
});

test("what has ended stays ended, whatever a worker says", () => {
  fc.assert(
    fc.property(fc.constantFrom(...TERMINAL_SANDBOX_STATES), Type, (from, type) => {
      expect(decideStates(from, type)).toEqual([]);
    }),
  );
});

test("no event of a worker cancels, terminates or pauses", () => {
  fc.assert(
    fc.property(State, Type, (from, type) => {
      for (const state of decideStates(from, type))
        expect(["cancelled", "terminated", "paused", "pending"]).not.toContain(state);
    }),
  );
});

test("saying the same again changes nothing more, except that work after an end is new work", () => {
  fc.assert(
    fc.property(State, Type, (from, type) => {
      const last = decideStates(from, type).at(-1) ?? from;
      const again = decideStates(last, type);
      expect(again.at(-1) ?? last).toBe(last);
    }),
  );
});

test.for([
  ["creating", "agent.started", ["running"]],
  ["pending", "agent.message", ["creating", "running"]],
  ["creating", "agent.heartbeat", ["running"]],
  ["creating", "sandbox.provisioning", []],
  ["running", "agent.completed", ["completing", "completed"]],
  ["completed", "agent.waiting", []],
  ["completed", "agent.heartbeat", []],
  ["completed", "agent.shutdown", []],
  ["completed", "agent.message", ["running"]],
  ["running", "agent.error", []],
  ["running", "agent.failed", ["failed"]],
  ["completed", "agent.failed", []],
  ["paused", "agent.message", []],
] as const)("%s + %s", ([from, type, states]) => {
  expect(decideStates(from, type)).toEqual(states);
});

test("what is not known counts as work", () => {
  expect([
    isWork("something.new"),
    isWork("agent.thinking"),
    isWork("agent.heartbeat"),
    isWork("agent.interrupted"),
  ]).toEqual([true, true, false, false]);
});
