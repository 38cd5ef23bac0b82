/** Seen to fail with: hunks taken back from the first to the last; the place of a hunk not searched for; a rename not followed; a line that
 *  a later step rewrote given to the earlier one. */
import { expect, test } from "vitest";
import type { JsonObject } from "../json.ts";
import { blameLines, listFileSteps, toChangeStory } from "./blame.ts";
import { emptyFeed, foldFeed } from "./feed.ts";

const MADE = { patch: "--- /dev/null\n+++ b/a\n@@ -0,0 +1,4 @@\n+one\n+two\n+three\n+four\n" };

test("each line belongs to the step that wrote it last, and what was there before to none", () => {
  const rewritten = { patch: "@@ -1,4 +1,5 @@\n one\n-two\n+TWO\n+and a half\n three\n four\n" };
  const text = ["one", "TWO", "and a half", "three", "four"];
  expect(blameLines(text, [MADE, rewritten])).toEqual([0, 1, 1, 0, 0]);
  expect(blameLines(text, [rewritten])).toEqual([undefined, 0, 0, undefined, undefined]);
  expect(blameLines(text, [])).toEqual(text.map(() => undefined));
});

test("several hunks of one patch each find their place, lines that went included", () => {
  const both = { patch: "@@ -1,2 +1,1 @@\n-one\n two\n@@ -4,1 +3,3 @@\n four\n+five\n+six\n" };
  expect(blameLines(["two", "three", "four", "five", "six"], [MADE, both])).toEqual([0, 0, 0, 1, 1]);
  // The lines of the second hunk stand in two places: the first hunk must not have moved them yet.
  const twice = { patch: "@@ -0,0 +1,2 @@\n+n\n+n\n@@ -1,0 +4,1 @@\n+n\n" };
  expect(blameLines(["n", "n", "p", "n", "n", "q"], [twice])).toEqual([0, 0, undefined, 0, undefined, undefined]);
  const emptied = { patch: "@@ -2,2 +1,0 @@\n-two\n-three\n" };
  expect(blameLines(["one", "four"], [MADE, emptied])).toEqual([0, 0]);
});

test("a change that nobody told of moves lines without hiding who wrote them; what it wrote is nobody's", () => {
  expect(blameLines(["new at the top", "one", "two", "three", "four"], [MADE])).toEqual([undefined, 0, 0, 0, 0]);
  // The lines of the patch are no longer there as it left them: rather nobody than somebody wrong.
  expect(blameLines(["one", "four"], [MADE])).toEqual([undefined, undefined]);
});

test("line ends of Windows are no difference", () => {
  expect(blameLines(["one\r", "two\r"], [{ patch: "@@ -0,0 +1,2 @@\r\n+one\r\n+two\r\n" }])).toEqual([0, 0]);
});

const event = (seq: number, event_type: string, event_data: JsonObject) => ({
  id: `e${seq}`,
  sandbox_seq: seq,
  event_type,
  event_data,
  source: "agent",
  created_at: new Date(seq * 1_000).toISOString(),
});

test("a file is followed back through its names, and a change has a story: asked, said, tested", () => {
  const { rows } = foldFeed(emptyFeed(), [
    event(1, "agent.message", { turn: 1, content: "I begin." }),
    event(2, "agent.file_edited", { turn: 1, file_path: "old.ts", full_diff: MADE.patch }),
    event(3, "agent.file_edited", { turn: 2, file_path: "other.ts", full_diff: MADE.patch }),
    event(4, "agent.message", { turn: 3, content: "I move it." }),
    event(5, "agent.file_edited", { turn: 3, file_path: "new.ts", old_path: "old.ts", change_type: "renamed" }),
    event(6, "agent.tool_use", { turn: 3, tool: "Bash", tool_use_id: "l", input: { command: "ls" } }),
    event(7, "agent.tool_use", { turn: 4, tool: "Bash", tool_use_id: "b", input: { command: "npm test" } }),
    event(8, "agent.tool_completed", { turn: 4, tool_use_id: "b", tool_response: { exit_code: 1 } }),
  ]);
  const steps = listFileSteps(rows, "new.ts");
  expect(steps.map(({ edit, row }) => [edit.path, row.turn])).toEqual([
    ["old.ts", 1],
    ["new.ts", 3],
  ]);
  const [, moved] = steps;
  expect(moved && toChangeStory(rows, moved.row)).toMatchObject({
    asked: undefined,
    said: { text: "I move it." },
    tested: { command: "npm test" },
    isTestFailed: true,
  });
});
