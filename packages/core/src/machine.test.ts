import { SandboxState, MessageState, TaskStatus, TERMINAL_SANDBOX_STATES, TicketStatus } from "@drover/contract";
import { expect, test } from "vitest";
import { describeMachine, listStates } from "../../testkit/src/machine-suite.ts";
import { MESSAGE } from "./message-machine.ts";
import { SANDBOX } from "./sandbox-machine.ts";
import { TASK } from "./task-machine.ts";
import { TICKET } from "./ticket-machine.ts";

describeMachine({ name: "sandbox", table: SANDBOX, start: "pending", ends: TERMINAL_SANDBOX_STATES });
describeMachine({
  name: "message",
  table: MESSAGE,
  start: "queued",
  ends: new Set<MessageState>(["seen", "failed", "expired"]),
});

// A person may try again what failed, was cancelled or skipped: only completion is for ever.
describeMachine({ name: "task", table: TASK, start: "pending", ends: new Set<TaskStatus>(["completed"]) });
describeMachine({ name: "ticket", table: TICKET, start: "backlog", ends: new Set<TicketStatus>(["done"]) });

test("the tables have the states of the contract", () => {
  expect(listStates(SANDBOX).toSorted()).toEqual(SandboxState.options.toSorted());
  expect(listStates(MESSAGE).toSorted()).toEqual(MessageState.options.toSorted());
  expect(listStates(TASK).toSorted()).toEqual(TaskStatus.options.toSorted());
  expect(listStates(TICKET).toSorted()).toEqual(TicketStatus.options.toSorted());
});

test("every state of a sandbox that is not final may become cancelled", () => {
  for (const [state, steps] of Object.entries(SANDBOX)) {
    const isFinal = TERMINAL_SANDBOX_STATES.has(SandboxState.parse(state));
    expect("cancelled" in steps, state).toBe(!isFinal);
  }
});
