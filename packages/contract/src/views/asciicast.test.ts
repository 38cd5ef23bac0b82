/** Promises of recordings: what was printed plays in order, silence is short, and damage costs only what is damaged. */
import { expect, test } from "vitest";
import { parseCast } from "./asciicast.ts";

test("output plays in order and a long silence is shortened", () => {
  const cast = parseCast(
    '{"version":2,"width":100,"height":30}\n[0.5,"o","a"]\n[60,"o","b"]\n[60.25,"i","typed"]\n[60.5,"o","c"]\n',
  );
  expect(cast).toEqual({
    columns: 100,
    rows: 30,
    seconds: 3,
    steps: [
      { at: 0.5, text: "a" },
      { at: 2.5, text: "b" },
      { at: 3, text: "c" },
    ],
  });
});

test("a recording that is cut, forged or empty still opens", () => {
  expect(parseCast('{"width":1e9,"height":-3}\n[1,"o","kept"]\n[2,"o",5]\nnull\n[3,"o","cut').steps).toEqual([
    { at: 1, text: "kept" },
  ]);
  expect(parseCast("")).toEqual({ columns: 80, rows: 24, seconds: 0, steps: [] });
});
