import { expect, test } from "vitest";
import {
  countCoordinations,
  countTerminations,
  findDoubtful,
  computeAgentHealth,
  computeCoherence,
  computeSimilarity,
  decideConductorStatus,
  decideSystemHealth,
  findDuplicates,
  listRecommendations,
  type AgentView,
} from "./conductor.ts";

const agent = (more: Partial<AgentView> = {}): AgentView => ({
  id: "a",
  project: "p",
  phase: "implementation",
  alignment: 0.9,
  isAligned: true,
  needsSteering: false,
  files: [],
  commands: [],
  goal: "",
  summary: "",
  focus: "",
  ...more,
});

test("coherence of nobody, or of nobody that was judged, is unknown and never a number", () => {
  expect(computeCoherence([])).toBeNull();
  expect(computeCoherence([agent({ alignment: null })])).toBeNull();
});

test.for([
  // One agent: 0.9 + 0.1 * 1 + 0.1 * 1, at most 1.
  ["one aligned agent", [agent()], 1],
  // Mean 0.5, half not aligned (0.1), half in need (0.15), one phase of two (0.05), variance 0 (0.1).
  [
    "one of two has drifted",
    [agent({ alignment: 0.8 }), agent({ alignment: 0.2, isAligned: false, needsSteering: true })],
    0.4,
  ],
  // Mean 0.6, two phases of 3 agents (0.0667), counts 2 and 1: variance 0.25, mean 1.5 (0.0889).
  [
    "three in two phases",
    [agent({ alignment: 0.6 }), agent({ alignment: 0.6 }), agent({ alignment: 0.6, phase: "review" })],
    0.7556,
  ],
  ["all lost", [agent({ alignment: 0, isAligned: false, needsSteering: true })], 0],
] as const)("coherence by the formula: %s", ([, agents, expected]) => {
  expect(computeCoherence(agents)).toBeCloseTo(expected, 3);
});

test("similarity weighs what both have: files most, then the goal, then commands", () => {
  const a = agent({ files: ["x.ts", "y.ts"], goal: "fix the login form", commands: ["npm test"] });
  expect(computeSimilarity(a, { ...a, id: "b" })).toBe(1);
  expect(computeSimilarity(a, agent({ files: ["z.ts"], goal: "write docs", commands: ["ls"] }))).toBe(0);
  expect(computeSimilarity(agent(), agent())).toBe(0);
  // Half of three files in common is 1/3; goals equal: (0.5 / 3 + 0.3) / 0.8.
  const b = agent({ files: ["y.ts", "z.ts"], goal: "fix the login form" });
  expect(computeSimilarity(a, b)).toBeCloseTo((0.5 / 3 + 0.3) / 0.8, 5);
});

test("duplicates are the pairs above the limit, most alike first", () => {
  const twin = { files: ["x.ts"], goal: "fix login" };
  const found = findDuplicates([
    agent({ id: "a", ...twin }),
    agent({ id: "b", ...twin }),
    agent({ id: "c", files: ["q.ts"], goal: "docs" }),
    agent({ id: "d", ...twin, project: "another" }),
  ]);
  expect(found).toEqual([{ a: "a", b: "b", similarity: 1, files: ["x.ts"] }]);
  expect(listRecommendations([agent({ id: "a" })], 0.9, found)[0]).toContain("a and b");
});

test.for([
  [0, null, 0, "no_agents"],
  [2, null, 0, "unknown"],
  [2, null, 1, "inefficient"],
  [2, 0.29, 0, "critical"],
  [2, 0.3, 0, "warning"],
  [2, 0.49, 0, "warning"],
  [2, 0.5, 0, "normal"],
  [3, 0.9, 1, "inefficient"],
  [4, 0.9, 1, "optimal"],
  [4, 0.8, 0, "normal"],
] as const)("%d agents at %s with %d duplicates are %s", ([agents, coherence, duplicates, status]) => {
  expect(decideConductorStatus(agents, coherence, duplicates)).toBe(status);
});

test.for([
  [{ alignment: 1, isAligned: true, needsSteering: false, interventionsLastHour: 0 }, 1],
  [{ alignment: 1, isAligned: true, needsSteering: true, interventionsLastHour: 0 }, 0.7],
  [{ alignment: 0.9, isAligned: true, needsSteering: false, interventionsLastHour: 2 }, 0.7],
  [{ alignment: 0.9, isAligned: true, needsSteering: false, interventionsLastHour: 50 }, 0.6],
  [{ alignment: 0.5, isAligned: false, needsSteering: true, interventionsLastHour: 1 }, 0.2],
  [{ alignment: 0.1, isAligned: false, needsSteering: true, interventionsLastHour: 5 }, 0],
] as const)("health of an agent %o is %d", ([one, expected]) => {
  expect(computeAgentHealth(one)).toBeCloseTo(expected, 5);
});

test.for([
  [0, [], 0, "no_activity"],
  [2, [], 0, "unknown"],
  [2, [0.9, 0.9], 0, "optimal"],
  [4, [0.9, 0.9, 0.9, 0.9], 1, "good"],
  [2, [0.7, 0.7], 1, "warning"],
  [2, [0.5, 0.5], 0, "warning"],
  [2, [0.4, 0.4], 0, "critical"],
] as const)("a system of %d agents with %o, %d in need, is %s", ([agents, alignments, need, health]) => {
  expect(decideSystemHealth(agents, alignments, need)).toBe(health);
});

test("only pairs that are neither alike nor different are worth a question, and no more than five", () => {
  const twin = { files: ["x.ts", "y.ts"], goal: "fix login" };
  const near = agent({ id: "c", files: ["y.ts", "z.ts"], goal: "fix login" });
  const agents = [agent({ id: "a", ...twin }), agent({ id: "b", ...twin }), near, agent({ id: "d", files: ["q.ts"] })];
  expect(findDoubtful(agents).map(([one, other]) => [one.id, other.id])).toEqual([
    ["a", "c"],
    ["b", "c"],
  ]);
  const many = Array.from({ length: 9 }, (_, index) =>
    agent({ id: `n${index}`, files: ["s.ts", `${index}.ts`], goal: "fix it now" }),
  );
  expect(findDoubtful(many)).toHaveLength(5);
});

test("who says to be done is counted, and phases in which several work on what joins them", () => {
  const summaries = ["Completed", "done.", "almost done", "resolved", ""];
  expect(countTerminations(summaries.map((summary) => agent({ summary })))).toBe(3);
  expect(countCoordinations([agent({ focus: "the API" }), agent()])).toBe(1);
  expect(countCoordinations([agent({ focus: "the API" }), agent({ phase: "review" })])).toBe(0);
  expect(countCoordinations([agent({ focus: "the form" }), agent()])).toBe(0);
});
