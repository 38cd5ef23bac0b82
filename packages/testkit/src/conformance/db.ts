/** What every `Db` must do. */
import { describe, expect, test } from "vitest";
import type { Db, Parameter } from "../../../server/src/ports/db.ts";
import { json, sql } from "../../../server/src/store/sql.ts";

const numbers = async (db: Db) =>
  (await db.query(sql`select n from conformance order by n limit 100`)).map(({ n }) => n);
const add = (db: Db, n: number) => db.query(sql`insert into conformance (n) values (${n})`);

/** `open` gives a handle to an empty database; the suite makes its one table itself. */
export function describeDb(name: string, open: () => Promise<Db>): void {
  describe(`Db: ${name}`, () => {
    const fresh = async () => {
      const db = await open();
      await db.query(sql`create table if not exists conformance (n int8 primary key, body jsonb)`);
      await db.query(sql`truncate conformance`);
      return db;
    };

    test("int8 is a number, in arrays too", async () => {
      const db = await open();
      const rows = await db.query(
        sql`select ${9007199254740991}::int8 as n, ${[1, -2]}::int8[] as list, count(*) as total`,
      );
      expect(rows).toEqual([{ n: 9007199254740991, list: [1, -2], total: 1 }]);
    });

    test("an int8 beyond the safe integers is refused, and the handle goes on", async () => {
      const db = await open();
      await expect(db.query(sql`select 9007199254740992::int8 as n`)).rejects.toThrow("9007199254740992");
      expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }]);
    });

    test("an undefined parameter is refused, alone and inside an array", async () => {
      const db = await open();
      for (const value of [undefined, [1, undefined]]) {
        const statement = { text: "select $1::int4[] as n", values: [value as unknown as Parameter] };
        await expect(db.query(statement)).rejects.toThrow("undefined");
        await expect(db.tx((tx) => tx.query(statement))).rejects.toThrow("undefined");
      }
    });

    test("a bare object is refused: JSON goes through json()", async () => {
      const db = await open();
      const statement = { text: "select $1::jsonb as body", values: [{ a: 1 } as unknown as Parameter] };
      await expect(db.query(statement)).rejects.toThrow("json(value)");
    });

    test.for([{ a: [1, "two", null], ü: { b: true } }, [1, 2], "text", 5, null, true])(
      "json(%j) comes back equal",
      async (value) => {
        const db = await open();
        expect(await db.query(sql`select ${json(value)}::jsonb as body`)).toEqual([{ body: value }]);
      },
    );

    test("JSON that jsonb cannot hold is stored with U+FFFD, and a typed backslash stays", async () => {
      const db = await open();
      const value = { "k\u0000": "a\u0000b\ud800c", typed: "\\u0000" };
      expect(await db.query(sql`select ${json(value)}::jsonb as body`)).toEqual([
        { body: { "k\ufffd": "a\ufffdb\ufffdc", typed: "\\u0000" } },
      ]);
    });

    test("arrays are Postgres arrays, of JSON too", async () => {
      const db = await open();
      const rows = await db.query(sql`
        select name, body from unnest(${["a,b", 'q"{}\\']}::text[], ${[json({ x: 1 }), json(["y"])]}::jsonb[]) as t (name, body)`);
      expect(rows).toEqual([
        { name: "a,b", body: { x: 1 } },
        { name: 'q"{}\\', body: ["y"] },
      ]);
    });

    test("timestamptz is a Date, date and numeric are text, bytea is bytes", async () => {
      const db = await open();
      const at = new Date("2030-01-02T03:04:05.678Z");
      const bytes = Uint8Array.of(0, 255, 1);
      const [row] = await db.query(sql`
        select ${at}::timestamptz as at, date '2030-01-02' as day, 1.50::numeric as cost, ${bytes}::bytea as bytes, null as nothing`);
      expect(row).toMatchObject({ at, day: "2030-01-02", cost: "1.50", nothing: null });
      expect(Uint8Array.from(row?.["bytes"] as Uint8Array)).toEqual(bytes);
    });

    test("a failed statement keeps its SQLSTATE", async () => {
      const db = await fresh();
      await add(db, 1);
      await expect(add(db, 1)).rejects.toMatchObject({ code: "23505" });
    });

    test("tx commits what it returns from, and rolls back what throws", async () => {
      const db = await fresh();
      expect(await db.tx(async (tx) => (await add(tx, 1), "value"))).toBe("value");
      const failure = new Error("changed my mind");
      await expect(db.tx(async (tx) => (await add(tx, 2), Promise.reject(failure)))).rejects.toBe(failure);
      expect(await numbers(db)).toEqual([1]);
    });

    test("others see nothing of a transaction before it commits", async () => {
      const db = await fresh();
      await db.tx(async (tx) => {
        await add(tx, 1);
        expect(await numbers(db)).toEqual([]);
        expect(await numbers(tx)).toEqual([1]);
      });
      expect(await numbers(db)).toEqual([1]);
    });

    test("a transaction inside a transaction rolls back alone", async () => {
      const db = await fresh();
      await db.tx(async (tx) => {
        await add(tx, 1);
        await expect(tx.tx(async (inner) => (await add(inner, 2), add(inner, 1)))).rejects.toMatchObject({
          code: "23505",
        });
        await tx.tx(async (inner) => {
          await add(inner, 3);
          await inner.tx((innermost) => add(innermost, 4));
        });
        await add(tx, 5);
      });
      expect(await numbers(db)).toEqual([1, 3, 4, 5]);
    });

    test("an inner transaction's work is undone with the outer one", async () => {
      const db = await fresh();
      await expect(
        db.tx(async (tx) => (await tx.tx((inner) => add(inner, 1)), Promise.reject(new Error("no")))),
      ).rejects.toThrow("no");
      expect(await numbers(db)).toEqual([]);
    });

    test("the outer handle refuses to work while an inner transaction is open", async () => {
      const db = await fresh();
      await expect(db.tx((tx) => tx.tx(() => add(tx, 1)))).rejects.toThrow("inner handle");
      expect(await numbers(db)).toEqual([]);
    });

    test("a handle refuses to work after its transaction", async () => {
      const db = await fresh();
      const escaped = await db.tx(async (tx) => ({ tx }));
      await expect(add(escaped.tx, 1)).rejects.toThrow("has ended");
    });

    test("a transaction whose failed statement was overlooked does not pretend to commit", async () => {
      const db = await fresh();
      const overlooked = db.tx(async (tx) => {
        await add(tx, 1);
        await add(tx, 1).catch(() => undefined);
      });
      await expect(overlooked).rejects.toThrow("could not commit");
      expect(await numbers(db)).toEqual([]);
    });

    test("statements asked for at once inside a transaction run in their order", async () => {
      const db = await fresh();
      await db.tx(async (tx) => {
        await Promise.all([1, 2, 3, 4, 5].map((n) => add(tx, n)));
        await Promise.all([
          tx.query(sql`update conformance set n = n + 10`),
          tx.query(sql`delete from conformance where n > 13`),
        ]);
      });
      expect(await numbers(db)).toEqual([11, 12, 13]);
    });

    test("a prepared statement gives what the same text gives unprepared", async () => {
      const db = await open();
      const statement = { ...sql`select ${20}::int8 as n`, name: "conformance:twenty" };
      expect(await db.query(statement)).toEqual([{ n: 20 }]);
      expect(await db.query({ ...statement, values: [21] })).toEqual([{ n: 21 }]);
    });

    test("close is idempotent and refused inside a transaction; a closed handle says so", async () => {
      const db = await open();
      await expect(db.tx((tx) => tx.close())).rejects.toThrow("cannot close");
      await db.close();
      await db.close();
      await expect(db.query(sql`select 1 as n`)).rejects.toThrow("closed");
    });
  });
}
