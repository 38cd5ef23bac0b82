/** Seen to fail with: the next block's removed lines taken into the one before; a blank change kept; uneven blocks paired. */
import { expect, test } from "vitest";
import { parseDiff } from "./diff.ts";
import { toSides, withoutBlankChanges } from "./diff-sides.ts";

const LINES = parseDiff("@@ -1,5 +1,5 @@\n same\n-one\n-two\n+ONE\n-three\n+THREE\n+four\n end\n");

test("what took the place of a line stands beside it, and the rest alone", () => {
  expect(toSides(LINES).map(({ left, right }) => [left?.text, right?.text])).toEqual([
    ["@@ -1,5 +1,5 @@", "@@ -1,5 +1,5 @@"],
    ["same", "same"],
    ["one", "ONE"],
    ["two", undefined],
    ["three", "THREE"],
    [undefined, "four"],
    ["end", "end"],
  ]);
});

test("a line of which only blanks changed is no change; where lines came or went, everything stays", () => {
  const moved = parseDiff("@@ -1,3 +1,3 @@\n-if (a) {\n-b\n+  if (a)  {\n+c\n end\n");
  expect(withoutBlankChanges(moved).map(({ kind, text, oldLine, newLine }) => [kind, text, oldLine, newLine])).toEqual([
    ["hunk", "@@ -1,3 +1,3 @@", null, null],
    ["context", "  if (a)  {", 1, 1],
    ["removed", "b", 2, null],
    ["added", "c", null, 2],
    ["context", "end", 3, 3],
  ]);
  expect(withoutBlankChanges(LINES)).toEqual(LINES);
  const shorter = parseDiff("@@ -1,2 +1,1 @@\n-a\n-b\n+  a\n");
  expect(withoutBlankChanges(shorter)).toEqual(shorter);
});
