import { SPINE_FLAGS, type JsonObject } from "@drover/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { toTraits } from "./event-traits.ts";

const Keys = fc.constantFrom(
  "turn",
  "tool",
  "tool_name",
  "tool_use_id",
  "input",
  "tool_input",
  "pattern",
  "is_error",
  "x",
);
const Data = fc.dictionary(Keys, fc.jsonValue()) as fc.Arbitrary<JsonObject>;
const Type = fc.oneof(
  fc.constantFrom(
    "agent.tool_use",
    "agent.tool_result",
    "agent.tool_completed",
    "agent.heartbeat",
    "agent.file_edited",
  ),
  fc.string(),
);

test("whatever an event holds, its traits are made and can be stored", () => {
  fc.assert(
    fc.property(Type, Data, fc.boolean(), (type, data, isFromServer) => {
      const traits = toTraits(type, data, isFromServer);
      expect(
        traits.turn === null || (Number.isInteger(traits.turn) && traits.turn >= 0 && traits.turn <= 2_147_483_647),
      ).toBe(true);
      expect(Number.isInteger(traits.flags) && traits.flags >= 0 && traits.flags < 32).toBe(true);
      for (const name of [traits.tool, traits.ref]) expect(name === null || name.length <= 200).toBe(true);
    }),
  );
});

test("a name that is cut stays well formed", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 150, maxLength: 300 }), (name) => {
      fc.pre(name.isWellFormed());
      const { tool, ref } = toTraits("agent.tool_use", { tool: name, tool_use_id: name }, false);
      expect([tool?.isWellFormed(), ref?.isWellFormed()]).toEqual([true, true]);
    }),
  );
});

test.for([
  ["agent.tool_use", { tool: "Grep" }, true],
  ["agent.tool_use", { tool: "Glob", input: { pattern: "**/*.ts" } }, true],
  ["agent.tool_completed", { tool: "Glob", tool_input: { pattern: "a/**" } }, true],
  ["agent.tool_use", { tool: "Glob", input: { pattern: "*.ts" } }, false],
  ["agent.tool_use", { tool: "Glob", input: "**" }, false],
  ["agent.tool_use", { tool: "Glob" }, false],
  ["agent.tool_use", { tool: "Read", input: { pattern: "**" } }, false],
  ["agent.message", { tool: "Grep" }, false],
] as const)("%s %j is noise: %s", ([type, data, isNoise]) => {
  expect((toTraits(type, data, false).flags & SPINE_FLAGS.noise) !== 0).toBe(isNoise);
});
