/** Seen to fail with: a line that is not followed when lines come before it; a line put or taken away above it that does not move it; a change of the line that goes unseen. */
import { expect, test } from "vitest";
import { findAnswer } from "./addressed.ts";

const edit = (patch: string, path = "a.ts", oldPath: string | null = null) => ({ path, oldPath, patch });
const ABOVE = edit("@@ -1,2 +1,4 @@\n one\n+new\n+newer\n two\n");
const BELOW = edit("@@ -8,2 +10,3 @@\n eight\n+more\n nine\n");
const AT = edit("@@ -6,3 +6,3 @@\n six\n-five, moved by two\n+mended\n eight\n");

test("a remark is answered by the change that touches its line, wherever the line has gone by then", () => {
  const remark = { path: "a.ts", line: 5 };
  expect(findAnswer(remark, [ABOVE, BELOW])).toBeUndefined();
  expect(findAnswer(remark, [ABOVE, BELOW, AT])).toBe(AT);
  expect(findAnswer(remark, [AT])).toBeUndefined();
  const justAbove = edit("@@ -4,2 +4,3 @@\n four\n+new\n five\n");
  expect(findAnswer(remark, [justAbove, AT])).toBeUndefined();
  expect(findAnswer(remark, [justAbove, edit("@@ -6,1 +6,1 @@\n-five\n+mended\n")])).toBeDefined();
  const renamed = edit("@@ -1,3 +1,2 @@\n one\n-two\n three\n", "b.ts", "a.ts");
  expect(findAnswer(remark, [renamed, edit("@@ -4,1 +4,1 @@\n-five\n+mended\n", "b.ts")])).toMatchObject({
    path: "b.ts",
    oldPath: null,
  });
  expect(findAnswer({ path: "a.ts", line: null }, [edit("", "c.ts"), BELOW])).toBe(BELOW);
});
