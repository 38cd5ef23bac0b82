import fc from "fast-check";
import { expect, test } from "vitest";
import { pickMerge, toMergeOrder } from "./merge-order.ts";

test("fewest conflicts first, equal ones as given, failed trials last", () => {
  const scores = [
    { id: "a", conflicts: null },
    { id: "b", conflicts: 2 },
    { id: "c", conflicts: 0 },
    { id: "d", conflicts: 2 },
    { id: "e", conflicts: 1_000 },
  ];
  expect(toMergeOrder(scores).map(({ id }) => id)).toEqual(["c", "b", "d", "e", "a"]);
  expect(pickMerge([])).toBeUndefined();
});

test("the order is a permutation in which conflicts never fall", () => {
  const score = fc.record({ id: fc.uuid(), conflicts: fc.option(fc.nat(50)) });
  fc.assert(
    fc.property(fc.array(score), (scores) => {
      const order = toMergeOrder(scores);
      expect(order.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
        scores.toSorted((a, b) => a.id.localeCompare(b.id)),
      );
      const counts = order.map(({ conflicts }) => conflicts ?? Number.POSITIVE_INFINITY);
      expect(counts).toEqual(counts.toSorted((a, b) => (a < b ? -1 : Number(a > b))));
    }),
  );
});
