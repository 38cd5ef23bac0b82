import fc from "fast-check";
import { expect, test } from "vitest";
import { findJsonComplaint, JSON_DEPTH_LIMIT, JsonObject } from "./json.ts";

const wrap = (value: unknown, depth: number): unknown =>
  depth === 0 ? value : wrap(depth % 2 === 0 ? [value] : { a: value }, depth - 1);

test("whatever is fine in every part is fine as a whole", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
      const text = JSON.stringify(value);
      const isClean = !/\\u0000|\\ud[89a-f]/.test(text.replaceAll("\\\\", ""));
      expect(findJsonComplaint(value) === undefined).toBe(isClean);
    }),
  );
});

const BAD = [
  ["a\u0000b", /NUL/],
  ["\ud800", /surrogate/],
  ["a\udc00", /surrogate/],
  [Number.POSITIVE_INFINITY, /out of range/],
  [{ "\u0000": 1 }, /NUL/],
  [{ "\ud83d": 1 }, /surrogate/],
] as const;

test.for(BAD)("%j is found wherever it stands", ([bad, complaint]) => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue({ maxDepth: 2 })), fc.nat(30), (siblings, depth) => {
      fc.pre(findJsonComplaint(siblings) === undefined);
      expect(findJsonComplaint([...siblings, wrap(bad, depth), ...siblings])).toMatch(complaint);
    }),
  );
});

test("the deepest that is allowed is allowed, one more is not, and no depth breaks the check", () => {
  expect(findJsonComplaint(wrap(1, JSON_DEPTH_LIMIT))).toBeUndefined();
  expect(findJsonComplaint(wrap(1, JSON_DEPTH_LIMIT + 1))).toMatch(/deeper than 64/);
  let deep: unknown = 1;
  for (let n = 0; n < 1_000_000; n += 1) deep = [deep];
  expect(findJsonComplaint(deep)).toMatch(/deeper/);
});

test("an object is passed through by reference, with the keys it has", () => {
  const value = JSON.parse('{"__proto__":{"a":1},"constructor":2}') as object;
  expect(JsonObject.parse(value)).toBe(value);
  for (const wrong of [null, [], "x", 1, undefined]) expect(JsonObject.safeParse(wrong).success).toBe(false);
});
