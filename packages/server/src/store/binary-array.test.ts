import { expect } from "vitest";
import { test } from "../../../testkit/src/server.ts";
import { toBigints, toIntegers, toJsonbs, toSmallints, toTexts, toUuids } from "./binary-array.ts";
import { sql } from "./sql.ts";

const UUID = "01980000-0000-7000-8000-00000000abcd";
const TEXTS = ["", "ä\u2028😀", null, `a"b\\c,{}`];
const NUMBERS = [0, -1, 32_767, null, -32_768];
const LARGE = [2 ** 53 - 1, -(2 ** 53 - 1), 2 ** 32, -(2 ** 32), null, 0, -1];
/** Short and long, of one byte a character and of more, so that what was set aside for them does not suffice. */
const LONG = [
  "a".repeat(47),
  `${"a".repeat(47)}é`,
  "ä".repeat(5_000),
  "😀".repeat(5_000),
  "€".repeat(40),
  null,
  "z".repeat(9_000),
];
const JSONS = ['{"a":[1,null,"ä"]}', "{}"];

test("arrays arrive as they were, in every type, with nulls", async ({ server }) => {
  const [row] = await server.db.query(sql`
    select ${toTexts(TEXTS)}::text[] as texts, ${toSmallints(NUMBERS)}::smallint[] as small,
      ${toIntegers(NUMBERS)}::integer[] as numbers, ${toBigints(LARGE)}::bigint[] as large,
      ${toUuids([UUID, null])}::uuid[] as uuids,
      to_json(${toJsonbs(JSONS).array}::jsonb[]) as jsons`);
  expect(row).toEqual({
    texts: TEXTS,
    small: NUMBERS,
    numbers: NUMBERS,
    large: LARGE,
    uuids: [UUID, null],
    jsons: JSONS.map((text) => JSON.parse(text)),
  });
});

test("an array of nothing is empty", async ({ server }) => {
  const [row] = await server.db.query(sql`
    select ${toTexts([])}::text[] as texts, ${toIntegers([])}::integer[] as numbers, ${toUuids([])}::uuid[] as uuids,
      to_json(${toJsonbs([]).array}::jsonb[]) as jsons`);
  expect(row).toEqual({ texts: [], numbers: [], uuids: [], jsons: [] });
});

/** Broken on purpose: the buffer never grows. */
test("texts of any length and any characters arrive whole, with their sizes", async ({ server }) => {
  const [row] = await server.db.query(sql`select ${toTexts(LONG)}::text[] as texts`);
  expect(row).toEqual({ texts: LONG });
  const jsons = LONG.map((text) => JSON.stringify({ text }));
  const { array, sizes } = toJsonbs(jsons);
  expect(sizes).toEqual(jsons.map((text) => Buffer.byteLength(text)));
  const [found] = await server.db.query(sql`select to_json(${array}::jsonb[]) as jsons`);
  expect(found).toEqual({ jsons: LONG.map((text) => ({ text })) });
});
