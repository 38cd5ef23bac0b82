/** Decisions are numbered in their order, short, and say why, what else there was, and until when. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const DECISIONS = join(import.meta.dirname, "../../../../docs/DECISIONS.md");
const PARTS = ["Context", "Decision", "Because", "Rejected", "Revisit when"];
const LINES = 12;

function findOffences(text: string): readonly string[] {
  const [, ...entries] = text.split(/^## /m);
  return entries.flatMap((entry, index) => {
    const [title = "", ...lines] = entry.trimEnd().split("\n");
    return [
      ...(title.startsWith(`${index + 1}. `) ? [] : [`"${title}" is not number ${index + 1}`]),
      ...(lines.length > LINES ? [`"${title}" has more than ${LINES} lines`] : []),
      ...PARTS.filter((part) => !entry.includes(`**${part}:**`)).map((part) => `"${title}" has no part "${part}"`),
    ];
  });
}

test("every decision has its number, its five parts, and at most twelve lines", () => {
  expect(findOffences(readFileSync(DECISIONS, "utf8"))).toEqual([]);
});

test("one that is out of its order, too long or without a reason is noticed", () => {
  const parts = PARTS.map((part) => `**${part}:** x`);
  expect(findOffences(`# D\n\n## 2. A\n${[...parts.slice(1), ...parts, ...parts].join("\n")}\n`)).toEqual([
    '"2. A" is not number 1',
    '"2. A" has more than 12 lines',
  ]);
  expect(findOffences(`## 1. A\n${parts.slice(1).join("\n")}\n`)).toEqual(['"1. A" has no part "Context"']);
});
