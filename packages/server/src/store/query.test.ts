import { expect, test } from "vitest";
import { z } from "zod";
import type { Db, Row, Statement } from "../ports/db.ts";
import { catalogue, command, query } from "./query.ts";
import { sql } from "./sql.ts";

const NumberRow = z.object({ n: z.int() });

/** A Db that answers with `rows` and remembers what it was asked. */
const answering = (...rows: readonly Row[]) => {
  const asked: Statement[] = [];
  const db: Db = {
    query: async (statement) => (asked.push(statement), rows),
    tx: (fn) => fn(db),
    close: async () => undefined,
  };
  return { db, asked };
};

test("a query builds its statement from its arguments and parses the rows", async () => {
  const above = query("test.above", NumberRow, [1], (least: number) => sql`select n from numbers where n > ${least}`);
  const { db, asked } = answering({ n: 2 }, { n: 3 });
  expect(await above(db, 1)).toEqual([{ n: 2 }, { n: 3 }]);
  expect(asked).toEqual([{ text: "select n from numbers where n > $1", values: [1] }]);
});

test("a row that is not as its schema says is a bug that names the query", async () => {
  const wrong = query("test.wrong", NumberRow, [], () => sql`select n from numbers`);
  await expect(wrong(answering({ n: "2" }).db)).rejects.toThrow("test.wrong");
});

test("a trusted query hands the rows over unread", async () => {
  const trusted = query("test.trusted", NumberRow, [], () => sql`select n from numbers`, { trusted: true });
  const row = { n: "2" };
  expect((await trusted(answering(row).db))[0]).toBe(row);
});

test("one wants exactly one row, maybe at most one", async () => {
  const some = query("test.some", NumberRow, [], () => sql`select n from numbers`);
  const [none, single, several] = [answering().db, answering({ n: 1 }).db, answering({ n: 1 }, { n: 2 }).db];
  expect(await some.one(single)).toEqual({ n: 1 });
  await expect(some.one(none)).rejects.toThrow("no row");
  await expect(some.one(several)).rejects.toThrow("2 rows");
  expect(await some.maybe(single)).toEqual({ n: 1 });
  expect(await some.maybe(none)).toBeUndefined();
  await expect(some.maybe(several)).rejects.toThrow("2 rows");
});

test("a prepared query has one name per text, and no name is longer than Postgres reads", async () => {
  const title = `test.${"prepared".repeat(10)}`;
  const build = (isDown: boolean) =>
    isDown ? sql`select n from numbers order by n desc` : sql`select n from numbers order by n`;
  const ordered = query(title, NumberRow, [true], build, { prepared: true });
  const { db, asked } = answering();
  for (const isDown of [true, false, true]) await ordered(db, isDown);
  const [first, second, third] = asked.map(({ name }) => name);
  expect(third).toBe(first);
  expect(second).not.toBe(first);
  expect(Buffer.byteLength(String(first))).toBeLessThanOrEqual(63);
});

test("declaring registers the sample and the fields; a title is used once", () => {
  command("test.command", [7], (n: number) => sql`delete from numbers where n = ${n}`);
  expect(catalogue.get("test.command")).toMatchObject({ fields: [] });
  expect(catalogue.get("test.command")?.sample()).toEqual({ text: "delete from numbers where n = $1", values: [7] });
  expect(() => command("test.command", [], () => sql`select`)).toThrow("two queries are called test.command");
});
