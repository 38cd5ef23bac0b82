import { pickExecutionMode } from "@drover/core";
import { expect, test } from "vitest";

test.for([
  ["analyze_requirements", "exploration"],
  ["research", "exploration"],
  ["run_tests", "validation"],
  ["implement_feature", "implementation"],
  ["anything else", "implementation"],
])("a task of type %s is work of kind %s", ([type, mode]) => {
  expect(pickExecutionMode(type ?? "")).toBe(mode);
});
