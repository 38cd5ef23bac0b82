import { PermissionPolicy } from "@drover/contract";
import { describe, expect, test } from "vitest";
import type { AgentEvent, Receipt } from "./agent-runtime.ts";
import { createManualClock } from "./fixtures/manual-clock.ts";
import { createPermissions, decidePermission, type PermissionQuestion, pickOption } from "./permissions.ts";

const OPTIONS = [
  { id: "always", name: "Always", kind: "allow_always" },
  { id: "y", name: "Yes", kind: "allow_once" },
  { id: "n", name: "No", kind: "reject_once" },
] as const;
const QUESTION: PermissionQuestion = {
  kind: "tool",
  turn: 3,
  tool: "Bash",
  input: { command: "ls" },
  toolUseId: "t1",
  options: OPTIONS,
};
const POLICY = PermissionPolicy.parse({ decision: "ask", deadline_s: 60 });
const forever = new AbortController().signal;

function setUp(policy: PermissionPolicy = POLICY, mark?: unknown) {
  const clock = createManualClock();
  const told: { events: readonly AgentEvent[]; receipt?: Receipt }[] = [];
  let ids = mark === undefined ? 0 : 100;
  const permissions = createPermissions({
    policy,
    clock,
    newId: () => String((ids += 1)),
    emit: (events, receipt) => void told.push({ events, ...(receipt === undefined ? {} : { receipt }) }),
    mark,
  });
  const events = () =>
    told.flatMap((step) => step.events).map(({ event_type, event_data }) => [event_type, event_data]);
  return { clock, told, permissions, events };
}

describe("policy", () => {
  const policy = PermissionPolicy.parse({
    decision: "deny",
    rules: [
      { tool: "Bash", decision: "ask" },
      { tool: "mcp__*", decision: "allow" },
    ],
  });
  test.for([
    ["Bash", "ask"],
    ["BashOutput", "deny"],
    ["mcp__search", "allow"],
    ["Read", "deny"],
  ] as const)("%s: %s", ([tool, decision]) => {
    expect(decidePermission(policy, { kind: "tool", tool })).toBe(decision);
  });

  test("cannot answer a question, only refuse it", () => {
    const allowing = PermissionPolicy.parse({ decision: "allow" });
    expect(decidePermission(allowing, { kind: "question", tool: "AskUserQuestion" })).toBe("ask");
    expect(decidePermission(policy, { kind: "question", tool: "AskUserQuestion" })).toBe("deny");
  });

  test("is told as request and answer, in one step", async () => {
    const { permissions, told, events } = setUp(PermissionPolicy.parse({ decision: "allow" }));
    expect(await permissions.ask(QUESTION, forever)).toEqual({ decision: "allow", by: "policy", optionId: "y" });
    expect(told).toHaveLength(1);
    expect(events()).toMatchObject([
      [
        "agent.permission_requested",
        { turn: 3, request_id: "ask-1", tool: "Bash", tool_use_id: "t1", deadline_at: null },
      ],
      ["agent.permission_answered", { turn: 3, request_id: "ask-1", decision: "allow", by: "policy", option_id: "y" }],
    ]);
    expect(permissions.getMark()).toEqual([]);
  });
});

test("an option is chosen by its kind, once before always; a person's own choice first", () => {
  expect(pickOption(OPTIONS, { decision: "allow" })?.id).toBe("y");
  expect(pickOption(OPTIONS, { decision: "deny" })?.id).toBe("n");
  expect(pickOption(OPTIONS, { decision: "allow", optionId: "always" })?.id).toBe("always");
  expect(pickOption([], { decision: "deny" })).toBeUndefined();
});

test("a person's answer settles the request and is receipted; a second one finds nobody", async () => {
  const { permissions, told } = setUp();
  const asked = permissions.ask(QUESTION, forever);
  const answer = { messageId: "m1", requestId: "ask-1", decision: "allow", note: "go" } as const;
  expect(permissions.answer(answer)).toBeUndefined();
  expect(await asked).toMatchObject({ decision: "allow", by: "person", note: "go" });
  expect(told.at(-1)?.receipt).toEqual({ messageId: "m1", status: "seen", turn: 3 });
  expect(permissions.answer(answer)).toBe("nobody waits for this answer");
});

test("the deadline refuses", async () => {
  const { permissions, clock, events } = setUp();
  const asked = permissions.ask(QUESTION, forever);
  expect(events()[0]?.[1]).toMatchObject({ deadline_at: "2026-01-01T00:01:00.000Z" });
  clock.advance(60_000);
  expect(await asked).toMatchObject({ decision: "deny", by: "deadline" });
  expect(events().at(-1)?.[1]).toMatchObject({ decision: "deny", by: "deadline" });
});

test("a request outlives its worker: answered meanwhile, it is answered at once when it is asked again", async () => {
  const first = setUp();
  const ending = new AbortController();
  const asked = first.permissions.ask(QUESTION, ending.signal);
  ending.abort();
  expect(await asked).toMatchObject({ decision: "deny", note: "the session ends" });
  expect(first.events()).toHaveLength(1);

  const second = setUp(POLICY, first.permissions.getMark());
  const answer = { messageId: "m1", requestId: "ask-1", decision: "allow" } as const;
  expect(second.permissions.answer(answer)).toBeUndefined();

  // The worker dies once more, and its inbox gives the same message again.
  const third = setUp(POLICY, second.permissions.getMark());
  expect(third.permissions.answer(answer)).toBeUndefined();
  expect(await third.permissions.ask(QUESTION, forever)).toMatchObject({ decision: "allow", by: "person" });
  expect(third.events().map(([type]) => type)).toEqual(["agent.permission_requested", "agent.permission_answered"]);
  expect(third.told.at(-1)?.receipt).toEqual({ messageId: "m1", status: "seen", turn: 3 });
  expect(third.permissions.getMark()).toEqual([]);
});

test("what was asked in an earlier life keeps its deadline", async () => {
  const first = setUp();
  void first.permissions.ask(QUESTION, AbortSignal.abort());
  const second = setUp(POLICY, first.permissions.getMark());
  second.clock.advance(60_001);
  expect(await second.permissions.ask(QUESTION, forever)).toMatchObject({ by: "deadline" });
});

test("a turn that is over refuses what it asked, and an answer that came for nothing has failed", async () => {
  const first = setUp();
  void first.permissions.ask(QUESTION, AbortSignal.abort());
  const { permissions, told, events } = setUp(POLICY, first.permissions.getMark());
  const asked = permissions.ask({ ...QUESTION, tool: "Write" }, forever);
  permissions.answer({ messageId: "m1", requestId: "ask-1", decision: "allow" });
  permissions.abandon("interrupted");
  expect(await asked).toMatchObject({ decision: "deny", by: "policy", note: "interrupted" });
  expect(events().filter(([type]) => type === "agent.permission_answered")).toHaveLength(2);
  expect(told.at(-1)?.receipt).toMatchObject({ messageId: "m1", status: "failed" });
  expect(permissions.getMark()).toEqual([]);
});
