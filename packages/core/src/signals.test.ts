import { expect, test } from "vitest";
import { parseConstraints } from "./constraints.ts";
import {
  foldSignals,
  NO_SIGNAL_STATES,
  readSignals,
  readStanding,
  SUPERVISED_BODIES,
  type RunContext,
} from "./signals.ts";
import { foldWatch, NO_WATCH_FACTS, type SeenEvent } from "./watch-facts.ts";

const RUN: RunContext = { ownedFiles: [], prompt: "Fix the login form.", contextTokens: 200_000 };

/** A run as events: seq and time count up by themselves, a second each. */
function record() {
  const events: SeenEvent[] = [];
  let calls = 0;
  const add = (event_type: string, event_data: SeenEvent["event_data"] = {}, source = "agent") => {
    events.push({ seq: events.length + 1, event_type, event_data, source, atMs: (events.length + 1) * 1_000 });
  };
  return {
    events,
    add,
    tool: (
      tool: string,
      input: SeenEvent["event_data"],
      result: string,
      more: { is_error?: boolean; turn?: number } = {},
    ) => {
      const tool_use_id = `t${(calls += 1)}`;
      const turn = more.turn ?? calls;
      add("agent.tool_use", { tool, input, tool_use_id, turn });
      add("agent.tool_result", { tool_use_id, result, is_error: more.is_error ?? false, turn });
    },
    edit: (file_path: string, lines_added = 3) =>
      add("agent.file_edited", { file_path, lines_added, lines_removed: 0 }),
  };
}

function read(events: readonly SeenEvent[], run: RunContext = RUN, nowMs = events.length * 1_000) {
  const states = events.reduce((state, event) => foldSignals(state, event, run), NO_SIGNAL_STATES);
  // What is stored between two looks is JSON: nothing may hang on more than that.
  return readSignals(JSON.parse(JSON.stringify(states)), run, nowMs);
}
const names = (...args: Parameters<typeof read>) => read(...args).map(({ signal }) => signal);
const times = (count: number, fn: (index: number) => void) => Array.from({ length: count }, (_, index) => fn(index));

test("the same call with the same result again and again is a loop, and its calls are cited", () => {
  const run = record();
  times(5, () => run.tool("Bash", { command: "npm test" }, "1 failed in 3.2s"));
  expect(read(run.events)).toEqual([
    { signal: "repeated_tool", level: "warning", seqs: [1, 3, 5, 7, 9], detail: expect.stringContaining("5 times") },
  ]);
});

test("a result that is told again as the model was given it counts once, and ends no streak", () => {
  const signs = (isToldTwice: boolean) => {
    const run = record();
    times(6, (index) => {
      run.tool("Bash", { command: "npm test" }, `${"1 failed ".repeat(index)}`, { is_error: true });
      if (isToldTwice)
        run.add("agent.user_tool_result", { tool_use_id: `t${index + 1}`, result: "1", told_as: "agent.tool_result" });
    });
    times(11, () => run.tool("Read", { file_path: "a.ts" }, "A"));
    return read(run.events).map(({ signal, detail }) => [signal, detail]);
  };
  expect(signs(true)).toEqual(signs(false));
  expect(signs(true).length).toBeGreaterThan(1);
});

test("a loop of two calls is one too", () => {
  const run = record();
  times(12, (index) => run.tool("Read", { file_path: index % 2 === 0 ? "a.ts" : "b.ts" }, index % 2 === 0 ? "A" : "B"));
  expect(names(run.events)).toContain("repeated_tool");
});

test("times and numbers in a result do not make it new, other words do", () => {
  const same = record();
  times(6, (index) => same.tool("Bash", { command: "npm  test" }, `failed after ${index} ms`));
  expect(names(same.events)).toContain("repeated_tool");
  const polled = record();
  for (const step of ["queued", "fetching", "compiling", "linking", "testing", "done"])
    polled.tool("Bash", { command: "gh run view" }, step);
  expect(names(polled.events)).toEqual([]);
});

test("who edits between two test runs is at work", () => {
  const run = record();
  times(12, (index) => {
    run.edit(`src/${index}.ts`);
    run.tool("Bash", { command: "npm test" }, "1 failed", { is_error: true });
  });
  expect(names(run.events)).toEqual([]);
});

test("errors in a row are a streak; a success, an edit in time or a word of a person ends it", () => {
  const run = record();
  times(5, (index) => run.tool("Bash", { command: `try ${index}` }, `no ${"x".repeat(index)}`, { is_error: true }));
  expect(read(run.events)).toMatchObject([{ signal: "error_streak", level: "warning", seqs: [2, 4, 6, 8, 10] }]);
  run.add("agent.message_injected", { message_type: "user_message", content: "try the other way" });
  expect(names(run.events)).toEqual([]);
});

test("many turns that read the same again without a change are no progress; reading much that is new is", () => {
  const stale = record();
  const files = ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts"];
  times(30, (index) =>
    stale.tool("Read", { file_path: files[(index * 3) % 5] ?? "" }, `text of ${files[(index * 3) % 5]}`, {
      turn: index,
    }),
  );
  expect(names(stale.events)).toContain("no_progress");
  const curious = record();
  times(30, (index) =>
    curious.tool(
      "Read",
      { file_path: `src/${String.fromCharCode(97 + index)}.ts` },
      `text ${String.fromCharCode(97 + index)}`,
      { turn: index },
    ),
  );
  expect(names(curious.events)).toEqual([]);
});

test("tokens without a changed line burn; with lines they do not", () => {
  const run = record();
  times(25, () => run.add("agent.usage", { input_tokens: 100_000, output_tokens: 2_000 }, "server"));
  expect(names(run.events, { ...RUN, contextTokens: null })).toEqual(["token_burn"]);
  run.edit("a.ts", 200);
  times(25, () => run.add("agent.usage", { input_tokens: 100_000, output_tokens: 2_000 }, "server"));
  expect(names(run.events, { ...RUN, contextTokens: 2_000_000 })).toEqual(["token_burn"]);
  run.edit("b.ts", 200);
  expect(names(run.events, { ...RUN, contextTokens: null })).toEqual([]);
});

test("an edit outside of the task's files is seen, one within is not", () => {
  const owned: RunContext = { ...RUN, ownedFiles: ["src/auth/**", "docs/*.md"] };
  const run = record();
  run.edit("src/auth/deep/form.ts");
  run.edit("/workspace/docs/login.md");
  expect(names(run.events, owned)).toEqual([]);
  run.edit("src/billing.ts");
  expect(read(run.events, owned)).toMatchObject([{ signal: "outside_ownership", seqs: [3] }]);
});

test("who renames a file away has changed it, too", () => {
  const run = record();
  run.add("agent.file_edited", { file_path: "mine/b.ts", old_path: "/workspace/theirs/a.ts", change_type: "renamed" });
  expect(names(run.events, { ...RUN, ownedFiles: ["mine/**"], prompt: "Do not touch theirs/a.ts" })).toEqual([
    "outside_ownership",
    "constraint_broken",
  ]);
});

test("who waits and looks whether it is done goes in no circle, and what is not there yet is no failure", () => {
  const polls = record();
  times(15, () => polls.tool("BashOutput", { bash_id: "1" }, "<status>running</status>"));
  times(15, () => polls.tool("Bash", { command: "sleep 30 && gh run view 7" }, "in progress", { is_error: true }));
  expect(read(polls.events)).toMatchObject([{ signal: "repeated_tool", level: "note" }]);
  const loops = record();
  times(15, () =>
    loops.tool("Bash", { command: "npm start & sleep 3; curl localhost" }, "refused", { is_error: true }),
  );
  expect(read(loops.events)).toMatchObject([
    { signal: "repeated_tool", level: "critical" },
    { signal: "error_streak", level: "critical" },
  ]);
});

test("what was forbidden in so many words is seen when it is done", () => {
  const strict: RunContext = {
    ...RUN,
    prompt: "Do not touch package.json, never edit `db/migrations/` and don't push.",
  };
  const run = record();
  run.edit("src/a.ts");
  run.tool("Bash", { command: "npm test" }, "ok");
  expect(names(run.events, strict)).toEqual([]);
  run.edit("db/migrations/0001.sql");
  run.tool("Bash", { command: "git push origin main" }, "done");
  run.edit("packages/web/package.json");
  expect(read(run.events, strict)).toMatchObject([{ signal: "constraint_broken", level: "critical", seqs: [4, 5, 7] }]);
});

test("a person may forbid more in the middle of a run", () => {
  const run = record();
  run.edit("README.md");
  run.add("agent.message_injected", {
    message_type: "user_message",
    content: "Please don't change README.md any more",
  });
  expect(names(run.events)).toEqual([]);
  run.edit("README.md");
  expect(read(run.events)).toMatchObject([{ signal: "constraint_broken", seqs: [3] }]);
});

test.for([
  ["Do not edit src/core/ please", { forbiddenPaths: ["src/core/"] }],
  ["avoid modifying the file `lib/a.py`", { forbiddenPaths: ["lib/a.py"] }],
  ["Only change files in src/web/", { onlyPaths: ["src/web/"] }],
  ["never run `rm -rf`", { forbiddenCommands: ["rm -rf"] }],
  ["Don't run terraform apply.", { forbiddenCommands: ["terraform apply"] }],
  ["Leave anything in `src/views` alone.", { forbiddenPaths: ["src/views"] }],
  ["shop/tasks is off limits.", { forbiddenPaths: ["shop/tasks"] }],
  ["Do not change anything outside `src/net`.", { forbiddenPaths: [], onlyPaths: ["src/net"] }],
  ["All changes must stay within `cmd/worker/`.", { onlyPaths: ["cmd/worker/"] }],
  ["- Work only in `pkg/api`.", { onlyPaths: ["pkg/api"] }],
  ["Running `git rebase` is forbidden.", { forbiddenCommands: ["git rebase"] }],
  ["Editing docs/plan.md is not allowed.", { forbiddenPaths: ["docs/plan.md"] }],
  ["Under no circumstances run `git push --force`.", { forbiddenCommands: ["git push --force"] }],
  ["Work on the form. It only shows src/a.ts", { onlyPaths: [], forbiddenPaths: [], forbiddenCommands: [] }],
  ["don't touch a.ts. You may now edit a.ts", { forbiddenPaths: [] }],
  ["I do not understand why a.ts changes. Never mind.", { forbiddenPaths: [], onlyPaths: [], forbiddenCommands: [] }],
] as const)("read from a prompt: %s", ([prompt, expected]) =>
  expect(parseConstraints([prompt])).toMatchObject(expected),
);

test.for([
  ["Only change src/a.ts and src/b.ts.", { onlyPaths: ["src/a.ts", "src/b.ts"] }],
  ["Only edit files in `src/web`, `docs/` or lib/x.py, nothing else.", { onlyPaths: ["src/web", "docs/", "lib/x.py"] }],
  ["Only change src/a.ts and its tests.", { onlyPaths: [] }],
  ["Only change src/a.ts and run the tests.", { onlyPaths: ["src/a.ts"] }],
  ["Do not touch package.json or package-lock.json.", { forbiddenPaths: ["package.json", "package-lock.json"] }],
  ["Do not edit a.ts. If that fails, stop.", { forbiddenPaths: ["a.ts"] }],
  ["Do not edit a.ts unless the test needs it.", { forbiddenPaths: [] }],
  ["Do not push before the tests pass.", { forbiddenCommands: [] }],
  ["Do not commit or push.", { forbiddenCommands: ["git push"] }],
  ["Never push to main.", { forbiddenCommands: [] }],
  ["Work only on src/a.ts. Add tests in test/a.test.ts.", { onlyPaths: ["src/a.ts", "test/a.test.ts"] }],
  ["Users should not edit config.json by hand; show a form.", { forbiddenPaths: [] }],
  ["Never run `npm publish` or `npm version`.", { forbiddenCommands: ["npm publish", "npm version"] }],
] as const)("several in one breath, and what is said with a condition: %s", ([prompt, expected]) =>
  expect(parseConstraints([prompt])).toMatchObject(expected),
);

test("what the guardian's word was about is gone, lingers or is there again", () => {
  const standing = (name: string, events: readonly SeenEvent[]) => {
    const states = events.reduce((state, event) => foldSignals(state, event, RUN), NO_SIGNAL_STATES);
    return readStanding(JSON.parse(JSON.stringify(states)), name, RUN, events.length * 1_000);
  };
  const loop = (run: ReturnType<typeof record>, count: number) =>
    times(count, (index) => run.tool("Read", { file_path: `${"abc"[index % 3]}.ts` }, `${index % 3}`));
  const tell = (run: ReturnType<typeof record>) =>
    run.add("agent.message_injected", { message_type: "guardian_nudge" });
  const deaf = record();
  loop(deaf, 15);
  expect(standing("repeated_tool", deaf.events)).toBe("there");
  tell(deaf);
  loop(deaf, 5);
  expect(standing("repeated_tool", deaf.events)).toBe("lingering");
  loop(deaf, 15);
  expect(standing("repeated_tool", deaf.events)).toBe("there");

  const heard = record();
  loop(heard, 15);
  tell(heard);
  heard.edit("src/a.ts");
  loop(heard, 2);
  times(3, (index) => heard.tool("Bash", { command: `try ${index}` }, `${index}`));
  expect(standing("repeated_tool", heard.events)).toBe("gone");

  const failing = record();
  times(6, (index) => failing.tool("Bash", { command: `try ${index}` }, "no", { is_error: true }));
  tell(failing);
  times(3, (index) => failing.tool("Bash", { command: `still ${index}` }, "no", { is_error: true }));
  expect(standing("error_streak", failing.events)).toBe("lingering");
  failing.tool("Bash", { command: "other" }, "yes");
  expect(standing("error_streak", failing.events)).toBe("gone");

  const stale = record();
  times(20, (index) => stale.tool("Read", { file_path: `${index % 5}.ts` }, `text ${"x".repeat(index % 5)}`));
  expect(standing("no_progress", stale.events)).toBe("there");
  tell(stale);
  times(5, (index) => stale.tool("Read", { file_path: `${index}.ts` }, `text ${"x".repeat(index)}`));
  expect(standing("no_progress", stale.events)).toBe("lingering");
  stale.edit("src/a.ts");
  expect(standing("no_progress", stale.events)).toBe("gone");

  const dear = record();
  times(25, () => dear.add("agent.usage", { input_tokens: 100_000 }, "server"));
  tell(dear);
  times(5, () => dear.add("agent.usage", { input_tokens: 100_000 }, "server"));
  expect(standing("token_burn", dear.events)).toBe("lingering");
  dear.edit("src/a.ts", 200);
  expect(standing("token_burn", dear.events)).toBe("gone");
});

test("a nearly full window is noted, of the size the model has", () => {
  const run = record();
  run.add("agent.usage", { input_tokens: 1_000, cache_read_tokens: 175_000 }, "server");
  expect(read(run.events)).toMatchObject([{ signal: "context_full", level: "note", seqs: [1] }]);
  expect(names(run.events, { ...RUN, contextTokens: 1_000_000 })).toEqual([]);
  expect(names(run.events, { ...RUN, contextTokens: null })).toEqual([]);
});

test("a question that waits is told after a while, and no more once it is answered", () => {
  const run = record();
  run.add("agent.permission_requested", { request_id: "r", tool: "Bash" });
  expect(names(run.events, RUN, 60_000)).toEqual([]);
  expect(read(run.events, RUN, 180_000)).toMatchObject([{ signal: "waiting_for_answer", level: "note", seqs: [1] }]);
  expect(read(run.events, RUN, 900_000)).toMatchObject([{ level: "critical" }]);
  run.add("agent.permission_answered", { request_id: "r" });
  expect(names(run.events, RUN, 900_000)).toEqual([]);
});

test("an agent that has said its last word and rests has finished without ending; one that runs a tool has not", () => {
  const run = record();
  run.add("agent.message", { content: "All done." });
  run.add("agent.heartbeat", { status: "idle" }, "worker");
  expect(names(run.events, RUN, 60_000)).toEqual([]);
  expect(names(run.events, RUN, 300_000)).toEqual(["finished_not_ended"]);
  run.add("agent.tool_use", { tool: "Bash", input: { command: "make" }, tool_use_id: "x" });
  run.add("agent.heartbeat", { status: "running", tool: "Bash" }, "worker");
  expect(names(run.events, RUN, 3_000_000)).toEqual([]);
});

test("states of another version, or nonsense events, break nothing", () => {
  const odd: SeenEvent = {
    seq: 1,
    event_type: "agent.tool_use",
    event_data: { tool: 7, input: [1, { a: null }] },
    source: "agent",
    atMs: 1,
  };
  const states = foldSignals({}, odd, RUN);
  expect(readSignals(states, RUN, 1)).toEqual([]);
});

/** Broken on purpose: "agent.usage" taken out of the list. */
test("bodies of events that are not listed as read change nothing", () => {
  const some = record();
  times(6, (index) => some.tool("Bash", { command: "npm test" }, "1 failed", { is_error: index > 2 }));
  some.edit("src/a.ts");
  some.add("agent.permission_requested", { request_id: "true" });
  const run: RunContext = { ...RUN, ownedFiles: ["docs/**"], prompt: "Do not touch src/a.ts. Never run `npm test`." };
  const before = some.events.reduce((state, event) => foldSignals(state, event, run), NO_SIGNAL_STATES);
  const watch = some.events.reduce(foldWatch, NO_WATCH_FACTS);
  const fold = (event_type: string, event_data: SeenEvent["event_data"]) => {
    const event = { seq: 99, event_type, event_data, source: "agent", atMs: 99_000 };
    return [foldSignals(before, event, run), foldWatch(watch, event)];
  };
  /** Has every key that anybody could ask for. */
  const always = (value: SeenEvent["event_data"][string]) => new Proxy({}, { get: () => value });
  const values = [true, 7, "true", "src/a.ts", "npm test", "user_message", "idle", { command: "npm test" }];
  const known = `agent.heartbeat heartbeat spec.heartbeat agent.started agent.error agent.stream_error spec.phase_failed
    spec.execution_failed iteration.failed agent.waiting agent.shutdown agent.interrupted agent.completed agent.failed agent.resumed
    agent.transcript_saved agent.compacted agent.message agent.thinking agent.tool_use agent.tool_result agent.tool_completed
    agent.user_tool_result agent.subagent_invoked agent.skill_invoked agent.file_edited agent.usage agent.message_injected agent.processing
    agent.turn_complete agent.permission_requested agent.permission_answered workspace.checkpoint sandbox.provisioning
    MESSAGE_QUEUED MESSAGE_STATE_CHANGED STATE_CHANGED custom.type`.split(/\s+/);
  const readTypes = known.filter((type) =>
    values.some((value) => JSON.stringify(fold(type, always(value))) !== JSON.stringify(fold(type, {}))),
  );
  expect(readTypes.filter((type) => !SUPERVISED_BODIES.includes(type))).toEqual([]);
  expect(readTypes).toEqual(expect.arrayContaining(["agent.usage", "agent.tool_use", "agent.file_edited"]));
});
