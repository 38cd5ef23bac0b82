/** Names, sizes and habits that every file keeps; each rule is shown to bite. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findAllDeadPaths, findDeadPaths, findOffences, findTextOffences } from "./text-rule.ts";

const ROOT = join(import.meta.dirname, "../../../..");

test("every source file keeps the rules of names, size and habits", () => {
  expect(findOffences(ROOT)).toEqual([]);
});

test("every path that a document names exists", () => {
  expect(findAllDeadPaths(ROOT)).toEqual([]);
});

/** Joined here, so that this file does not offend by its examples. */
const dotted = (...words: readonly string[]) => words.join(".");

describe("an offence gives a sentence", () => {
  const role = "is named for a role or a version, not for the thing it holds";
  const waits = "waits for time to pass, not for a fact";
  test.for([
    ["packages/core/src/task-manager.ts", "", role],
    ["packages/core/src/utils.ts", "", role],
    ["packages/core/src/helper.test.ts", "", role],
    ["packages/core/src/events-v2.ts", "", role],
    ["packages/web/src/Feed.tsx", "", "is not named in kebab-case"],
    ["packages/core/src/dag.ts", "x\n".repeat(501), "has more than 500 lines: it has two subjects"],
    ["packages/core/src/dag.test.ts", "x\n".repeat(501), "has more than 500 lines: it has two subjects"],
    ["packages/web/src/feed.tsx", `element.${"inner"}HTML = text`, "sets HTML from a string"],
    ["packages/web/src/feed.tsx", `<p dangerouslySet${"InnerHTML"}={x} />`, "sets HTML from a string"],
    ["packages/core/src/dag.test.ts", `${dotted("vi", "mock")}("./dag.ts")`, "mocks a module of ours"],
    ["packages/core/src/dag.test.ts", `${dotted("test", "skip")}("a")`, "skips or singles out a test"],
    ["packages/core/src/dag.test.ts", `${dotted("describe", "only")}("a")`, "skips or singles out a test"],
    ["packages/core/src/dag.test.ts", `${dotted("test", "todo")}("a")`, "skips or singles out a test"],
    ["packages/core/src/dag.test.ts", `from "node:timers${"/"}promises"`, waits],
    ["packages/core/src/dag.test.ts", `new Promise((done) => ${"set"}Timeout(done, 50))`, waits],
    ["packages/core/src/dag.test.ts", `await ${"sleep"}(1_000)`, waits],
  ] as const)("%s", ([path, text, sentence]) => {
    expect(findTextOffences(path, text)).toEqual([`${path} ${sentence}`]);
  });

  test("a path that is gone", () => {
    const text =
      "See `packages/core/src/gone.ts`, [the rule](gone.md), [a page](https://example.org/x), `scripts/*.ts`.";
    expect(findDeadPaths(ROOT, "docs/PAGE.md", text)).toEqual([
      "docs/PAGE.md names docs/gone.md, which does not exist",
      "docs/PAGE.md names packages/core/src/gone.ts, which does not exist",
    ]);
  });
});

test("good names and whole sizes pass", () => {
  expect(findTextOffences("packages/core/src/baseline.ts", "x")).toEqual([]);
  expect(findTextOffences("packages/core/src/new-sandbox.ts", "x")).toEqual([]);
  expect(findTextOffences("packages/core/src/dag.test.ts", "x\n".repeat(500))).toEqual([]);
});
