import { expect, test } from "vitest";
import { perTurn } from "./per-turn.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

test("what was made is shared within a turn, and made anew in a later one", async () => {
  const asked: object[] = [];
  const make = perTurn((key: { readonly n: number }) => {
    asked.push(key);
    return { of: key.n };
  });
  const [one, other] = [{ n: 1 }, { n: 2 }];
  expect(make(one)).toBe(make(one));
  expect(make(other)).toEqual({ of: 2 });
  expect(asked).toEqual([one, other]);
  await nextTurn();
  expect(make(one)).toEqual({ of: 1 });
  expect(asked).toEqual([one, other, one]);
});
