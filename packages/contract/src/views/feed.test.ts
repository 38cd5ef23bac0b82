import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { emptyFeed, foldFeed, rowOfSeq } from "./feed.ts";
import { toGroup, type FeedRow } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";

let next = 0;
const event = (event_type: string, event_data: JsonObject = {}, secondsLater = 0): LogEvent => {
  next += 1;
  const created_at = new Date(Date.UTC(2026, 0, 1) + (next + secondsLater) * 1_000).toISOString();
  return { id: `e${next}`, sandbox_seq: next, event_type, event_data, source: "agent", created_at };
};
const run = (...events: readonly (readonly [string, JsonObject?, number?])[]): readonly LogEvent[] => {
  next = 0;
  return events.map(([type, data, later]) => event(type, data, later));
};
const rowsOf = (events: readonly LogEvent[]): readonly FeedRow[] => foldFeed(emptyFeed(), events).rows;

describe("tool calls", () => {
  test("a call, its result and its hook are one row that keeps the place of the call", () => {
    const rows = rowsOf(
      run(
        ["agent.tool_use", { tool: "WebFetch", tool_use_id: "t1", input: { url: "https://example.org" } }],
        ["agent.message", { content: "meanwhile" }],
        ["agent.tool_result", { tool_use_id: "t1", result: "short" }],
        ["agent.tool_completed", { tool_use_id: "t1", tool: "WebFetch", tool_response: "the longer text" }],
      ),
    );
    expect(rows.map((row) => row.kind)).toEqual(["tool", "message"]);
    expect(rows[0]).toMatchObject({ seq: 1, lastSeq: 4, call: { output: "the longer text", isError: false } });
  });

  test("two calls with the same command are two rows", () => {
    const same = { tool: "Bash", input: { command: "npm test" } };
    const rows = rowsOf(
      run(
        ["agent.tool_use", { ...same, tool_use_id: "a" }],
        ["agent.tool_completed", { tool_use_id: "a", tool_response: { stdout: "ok", exit_code: 0 } }],
        ["agent.tool_use", { ...same, tool_use_id: "b" }],
      ),
    );
    expect(rows).toMatchObject([
      { kind: "command", call: { output: "ok", exitCode: 0 } },
      { kind: "command", call: { output: null, endedAt: null } },
    ]);
  });

  test("reads in a sequence are one row, and a heartbeat between them does not break it", () => {
    const rows = rowsOf(
      run(
        ["agent.tool_use", { tool: "Read", tool_use_id: "r1", input: { file_path: "a.ts" } }],
        ["agent.heartbeat"],
        ["agent.tool_use", { tool: "Grep", tool_use_id: "r2", input: { pattern: "x" } }],
        ["agent.tool_result", { tool_use_id: "r1", result: "text of a" }],
      ),
    );
    expect(rows.map((row) => row.kind)).toEqual(["reads", "heartbeats"]);
    expect(rows[0]).toMatchObject({
      calls: [
        { toolUseId: "r1", output: "text of a" },
        { toolUseId: "r2", output: null },
      ],
    });
  });

  test("what a sub-agent does is told from what the agent does, and its reads are not the agent's", () => {
    const read = (id: string, parent?: string) =>
      ["agent.tool_use", { tool: "Read", tool_use_id: id, parent_tool_use_id: parent ?? null }] as const;
    const rows = rowsOf(
      run(
        ["agent.subagent_invoked", { tool: "Task", tool_use_id: "s", input: { subagent_type: "reviewer" } }],
        read("r1"),
        read("r2", "s"),
        read("r3", "s"),
        ["agent.message", { content: "found it", parent_tool_use_id: "s" }],
        ["agent.subagent_completed", { tool_use_id: "s", subagent_usage: { input_tokens: 900, output_tokens: 100 } }],
      ),
    );
    expect(rows.map(({ kind, within }) => [kind, within])).toEqual([
      ["tool", undefined],
      ["reads", undefined],
      ["reads", "s"],
      ["message", "s"],
    ]);
    expect(rows[0]).toMatchObject({ call: { tokens: 1_000 } });
    expect(rows[2]).toMatchObject({ calls: [{ toolUseId: "r2" }, { toolUseId: "r3" }] });
  });

  test("an answer whose call is missing is shown on its own", () => {
    expect(rowsOf(run(["agent.tool_result", { tool_use_id: "gone", result: "late" }]))).toMatchObject([
      { kind: "tool", call: { output: "late" } },
    ]);
  });

  test("output that streams is kept until the result replaces it", () => {
    const streaming = run(
      ["agent.tool_use", { tool: "Bash", tool_use_id: "c", input: { command: "make" } }],
      ["command.output", { tool_use_id: "c", chunk: "one\n" }],
      ["command.output", { tool_use_id: "c", chunk: "two\n" }],
    );
    expect(rowsOf(streaming)).toMatchObject([{ kind: "command", call: { output: "one\ntwo\n", endedAt: null } }]);
  });

  test("a failed exit is an error of the command, and the row stays a command", () => {
    const [row] = rowsOf(
      run(
        ["agent.tool_use", { tool: "Bash", tool_use_id: "c", input: { command: "false" } }],
        ["agent.tool_completed", { tool_use_id: "c", tool_response: { stdout: "", exit_code: 1 } }],
      ),
    );
    expect(row).toMatchObject({ kind: "command", call: { isError: true, exitCode: 1 } });
    expect(row && toGroup(row)).toBe("commands");
  });
});

describe("edits", () => {
  const edited = (tool_use_id: string, file_path: string) =>
    [
      "agent.file_edited",
      {
        tool_use_id,
        file_path,
        change_type: "modified",
        lines_added: 2,
        lines_removed: 1,
        full_diff: "@@ -1 +1 @@\n-a\n+b\n",
      },
    ] as const;

  test("an edit joins the call that made it", () => {
    const rows = rowsOf(
      run(["agent.tool_use", { tool: "Edit", tool_use_id: "e", input: { file_path: "a.ts" } }], edited("e", "a.ts")),
    );
    expect(rows).toMatchObject([
      { kind: "edit", call: { tool: "Edit" }, edits: [{ path: "a.ts", added: 2, isComplete: true }] },
    ]);
  });

  test("files that a command changed stand together after the command", () => {
    const rows = rowsOf(
      run(
        ["agent.tool_use", { tool: "Bash", tool_use_id: "c", input: { command: "sed" } }],
        edited("c", "a.ts"),
        edited("c", "b.ts"),
      ),
    );
    expect(rows).toMatchObject([
      { kind: "command" },
      { kind: "edit", call: null, edits: [{ path: "a.ts" }, { path: "b.ts" }] },
    ]);
  });

  test("the view sums the lines of each file", () => {
    const view = foldFeed(emptyFeed(), run(edited("x", "a.ts"), edited("y", "a.ts")));
    expect(view.files.get("a.ts")).toMatchObject({ added: 4, removed: 2 });
  });
});

describe("messages", () => {
  test("one message is one row from queued to seen", () => {
    const rows = rowsOf(
      run(
        ["MESSAGE_QUEUED", { message_id: "msg-1", content: "use the cache", message_type: "user_message" }],
        ["MESSAGE_STATE_CHANGED", { message_id: "msg-1", state: "delivered" }],
        ["agent.message_injected", { message_id: "msg-1", content: "use the cache, please", turn: 4 }],
        ["MESSAGE_STATE_CHANGED", { message_id: "msg-1", state: "seen" }],
      ),
    );
    expect(rows).toMatchObject([{ kind: "person", text: "use the cache, please", turn: 4, isCut: false }]);
    expect(rows[0]?.kind === "person" && rows[0].steps.map((step) => step.state)).toEqual([
      "queued",
      "delivered",
      "seen",
    ]);
  });

  test("messages with the same text and different ids are two rows", () => {
    const queued = (message_id: string) => ["MESSAGE_QUEUED", { message_id, content: "go on" }] as const;
    expect(rowsOf(run(queued("msg-1"), queued("msg-2")))).toHaveLength(2);
  });

  test("a person's answer is on its way until the agent is told, and a second request is the first again", () => {
    const asked = {
      request_id: "p",
      tool: "Bash",
      input: { command: "ls" },
      options: [{ id: "y", name: "Yes", kind: "allow_once" }, 5],
    };
    const events: readonly (readonly [string, JsonObject])[] = [
      ["agent.permission_requested", asked],
      ["PERMISSION_ANSWER_QUEUED", { request_id: "p", decision: "allow", note: "fine" }],
      ["agent.permission_requested", asked],
    ];
    const row = {
      kind: "permission",
      tool: "Bash",
      options: [{ id: "y" }],
      answer: "allow",
      by: "person",
      note: "fine",
    };
    expect(rowsOf(run(...events))).toMatchObject([{ ...row, isTold: false }]);
    const told = rowsOf(
      run(...events, ["agent.permission_answered", { request_id: "p", decision: "allow", by: "person" }]),
    );
    expect(told).toMatchObject([{ ...row, isTold: true }]);
  });

  test("what the models cost is counted", () => {
    const usage = { input_tokens: 100, cache_read_tokens: 20, output_tokens: 7, cost_usd: 0.25 };
    const { spent } = foldFeed(emptyFeed(), run(["agent.usage", usage], ["agent.usage", usage]));
    expect(spent).toEqual({ calls: 2, inputTokens: 240, outputTokens: 14, costUsd: 0.5 });
  });

  test("a permission and its answer are one row", () => {
    const rows = rowsOf(
      run(
        ["agent.permission_requested", { request_id: "p", tool: "Bash", question: "Run it?" }],
        ["agent.permission_answered", { request_id: "p", answer: "allow" }],
      ),
    );
    expect(rows).toMatchObject([{ kind: "permission", answer: "allow", detail: "Run it?" }]);
  });
});

describe("quiet lines", () => {
  test("heartbeats among work are one line for ten minutes", () => {
    const rows = rowsOf(
      run(
        ["agent.heartbeat"],
        ["agent.message", { content: "a" }],
        ["agent.heartbeat"],
        ["agent.message", { content: "b" }],
        ["agent.heartbeat", {}, 700],
      ),
    );
    expect(rows.map((row) => row.kind)).toEqual(["heartbeats", "message", "message", "heartbeats"]);
    expect(rows[0]).toMatchObject({ count: 2 });
  });

  test("an unknown type is a row with its data", () => {
    expect(rowsOf(run(["future.thing", { a: 1 }]))).toMatchObject([
      { kind: "unknown", eventType: "future.thing", data: { a: 1 } },
    ]);
  });

  test("a type named like a property of every object is an unknown type", () => {
    expect(rowsOf(run(["constructor"], ["__proto__"], ["toString"])).map((row) => row.kind)).toEqual([
      "unknown",
      "unknown",
      "unknown",
    ]);
  });

  test("a body of the wrong shape never throws", () => {
    const types = [
      "agent.message",
      "agent.tool_use",
      "agent.tool_completed",
      "agent.file_edited",
      "MESSAGE_QUEUED",
      "MESSAGE_STATE_CHANGED",
      "agent.usage",
      "agent.completed",
      "command.output",
    ];
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.constantFrom(...types),
            fc.dictionary(
              fc.constantFrom(
                "content",
                "tool",
                "tool_use_id",
                "input",
                "result",
                "message_id",
                "state",
                "turn",
                "tool_response",
              ),
              fc.jsonValue(),
            ),
          ),
        ),
        (raw) => {
          rowsOf(run(...raw.map(([type, data]) => [type, data as JsonObject] as const)));
        },
      ),
    );
  });
});

test("however a log is cut into batches, the feed is the same", () => {
  const types = [
    "agent.message",
    "agent.heartbeat",
    "agent.tool_use",
    "agent.tool_completed",
    "agent.file_edited",
    "agent.usage",
    "x.y",
  ];
  const Step = fc.record({
    type: fc.constantFrom(...types),
    tool: fc.constantFrom("Read", "Bash", "Edit", "Odd"),
    id: fc.constantFrom("1", "2", "3"),
  });
  fc.assert(
    fc.property(fc.array(Step, { maxLength: 40 }), fc.array(fc.nat(5)), (steps, cuts) => {
      const events = run(
        ...steps.map(
          (step) => [step.type, { tool: step.tool, tool_use_id: step.id, file_path: "f", content: "c" }] as const,
        ),
      );
      let view = emptyFeed();
      let from = 0;
      for (const cut of cuts) {
        view = foldFeed(view, events.slice(from, from + cut));
        from = Math.min(events.length, from + cut);
      }
      view = foldFeed(view, events.slice(from));
      const whole = foldFeed(emptyFeed(), events);
      expect(view.rows).toEqual(whole.rows);
      expect(view.index.rowOfSeq).toEqual(whole.index.rowOfSeq);
    }),
  );
});

test("every event is found in a row", () => {
  const view = foldFeed(
    emptyFeed(),
    run(
      ["SPAWNED"],
      ["agent.assistant_message"],
      ["agent.tool_use", { tool: "Read", tool_use_id: "r" }],
      ["agent.message", { content: "x" }],
      ["agent.tool_result", { tool_use_id: "r" }],
    ),
  );
  expect([1, 2, 3, 4, 5].map((seq) => rowOfSeq(view, seq))).toEqual([0, 0, 1, 2, 1]);
  expect(rowOfSeq(view, 6)).toBe(-1);
});

test("a view already shown is not changed by what comes later", () => {
  const first = foldFeed(
    emptyFeed(),
    run(["agent.tool_use", { tool: "Bash", tool_use_id: "c", input: { command: "ls" } }]),
  );
  const before = first.rows[0];
  foldFeed(first, [
    {
      id: "z",
      sandbox_seq: 2,
      event_type: "agent.tool_completed",
      event_data: { tool_use_id: "c", tool_response: "x" },
      source: "agent",
      created_at: "2026-01-01T00:00:09.000Z",
    },
  ]);
  expect(first.rows).toEqual([before]);
  expect(before).toMatchObject({ call: { output: null } });
});

test("that a message is worked on, and what the model was given of a result, are no rows and change none", () => {
  const long = "x".repeat(600);
  const told: [string, JsonObject][] = [
    ["agent.message_injected", { message_id: "m1", content: "go" }],
    ["agent.tool_use", { tool: "Grep", tool_use_id: "t1", input: { pattern: "x" } }],
    ["agent.tool_result", { tool_use_id: "t1", result: long, result_truncated: false, result_full_length: 600 }],
  ];
  const given = {
    result: "x".repeat(500),
    result_truncated: true,
    result_full_length: 600,
    told_as: "agent.tool_result",
  };
  const view = foldFeed(
    emptyFeed(),
    run(
      ...told,
      ["agent.processing", { message_id: "m1", message_type: "user_message" }],
      ["agent.user_tool_result", { tool_use_id: "t1", ...given }],
      ["agent.user_tool_result", { tool_use_id: "another", ...given }],
      ["agent.processing", { message_id: "another" }],
    ),
  );
  expect(view.rows).toEqual(rowsOf(run(...told)));
  expect([4, 5, 6, 7].map((seq) => rowOfSeq(view, seq))).toEqual([0, 1, 1, 1]);
  // A worker that tells results by this alone.
  const alone = rowsOf(run(...told.slice(1, 2), ["agent.user_tool_result", { tool_use_id: "t1", result: "found" }]));
  expect(alone).toMatchObject([{ calls: [{ output: "found" }] }]);
});

test("thirty thousand events fold in less than a second", () => {
  const kinds = [
    "agent.message",
    "agent.tool_use",
    "agent.tool_completed",
    "agent.heartbeat",
    "agent.thinking",
  ] as const;
  next = 0;
  const events = Array.from({ length: 30_000 }, (_, n) =>
    event(kinds[n % kinds.length] ?? "x", {
      tool: "Bash",
      tool_use_id: `t${Math.floor(n / 5)}`,
      content: "text",
      input: { command: "ls" },
    }),
  );
  const started = performance.now();
  expect(rowsOf(events).length).toBeGreaterThan(10_000);
  expect(performance.now() - started).toBeLessThan(1_000);
});
