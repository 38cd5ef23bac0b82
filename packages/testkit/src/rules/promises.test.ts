/** Every promise has its tests and its figure. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { findBrokenProofs, PROMISES } from "./promises.ts";

const ROOT = join(import.meta.dirname, "../../../..");

test("every promise names tests and a figure that are there", () => {
  expect(PROMISES).toHaveLength(10);
  expect(findBrokenProofs(ROOT)).toEqual([]);
});

test("a test that was renamed, a figure that was changed and a promise without tests are noticed", () => {
  const [promise] = PROMISES;
  const figure = { ...promise!.figure, quote: "no event at all" };
  const proofs = [["core/src/dag.test.ts", "a cycle is welcome"]] as const;
  expect(
    findBrokenProofs(ROOT, [
      { ...promise!, proofs, figure },
      { ...promise!, proofs: [] },
    ]),
  ).toEqual([
    `"${promise!.name}": packages/core/src/dag.test.ts has no test "a cycle is welcome"`,
    `"${promise!.name}": bench/RESULTS.md does not say "no event at all"`,
    `"${promise!.name}" has no test`,
  ]);
});
