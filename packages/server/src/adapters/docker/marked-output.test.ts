import fc from "fast-check";
import { expect, test } from "vitest";
import { MarkedOutput } from "./marked-output.ts";

const MARK = "0123456789abcdef";
const END = Buffer.from(`\0${MARK}`);

/** Bytes that look like beginnings of the mark more often than chance would have it. */
const bytes = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 8 }),
      fc.nat(END.length - 1).map((length) => END.subarray(0, length)),
    ),
  )
  .map((parts) => Buffer.concat(parts))
  .filter((all) => !Buffer.concat([all, END]).subarray(0, -1).includes(END));

const cut = (all: Buffer, at: readonly number[]): readonly Buffer[] => {
  const places = [0, ...at.map((place) => place % (all.length + 1)).toSorted((one, two) => one - two), all.length];
  return places.slice(1).map((place, index) => all.subarray(places[index], place));
};

test("whatever the cuts, output comes out whole and the mark does not", () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(), { maxLength: 6 }), (own, at) => {
      const output = new MarkedOutput(MARK);
      const passed = cut(Buffer.concat([own, END, Buffer.from(" 0 0 0\n")]), at).map((chunk) => output.pass(chunk));
      expect(Buffer.concat(passed.map((each) => each.own)).equals(own)).toBe(true);
      expect(passed.at(-1)?.after?.toString()).toBe(" 0 0 0\n");
    }),
  );
});

test("without a mark nothing is lost", () => {
  fc.assert(
    fc.property(bytes, fc.array(fc.nat(), { maxLength: 6 }), (own, at) => {
      const output = new MarkedOutput(MARK);
      const passed = cut(own, at).map((chunk) => output.pass(chunk).own);
      expect(Buffer.concat([...passed, output.rest()]).equals(own)).toBe(true);
    }),
  );
});

test("only what could become the mark is held back", () => {
  const output = new MarkedOutput(MARK);
  expect(output.pass(Buffer.from("live\n")).own.toString()).toBe("live\n");
  expect(output.pass(Buffer.from("almost\x00012")).own.toString()).toBe("almost");
  expect(output.pass(Buffer.from("!")).own.toString()).toBe("\x00012!");
});
