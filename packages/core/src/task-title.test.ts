import { toTaskTitle } from "@drover/core";
import { expect, test } from "vitest";

const long = `${"count every sheep ".repeat(12)}twice`;

test.for([
  ["implement_feature", null, "Implement feature"],
  ["bug", "", "Bug"],
  ["bug", "the fence is broken. Mend it.", "The fence is broken"],
  ["bug", "# Mend the `fence`\n\nIt is broken.", "Mend the fence"],
  ["bug", "---\n\n- mend v1.2 of the fence", "Mend v1.2 of the fence"],
  ["bug", "1. first this:", "First this"],
  ["---", "...", "A task"],
] as const)("%s, %j is called %j", ([task_type, description, title]) => {
  expect(toTaskTitle({ task_type, description })).toBe(title);
});

test("a long one ends at a word", () => {
  const title = toTaskTitle({ task_type: "bug", description: long });
  expect(title.length).toBeLessThanOrEqual(80);
  expect(title).toMatch(/^Count every sheep .*\p{L}…$/u);
});

test("what is known besides helps where there is no description", () => {
  expect(toTaskTitle({ task_type: "bug", description: null, context: "the gate squeaks" })).toBe("The gate squeaks");
});
