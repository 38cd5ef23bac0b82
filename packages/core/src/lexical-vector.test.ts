/** Texts that share words, or pieces of them, lie closer than texts that do not; and lists become one by their places. */
import { expect, test } from "vitest";
import { fuseRanks } from "./fuse-ranks.ts";
import { toLexicalVector, toLikeness, VECTOR_LENGTH } from "./lexical-vector.ts";

const TICKETS = {
  login: ["Log in fails after a password reset", "People who reset their password are told that it is wrong."],
  export: ["Export invoices as PDF", "Accounting wants each invoice as a file it can print and archive."],
  parser: ["Parsing large files is slow", "The parser reads a file of 2 GB into memory before it begins."],
  colours: ["Dark theme for the settings page", "Colours of the settings page are not readable at night."],
} as const;

const order = (query: string): readonly string[] =>
  Object.entries(TICKETS)
    .map(([name, [title, text]]) => ({
      name,
      likeness: toLikeness(toLexicalVector(query, ""), toLexicalVector(title, text)),
    }))
    .toSorted((a, b) => b.likeness - a.likeness)
    .map(({ name }) => name);

test.each([
  ["passwords were resetted", "login"],
  ["invocies export", "export"],
  ["slow parsers", "parser"],
  ["themes in dark", "colours"],
])("%s, in other forms or misspelt, is found first as %s", (query, name) => {
  expect(order(query)[0]).toBe(name);
});

test("a vector is the same for the same text, as long as every other, and like nothing when the text says nothing", () => {
  const [title, text] = TICKETS.login;
  const vector = toLexicalVector(title, text);
  expect(vector).toEqual(toLexicalVector(title, text));
  expect(vector).toHaveLength(VECTOR_LENGTH);
  expect(toLikeness(vector, vector)).toBeCloseTo(1);
  expect(toLikeness(vector, toLexicalVector("the of", ""))).toBe(0);
  expect(toLexicalVector("Résumés naïfs", "")).toEqual(toLexicalVector("resumes naifs", ""));
  expect(toLikeness(toLexicalVector("Anmeldung schlägt fehl", ""), toLexicalVector("anmeldungen", ""))).toBeGreaterThan(
    0.4,
  );
});

test("what stands in both lists comes before what leads only one, and each place is told", () => {
  expect(
    fuseRanks([
      ["a", "b"],
      ["c", "b"],
    ]),
  ).toEqual([
    { id: "b", ranks: [2, 2], score: 2 / 62 },
    { id: "a", ranks: [1, null], score: 1 / 61 },
    { id: "c", ranks: [null, 1], score: 1 / 61 },
  ]);
  expect(fuseRanks([[], []])).toEqual([]);
});
