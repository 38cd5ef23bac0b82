import { expect, test } from "vitest";
import type { Parameter } from "../ports/db.ts";
import { empty, join, json, sql } from "./sql.ts";

test("values become parameters in their order", () => {
  expect(sql`select ${1}, ${"two"}, ${null}`).toEqual({ text: "select $1, $2, $3", values: [1, "two", null] });
});

test("a nested statement keeps its parameters, renumbered", () => {
  const condition = sql`state = ${"running"} and n > ${3}`;
  expect(sql`select ${1} where ${condition} limit ${10}`).toEqual({
    text: "select $1 where state = $2 and n > $3 limit $4",
    values: [1, "running", 3, 10],
  });
});

test("more than nine parameters are renumbered whole", () => {
  const list = join(Array.from({ length: 12 }, (_, n) => sql`${n}`));
  expect(sql`${"first"}: ${list}`.text).toBe("$1: $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13");
});

test("join puts the separator between, and joins nothing to nothing", () => {
  expect(join([sql`a = ${1}`, sql`b = ${2}`], sql` and `)).toEqual({ text: "a = $1 and b = $2", values: [1, 2] });
  expect(join([])).toEqual(empty);
});

test("an array is one parameter", () => {
  expect(sql`select ${["a", "b"]}::text[]`.values).toEqual([["a", "b"]]);
});

test("json is text made once, alone or in an array", () => {
  expect(sql`select ${json({ a: 1 })}, ${[json([1]), json("x")]}`.values).toEqual(['{"a":1}', ["[1]", '"x"']]);
});

test("undefined and bare objects are refused where they are written", () => {
  expect(() => sql`select ${undefined as unknown as Parameter}`).toThrow("undefined");
  expect(() => sql`select ${{ a: 1 } as unknown as Parameter}`).toThrow("json(value)");
  expect(() => sql`select ${[1, undefined] as unknown as Parameter}`).toThrow("undefined");
  expect(() => json(undefined)).toThrow("undefined");
});
