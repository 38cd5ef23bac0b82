import { expect, test } from "vitest";
import { decideCondition, decideWatch, type Condition, type WatchLimits } from "./condition.ts";
import { foldWatch, NO_WATCH_FACTS, type SeenEvent, type WatchFacts } from "./watch-facts.ts";

const MINUTE = 60_000;
const LIMITS: WatchLimits = {
  heartbeatMs: 30_000,
  deadMs: 120_000,
  idleMs: 10 * MINUTE,
  stuckMs: 15 * MINUTE,
  afterCompletionMs: 5 * MINUTE,
  graceMs: 5 * MINUTE,
  isQuietWatched: true,
};
const NOW = 100 * MINUTE;
const ago = (minutes: number) => NOW - minutes * MINUTE;
const beat = (minutes: number, status: string, tool: string | null = null): Partial<WatchFacts> => ({
  contactMs: ago(minutes),
  beat: { atMs: ago(minutes), status, tool },
});

const CASES: readonly (readonly [title: string, facts: Partial<WatchFacts>, Condition])[] = [
  ["nothing heard since the start an hour ago", {}, "dead"],
  ["heard now, worked a minute ago", { ...beat(0, "running"), workMs: ago(1) }, "alive"],
  ["one missed beat", { ...beat(0.8, "running"), workMs: ago(1) }, "late"],
  ["two missed beats", { ...beat(1.3, "running"), workMs: ago(2) }, "warned"],
  ["silent for two minutes", { ...beat(2, "running"), workMs: ago(3) }, "dead"],
  ["silent and completed: nothing is known of it either", { ...beat(2, "idle"), completedMs: ago(3) }, "dead"],
  ["running, no work for 14 minutes", { ...beat(0, "running"), workMs: ago(14) }, "alive"],
  ["running, no work for 15 minutes", { ...beat(0, "running"), workMs: ago(15) }, "stuck"],
  ["alive means running", { ...beat(0, "alive"), workMs: ago(15) }, "stuck"],
  ["a tool that runs for 40 minutes and is named", { ...beat(0, "running", "Bash"), workMs: ago(40) }, "busy"],
  ["running and never worked, started long ago", beat(0, "running"), "stuck"],
  ["idle, no work for 9 minutes", { ...beat(0, "idle"), workMs: ago(9) }, "alive"],
  ["idle, no work for 10 minutes", { ...beat(0, "idle"), workMs: ago(10) }, "idle"],
  ["degraded counts as idle", { ...beat(0, "degraded"), workMs: ago(10) }, "idle"],
  ["idle, but somebody spoke a minute ago", { ...beat(0, "idle"), workMs: ago(30), messageMs: ago(1) }, "alive"],
  ["a question is open", { ...beat(0, "idle"), workMs: ago(30), open: { q: { seq: 3, atMs: ago(30) } } }, "waiting"],
  ["completed 4 minutes ago", { ...beat(0, "idle"), completedMs: ago(4) }, "done"],
  ["completed 5 minutes ago", { ...beat(0, "idle"), completedMs: ago(5) }, "finished"],
  [
    "completed long ago, spoken to a minute ago",
    { ...beat(0, "idle"), completedMs: ago(50), messageMs: ago(1) },
    "done",
  ],
];

test.for(CASES)("%s", ([, facts, condition]) => {
  const watched = { state: "running" as const, startedMs: ago(60), facts: { ...NO_WATCH_FACTS, ...facts } };
  expect(decideCondition(watched, LIMITS, NOW).condition).toBe(condition);
});

test("a worker that beats slowly by configuration is not dead after two minutes", () => {
  const watched = {
    state: "running" as const,
    startedMs: ago(60),
    facts: { ...NO_WATCH_FACTS, ...beat(3, "running") },
  };
  expect(decideCondition(watched, { ...LIMITS, heartbeatMs: 60_000 }, NOW).condition).toBe("warned");
});

test.for([
  ["pending", "starting"],
  ["creating", "starting"],
  ["paused", "paused"],
  ["failed", "ended"],
  ["cancelled", "ended"],
  ["terminated", "ended"],
] as const)("a sandbox that is %s is %s, whatever was heard of it", ([state, condition]) => {
  expect(decideCondition({ state, startedMs: ago(60), facts: NO_WATCH_FACTS }, LIMITS, NOW).condition).toBe(condition);
});

test.for(["starting", "paused", "ended", "alive", "busy", "late", "warned", "waiting", "done"] as const)(
  "one that is %s is left alone",
  (condition) => {
    expect(decideWatch({ condition, sinceMs: 0 }, null, LIMITS, NOW)).toEqual({ kind: "leave" });
  },
);

test.for([
  ["idle", "idle_timeout"],
  ["stuck", "stuck_running"],
] as const)("one that is %s is nudged, then left for a while, then stopped", ([condition, cause]) => {
  const finding = { condition, sinceMs: ago(20) };
  expect(decideWatch(finding, null, LIMITS, NOW)).toEqual({ kind: "nudge" });
  expect(decideWatch(finding, ago(30), LIMITS, NOW)).toEqual({ kind: "nudge" });
  expect(decideWatch(finding, ago(4), LIMITS, NOW)).toEqual({ kind: "leave" });
  expect(decideWatch(finding, ago(5), LIMITS, NOW)).toEqual({ kind: "end", on: "failed", cause });
});

test("where nobody watches the quiet they are left alone, and the dead are not", () => {
  const limits = { ...LIMITS, isQuietWatched: false };
  for (const condition of ["idle", "stuck"] as const)
    expect(decideWatch({ condition, sinceMs: 0 }, null, limits, NOW)).toEqual({ kind: "leave" });
  expect(decideWatch({ condition: "dead", sinceMs: 0 }, null, limits, NOW)).toMatchObject({ kind: "end" });
});

test("a dead one fails, a finished one ends as what it is", () => {
  expect(decideWatch({ condition: "dead", sinceMs: 0 }, null, LIMITS, NOW)).toMatchObject({ on: "failed" });
  expect(decideWatch({ condition: "finished", sinceMs: 0 }, null, LIMITS, NOW)).toMatchObject({ on: "terminated" });
});

const event = (event_type: string, minutes: number, more: Partial<SeenEvent> = {}): SeenEvent => ({
  seq: 1,
  event_type,
  event_data: {},
  source: "agent",
  atMs: ago(minutes),
  ...more,
});
const fold = (...events: readonly SeenEvent[]) => events.reduce(foldWatch, NO_WATCH_FACTS);

test("work after completion voids it", () => {
  expect(fold(event("agent.completed", 9)).completedMs).toBe(ago(9));
  expect(fold(event("agent.completed", 9), event("agent.tool_use", 8)).completedMs).toBeNull();
  expect(fold(event("agent.completed", 9), event("agent.heartbeat", 8)).completedMs).toBe(ago(9));
});

test("what supervision says moves nothing, what a person says does", () => {
  const nudge = { message_type: "guardian_nudge" };
  const heard = event("agent.message_injected", 2, { event_data: nudge });
  const quiet = fold(event("agent.tool_use", 30), heard, event("agent.processing", 2, { event_data: nudge }));
  expect([quiet.workMs, quiet.messageMs]).toEqual([ago(30), null]);
  // That a person's message is worked on is work.
  expect(fold(event("agent.processing", 2, { event_data: { message_type: "user_message" } })).workMs).toBe(ago(2));
  const spoken = fold(event("MESSAGE_QUEUED", 2, { source: "user", event_data: { message_type: "user_message" } }));
  expect(spoken.messageMs).toBe(ago(2));
});

test("a question is open until it is answered", () => {
  const asked = event("agent.permission_requested", 5, { seq: 7, event_data: { request_id: "r1" } });
  expect(fold(asked).open).toEqual({ r1: { seq: 7, atMs: ago(5) } });
  expect(fold(asked, event("agent.permission_answered", 4, { event_data: { request_id: "r1" } })).open).toEqual({});
});

/** Columns: minutes since the last work. A alive, I idle, S stuck, B busy. */
const AGES = [0, 9.9, 10, 14.9, 15, 40] as const;
const GRID: readonly (readonly [status: string | null, tool: string | null, cells: string])[] = [
  [null, null, "AAAASS"],
  ["running", null, "AAAASS"],
  ["running", "Bash", "AAAABB"],
  ["alive", null, "AAAASS"],
  ["alive", "Bash", "AAAABB"],
  ["idle", null, "AAIIII"],
  ["idle", "Bash", "AAIIII"],
  ["waiting", null, "AAIIII"],
  ["waiting", "Bash", "AAIIII"],
  ["degraded", null, "AAIIII"],
  ["degraded", "Bash", "AAIIII"],
];
const LETTERS: Readonly<Record<string, Condition>> = { A: "alive", I: "idle", S: "stuck", B: "busy" };
const CELLS = GRID.flatMap(([status, tool, cells]) =>
  AGES.map((age, column) => [status, tool, age, LETTERS[cells[column] ?? ""]] as const),
);
/** What is asked before the grid is, with what it answers whatever stands in the grid. */
const BEFORE: readonly (readonly [Partial<WatchFacts>, silentMinutes: number, Condition])[] = [
  [{}, 0.75, "late"],
  [{}, 1.25, "warned"],
  [{}, 2, "dead"],
  [{ completedMs: ago(5) }, 2, "dead"],
  [{ completedMs: ago(4.9) }, 0, "done"],
  [{ completedMs: ago(5) }, 0, "finished"],
  [{ completedMs: ago(5), open: { q: { seq: 1, atMs: ago(1) } } }, 0, "finished"],
  [{ open: { q: { seq: 1, atMs: ago(1) } } }, 0, "waiting"],
  [{ open: { q: { seq: 1, atMs: ago(1) } } }, 2, "dead"],
];

test.for(CELLS)("every cell: status %s with tool %s, %d minutes without work", ([status, tool, age, expected]) => {
  const facts = (silent: number): WatchFacts => ({
    ...NO_WATCH_FACTS,
    contactMs: ago(silent),
    beat: status === null ? null : { atMs: ago(silent), status, tool },
    workMs: ago(age),
  });
  for (const state of ["running", "completing", "completed"] as const) {
    const decide = (given: WatchFacts) => decideCondition({ state, startedMs: ago(60), facts: given }, LIMITS, NOW);
    expect(decide(facts(0)).condition).toBe(expected);
    expect(decide({ ...facts(0), messageMs: ago(1) }).condition).toBe("alive");
    for (const [more, silent, condition] of BEFORE)
      expect(decide({ ...facts(silent), ...more }).condition, JSON.stringify([state, more, silent])).toBe(condition);
  }
});
