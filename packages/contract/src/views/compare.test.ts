import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { compareByFile, compareRuns, toTurns, type RunTurn } from "./compare.ts";
import { emptyFeed, foldFeed } from "./feed.ts";
import type { LogEvent } from "./log-event.ts";

const turn = (n: number, ...actions: readonly string[]): RunTurn => ({
  turn: n,
  seq: n,
  actions,
  edits: [],
  added: 0,
  removed: 0,
  costUsd: 0,
  startMs: 0,
  durationMs: 0,
  errors: 0,
  said: "",
});

const read = (pairs: ReturnType<typeof compareRuns>["pairs"]) =>
  pairs.map(({ a, b }) => `${a?.turn ?? "-"}/${b?.turn ?? "-"}`);

const A = [turn(1, "read a"), turn(2, "edit a", "$ test"), turn(3, "$ push")];

test("the same runs stand turn beside turn and never part", () => {
  const { pairs, parting } = compareRuns(A, A);
  expect(read(pairs)).toEqual(["1/1", "2/2", "3/3"]);
  expect(pairs.map((pair) => pair.likeness)).toEqual([1, 1, 1]);
  expect(parting).toBeUndefined();
});

test("a turn that only one run has stands alone, and the rest still meets", () => {
  const b = [turn(1, "read a"), turn(2, "grep b", "read c"), turn(3, "edit a", "$ test"), turn(4, "$ push")];
  const { pairs, parting } = compareRuns(A, b);
  expect(read(pairs)).toEqual(["1/1", "-/2", "2/3", "3/4"]);
  expect(parting).toBe(1);
  expect(read(compareRuns(b, A).pairs)).toEqual(["1/1", "2/-", "3/2", "4/3"]);
  expect(read(compareRuns(A, b, "order").pairs)).toEqual(["1/1", "2/2", "3/3", "-/4"]);
});

test("turns with something in common stand together; order matters to where they part, not to how they pair", () => {
  const b = [turn(1, "read a"), turn(2, "$ test", "edit a", "read d"), turn(3, "nothing alike")];
  const { pairs, parting } = compareRuns(A, b);
  expect(read(pairs)).toEqual(["1/1", "2/2", "3/-", "-/3"]);
  expect(pairs[1]?.likeness).toBeCloseTo(2 / 3);
  expect(parting).toBe(1);
});

test("an empty run, and runs too long to be searched, are paired too", () => {
  expect(read(compareRuns([], A).pairs)).toEqual(["-/1", "-/2", "-/3"]);
  expect(compareRuns([], []).parting).toBeUndefined();
  const long = Array.from({ length: 300 }, (_, n) => turn(n + 1, `do ${n}`));
  expect(compareRuns(long, long.slice(0, 299))).toMatchObject({ parting: 299 });
});

test("turns are read off a feed: what was done, changed, spent and said in each", () => {
  const at = (ms: number) => new Date(Date.parse("2026-01-01T00:00:00Z") + ms).toISOString();
  const given: readonly (readonly [number, string, JsonObject])[] = [
    [0, "agent.tool_use", { turn: 1, tool: "Read", tool_use_id: "r", input: { file_path: "a.ts" } }],
    [500, "agent.usage", { cost_usd: 0.5 }],
    [1_000, "agent.message", { turn: 1, content: "Read it." }],
    [2_000, "agent.tool_use", { turn: 2, tool: "Bash", tool_use_id: "b", input: { command: "npm test" } }],
    [3_000, "agent.tool_completed", { turn: 2, tool_use_id: "b", tool_response: { exit_code: 1 } }],
    [3_500, "agent.file_edited", { turn: 2, file_path: "a.ts", lines_added: 3, lines_removed: 1 }],
  ];
  const events: readonly LogEvent[] = given.map(([ms, event_type, event_data], n) => ({
    id: `e${n}`,
    sandbox_seq: n + 1,
    event_type,
    event_data,
    source: "agent",
    created_at: at(ms),
  }));
  expect(toTurns(foldFeed(emptyFeed(), events).rows, events)).toMatchObject([
    { turn: 1, seq: 1, actions: ["read a.ts"], costUsd: 0.5, durationMs: 1_000, errors: 0, said: "Read it." },
    { turn: 2, seq: 4, actions: ["$ npm test", "edit a.ts"], added: 3, removed: 1, durationMs: 1_500, errors: 1 },
  ]);
});

test("by time, turns stand together that were at work at the same time; what began first stands first", () => {
  const at = (n: number, startMs: number, durationMs: number) => ({ ...turn(n, `do ${n}`), startMs, durationMs });
  const a = [at(1, 0, 1_000), at(2, 1_000, 1_000), at(3, 9_000, 1_000)];
  const b = [at(1, 100, 1_900), at(2, 5_000, 1_000), at(3, 9_500, 1_000)];
  expect(read(compareRuns(a, b, "time").pairs)).toEqual(["1/-", "2/1", "-/2", "3/3"]);
  expect(read(compareRuns([at(1, 5_000, 10)], [at(1, 0, 10)], "time").pairs)).toEqual(["-/1", "1/-"]);
});

test("by file, each file that either run changed is told once, with the turns that did it", () => {
  const edit = {
    eventId: "e",
    path: "a.ts",
    oldPath: null,
    change: "modified",
    added: 2,
    removed: 1,
    patch: "",
    isComplete: true,
  };
  const a = [
    { ...turn(1), edits: [edit, edit] },
    { ...turn(2), edits: [{ ...edit, path: "b.ts" }] },
  ];
  const b = [{ ...turn(3), edits: [edit] }];
  expect(compareByFile(a, b)).toEqual([
    { path: "a.ts", a: [{ turn: 1, seq: 1, added: 4, removed: 2 }], b: [{ turn: 3, seq: 3, added: 2, removed: 1 }] },
    { path: "b.ts", a: [{ turn: 2, seq: 2, added: 2, removed: 1 }], b: [] },
  ]);
});
