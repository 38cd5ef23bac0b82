/** Seen to fail with: a step of the way back taken twice; the second text's lines numbered by the first; nothing folded. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { diffTexts } from "./diff-texts.ts";

const show = (before: string, after: string) =>
  diffTexts(before, after).map(({ kind, text }) => `${{ added: "+", removed: "-" }[kind as "added"] ?? " "}${text}`);

test("what differs is told with the least lines, and what is far from it left out", () => {
  expect(show("a\nb\nc\n", "a\nX\nc\n")).toEqual([" a", "-b", "+X", " c"]);
  expect(show("", "a\nb\n")).toEqual(["+a", "+b"]);
  expect(show("a\n", "a\n")).toEqual([]);
  const long = Array.from({ length: 20 }, (_, n) => `line ${n + 1}`);
  const changed = long.with(9, "other");
  expect(show(long.join("\n"), changed.join("\n"))).toEqual([
    " @@ line 7 @@",
    " line 7",
    " line 8",
    " line 9",
    "-line 10",
    "+other",
    " line 11",
    " line 12",
    " line 13",
  ]);
});

test("both texts can be read out of the lines, whatever they are", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c"), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffTexts(before.join("\n"), after.join("\n"));
      for (const { text: own, oldLine, newLine } of lines) {
        if (oldLine !== null) expect(own).toBe(before[oldLine - 1]);
        if (newLine !== null) expect(own).toBe(after[newLine - 1]);
      }
      const cut = new Set(lines.filter(({ kind }) => kind === "removed").map(({ oldLine }) => oldLine));
      const add = new Set(lines.filter(({ kind }) => kind === "added").map(({ newLine }) => newLine));
      expect(before.filter((_, n) => !cut.has(n + 1))).toEqual(after.filter((_, n) => !add.has(n + 1)));
    }),
  );
});
