import fc from "fast-check";
import { expect, test } from "vitest";
import { EventFilter, isMatch, toFrame, toMatcher, toPublishedType } from "./envelope.ts";
import { isReserved, toUpperForm } from "./reserved.ts";
import { EventType } from "./event.ts";

const Name = fc.constantFrom("a", "b", "SANDBOX_agent.x", "SANDBOX_AGENT_X", "sandbox", "task");
const Filter = fc.record(
  { event_types: fc.array(Name), entity_types: fc.array(Name), entity_ids: fc.array(Name) },
  { requiredKeys: [] },
);
const Event = fc.record({ event_type: Name, entity_type: Name, entity_id: Name });

test("an event matches when each list that is there and not empty holds its value, in either form", () => {
  fc.assert(
    fc.property(Filter, Event, (filter, event) => {
      const holds = (names: readonly string[] | undefined, ...values: readonly string[]) =>
        names === undefined || names.length === 0 || values.some((value) => names.includes(value));
      const expected =
        holds(filter.event_types, event.event_type, event.event_type.toUpperCase().replaceAll(/[.-]/g, "_")) &&
        holds(filter.entity_types, event.entity_type) &&
        holds(filter.entity_ids, event.entity_id);
      expect(isMatch(toMatcher(filter), event)).toBe(expected);
    }),
  );
});

test("the server's word wins in the payload, and everything else of the data stays", () => {
  const frame = toFrame({
    seq: 1,
    sandbox_seq: 1,
    id: "i",
    created_at: new Date(0),
    event_type: "agent.x",
    sandbox_id: "s",
    entity_type: "sandbox",
    entity_id: "s",
    project_id: "p",
    source: "agent",
    event_data: JSON.parse('{"source":"mine","original_event_type":"mine","__proto__":1,"a":2}'),
  });
  expect(JSON.parse(JSON.stringify(frame.payload))).toEqual(
    JSON.parse('{"source":"agent","original_event_type":"agent.x","__proto__":1,"a":2}'),
  );
  expect(frame.event_type).toBe("SANDBOX_agent.x");
  expect(toPublishedType("project.created", null)).toBe("project.created");
});

test("a type is reserved in every spelling that a subscriber's filter cannot tell from it", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("MESSAGE_QUEUED", "agent.usage", "SPAWNED", "token.revoked", "TASK_COMPLETED"),
      fc.infiniteStream(fc.nat(5)),
      (type, choices) => {
        const spelled = Array.from(type, (letter) => {
          const choice = choices.next().value ?? 0;
          return /[._-]/.test(letter)
            ? "._-"[choice % 3]
            : choice % 2 === 0
              ? letter.toLowerCase()
              : letter.toUpperCase();
        }).join("");
        expect(isReserved(spelled)).toBe(true);
        expect(toUpperForm(spelled)).toBe(toUpperForm(type));
      },
    ),
  );
  for (const free of [
    "agent.message",
    "agent.completed",
    "heartbeat",
    "sandbox.provisioning",
    "command.output",
    "workspace.checkpoint",
  ]) {
    expect(isReserved(free), free).toBe(false);
  }
});

test("names in a filter are names", () => {
  for (const bad of ["", "a\u0000b", "x".repeat(201)])
    expect(EventFilter.safeParse({ entity_ids: [bad] }).success).toBe(false);
  expect(EventFilter.safeParse({ entity_ids: Array.from({ length: 501 }, () => "a") }).success).toBe(false);
});

test("an event type is 1-100 of its characters, to the very end", () => {
  for (const good of ["a", "agent.tool_use", "A-b_C.9", "x".repeat(100)])
    expect(EventType.safeParse(good).success, good).toBe(true);
  for (const bad of ["", "a b", "a\n", "\na", "ä", "a/b", "x".repeat(101), "a\u0000"])
    expect(EventType.safeParse(bad).success, bad).toBe(false);
});
