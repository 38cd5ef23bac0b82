import { SandboxState, MessageState, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { expect, test } from "vitest";
import { describeMachine, listStates } from "../../testkit/src/machine-suite.ts";
import { MESSAGE } from "./message-machine.ts";
import { SANDBOX } from "./sandbox-machine.ts";

describeMachine({ name: "sandbox", table: SANDBOX, start: "pending", ends: TERMINAL_SANDBOX_STATES });
describeMachine({
  name: "message",
  table: MESSAGE,
  start: "queued",
  ends: new Set<MessageState>(["seen", "failed", "expired"]),
});

test("the tables have the states of the contract", () => {
  expect(listStates(SANDBOX).toSorted()).toEqual(SandboxState.options.toSorted());
  expect(listStates(MESSAGE).toSorted()).toEqual(MessageState.options.toSorted());
});

test("every state of a sandbox that is not final may become cancelled", () => {
  for (const [state, steps] of Object.entries(SANDBOX)) {
    const isFinal = TERMINAL_SANDBOX_STATES.has(SandboxState.parse(state));
    expect("cancelled" in steps, state).toBe(!isFinal);
  }
});
