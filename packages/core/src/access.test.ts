import { Role, Verb, type ProjectId } from "@drover/contract";
import { expect, test } from "vitest";
import { decideAccess } from "./access.ts";
import { decideHealth } from "./health.ts";

const [MINE, FOREIGN] = ["project-1", "project-2"] as [ProjectId, ProjectId];
const ALLOWED = ["viewer read", "operator read", "operator operate", "admin read", "admin operate", "admin administer"];

test("a role allows its verbs on its project, and another project does not exist", () => {
  for (const role of Role.options) {
    for (const verb of Verb.options) {
      const expected = ALLOWED.includes(`${role} ${verb}`) ? "allowed" : "forbidden";
      expect(decideAccess({ role, projectId: MINE }, verb, MINE)).toBe(expected);
      expect(decideAccess({ role, projectId: null }, verb, FOREIGN)).toBe(expected);
      expect(decideAccess({ role, projectId: MINE }, verb, FOREIGN)).toBe("hidden");
    }
  }
});

test.for([
  ["running", 0, "alive"],
  ["running", 44_999, "alive"],
  ["running", 45_000, "late"],
  ["running", 119_999, "late"],
  ["running", 120_000, "dead"],
  ["completed", 120_000, "dead"],
  ["paused", 120_000, "unknown"],
  ["failed", 0, "unknown"],
] as const)("%s and silent for %i ms is %s", ([state, ageMs, health]) => {
  const limits = { heartbeatMs: 30_000, deadMs: 120_000 };
  expect(decideHealth(state, new Date(0), new Date(ageMs), limits)).toBe(health);
  expect(decideHealth(state, null, new Date(ageMs), limits)).toBe("unknown");
  // Who is not heard is not known to be quiet.
  const quiet = decideHealth(state, new Date(0), new Date(ageMs), limits, "stuck");
  expect(quiet).toBe(health === "alive" ? "stuck" : health);
  // Who may be silent for longer is not called dead before.
  const patient = decideHealth("running", new Date(0), new Date(ageMs), { heartbeatMs: 60_000, deadMs: 300_000 });
  expect(patient).toBe(ageMs < 90_000 ? "alive" : "late");
});
