import { expect, test } from "vitest";
import { rank } from "./rank.ts";

const NAMES = ["Go to the wall", "New sandbox", "Sandboxes", "Switch theme", "Wall of sand"];
const find = (typed: string) => rank(NAMES, (name) => name, typed);

test("nothing typed keeps everything in its order", () => {
  expect(find("")).toEqual(NAMES);
});

test("every word must be found, whatever its case", () => {
  expect(find("SAND new")).toEqual(["New sandbox"]);
  expect(find("sand theme")).toEqual([]);
});

test("the beginning of a name counts more than the beginning of a word, and that more than a middle", () => {
  expect(find("sand")).toEqual(["Sandboxes", "New sandbox", "Wall of sand"]);
  expect(find("wa")).toEqual(["Wall of sand", "Go to the wall"]);
});

test("what was typed is text, not a pattern", () => {
  expect(find(".*")).toEqual([]);
  expect(rank(["a (b)"], (name) => name, "(b")).toEqual(["a (b)"]);
});
