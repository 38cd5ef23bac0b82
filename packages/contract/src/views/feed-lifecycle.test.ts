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

test("what was kept of it is told with its size and its time", () => {
  expect(say("sandbox.log_kept", { size: 1_200 })).toEqual({ title: "Worker's log kept", detail: "1,200 bytes" });
  expect(say("terminal.recorded", { duration_ms: 61_000, is_truncated: true })).toEqual({
    title: "Terminal closed",
    detail: "61.0 s · recorded in part",
  });
});
