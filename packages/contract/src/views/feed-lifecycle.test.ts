import { describe, expect, test } from "vitest";
import { toLifecycleSentence } from "./feed-lifecycle.ts";

const say = (event_type: string, event_data: Record<string, string | number | boolean>) =>
  toLifecycleSentence({ event_type, event_data });

describe("how a sandbox is made", () => {
  test.for([
    [
      { step: "environment", status: "done", duration_ms: 320 },
      { title: "Sandbox made", detail: "320 ms" },
    ],
    [
      { step: "worker", status: "done", duration_ms: 1_540 },
      { title: "Worker started", detail: "1.5 s" },
    ],
    [
      { step: "skills", status: "done", duration_ms: 5 },
      { title: "Provisioning: skills", detail: "done · 5 ms" },
    ],
    [
      { step: "worker", status: "begun" },
      { title: "Provisioning: worker", detail: "begun" },
    ],
    [
      { step: "repository", status: "failed", error: "no such branch", duration_ms: 40 },
      { title: "Provisioning failed: repository", detail: "no such branch · 40 ms", tone: "bad" },
    ],
    [{}, { title: "Provisioning: step", detail: null }],
  ] as const)("%j", ([data, sentence]) => {
    expect(say("sandbox.provisioning", { ...data })).toEqual(sentence);
  });
});

test("a budget says what is spent of it, whose it is, and what is asked", () => {
  const data = { scope_type: "project", spent_usd: 8.5, limit_usd: 10 };
  const standing = "$8.50 of $10.00 of this project";
  const question = "Raise it, or end the sandbox?";
  for (const prefix of ["", "cost."]) {
    expect(say(`${prefix}budget.warning`, data)).toMatchObject({ detail: standing, tone: "warn" });
    expect(say(`${prefix}budget.exceeded`, { ...data, estimate_usd: 2, question })).toMatchObject({
      detail: `${standing} · the next call is expected to cost $2.00 · ${question}`,
      tone: "bad",
    });
  }
});

test("what was kept of it is told with its size and its time", () => {
  expect(say("sandbox.log_kept", { size: 1_200 })).toEqual({ title: "Worker's log kept", detail: "1,200 bytes" });
  expect(say("terminal.recorded", { duration_ms: 61_000, is_truncated: true })).toEqual({
    title: "Terminal closed",
    detail: "61.0 s · recorded in part",
  });
});

test.for([
  ["git.pushed", { branch: "drover/a", to_commit: "0123456789abcdef" }, "Pushed: drover/a · 0123456789"],
  ["git.pushed", { branch: "drover/a", to_commit: null }, "Branch removed: drover/a"],
  [
    "continuous.started",
    { limits: { max_iterations: 10, max_cost_usd: 20 } },
    "Works in iterations: at most 10 · $20.00",
  ],
  ["iteration.started", { iteration_num: 2 }, "Iteration 2"],
  ["iteration.completion_signal", { signal_count: 1, threshold: 2 }, "The agent says that it is done: 1 of 2"],
  ["iteration.validation", { passed: false, feedback: "Push it." }, "Not done yet: Push it."],
  ["iteration.validation", { passed: true }, "What was asked for is there"],
  ["iteration.completed", { iteration_num: 2, cost_usd: 0.5 }, "Iteration 2 is over: $0.50"],
  [
    "continuous.completed",
    { stop_reason: "max_cost_reached", successful_iterations: 3, total_cost_usd: 20.1 },
    "Iterations ended: max cost reached: 3 without an error · $20.10",
  ],
] as const)("%s %j is a sentence", ([type, data, words]) => {
  const sentence = toLifecycleSentence({ event_type: type, event_data: data });
  expect([sentence?.title, sentence?.detail].filter((part) => typeof part === "string").join(": ")).toBe(words);
});
