import { expect, test } from "vitest";
import { countLines, parseDiff } from "./diff.ts";

const kinds = (patch: string) => parseDiff(patch).map((line) => `${line.kind}:${line.text}`);

test("a deleted SQL comment and an added `++` stay lines of the hunk", () => {
  const patch = "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- old comment\n+++ counter\n select 1\n";
  expect(kinds(patch)).toEqual([
    "file:--- a/q.sql",
    "file:+++ b/q.sql",
    "hunk:@@ -1,2 +1,2 @@",
    "removed:-- old comment",
    "added:++ counter",
    "context:select 1",
  ]);
});

test("line numbers follow each side", () => {
  const lines = parseDiff("@@ -10,3 +20,3 @@ fn\n a\n-b\n+c\n d\n");
  expect(lines.map((line) => [line.oldLine, line.newLine])).toEqual([
    [null, null],
    [10, 20],
    [11, null],
    [null, 21],
    [12, 22],
  ]);
});

test("a missing newline at the end is a note, and a second file begins after the hunk", () => {
  expect(kinds("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\ndiff --git a/x b/x\n")).toEqual([
    "hunk:@@ -1 +1 @@",
    "removed:a",
    "added:b",
    "note:No newline at end of file",
    "file:diff --git a/x b/x",
  ]);
});

test("empty context lines without their blank are context", () => {
  expect(kinds("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n")).toEqual([
    "hunk:@@ -1,3 +1,3 @@",
    "context:a",
    "context:",
    "removed:b",
    "added:c",
  ]);
});

test("only as many lines are read as are asked for", () => {
  expect(parseDiff(`@@ -0,0 +1,1000 @@\n${"+x\n".repeat(1_000)}`, 25)).toHaveLength(25);
});

test("lines are counted with and without a last newline", () => {
  expect([countLines(""), countLines("a"), countLines("a\n"), countLines("a\nb")]).toEqual([0, 1, 1, 2]);
});
