/** Promises of patches of many files: each line is in one of them, whatever it looks like. */
import { expect, test } from "vitest";
import { splitPatch } from "./patch-files.ts";

const PATCH = `diff --git a/a.sql b/a.sql
index 1..2 100644
--- a/a.sql
+++ b/a.sql
@@ -1,2 +1,2 @@
--- a comment
+diff --git a/fake b/fake
 same
diff --git a/old name.txt b/new name.txt
similarity index 100%
rename from old name.txt
rename to new name.txt
diff --git "a/\\303\\244.txt" "b/\\303\\244.txt"
new file mode 100644
--- /dev/null
+++ "b/\\303\\244.txt"
@@ -0,0 +1 @@
+x
diff --git a/gone.bin b/gone.bin
deleted file mode 100644
Binary files a/gone.bin and /dev/null differ
`;

test("files are told apart by their headers only, and keep every line", () => {
  const files = splitPatch(PATCH);
  expect(files.map((file) => file.path)).toEqual(["a.sql", "new name.txt", "ä.txt", "gone.bin"]);
  expect(files.map((file) => file.patch).join("")).toBe(PATCH);
});

test("what is no patch has no files", () => {
  expect(splitPatch("")).toEqual([]);
  expect(splitPatch("nothing\nof the kind")).toEqual([]);
});
