/** Seen to fail with: a comment that does not go on to the next line; an escaped quote that ends a string; text lost behind the last word. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readCodeLine, toLanguage, type CodeState, type Language } from "./code-tokens.ts";

function read(path: string, text: string): readonly string[] {
  const language = toLanguage(path) as Language;
  let state: CodeState | undefined;
  return text.split("\n").map((line) => {
    const read = readCodeLine(line, language, state);
    state = read.state;
    return read.pieces.map(({ kind, text: piece }) => (kind === undefined ? piece : `<${kind}:${piece}>`)).join("");
  });
}

test("words, strings, numbers and comments are told apart, over lines where they go on", () => {
  expect(read("src/a.ts", 'const a = "x \\" y"; // why\n/* one\ntwo */ return `a\nb` + 0x1f;')).toEqual([
    '<keyword:const> a = <string:"x \\" y">; <comment:// why>',
    "<comment:/* one>",
    "<comment:two */> <keyword:return> <string:`a>",
    "<string:b`> + <number:0x1f>;",
  ]);
  expect(read("a.py", 'def f(): # don\'t\n  """it\'s\n  here"""\n  return f\'{x}\'')).toEqual([
    "<keyword:def> f(): <comment:# don't>",
    '  <string:"""it\'s>',
    '<string:  here""">',
    "  <keyword:return> f<string:'{x}'>",
  ]);
  expect(read("x/a.yaml", "name: it's # on")).toEqual(["name: it's <comment:# on>"]);
  expect(read("lib.rs", "fn f<'a>(x: &'a str)")).toEqual(["<keyword:fn> f<'a>(x: &'a str)"]);
  expect([toLanguage("notes.md"), toLanguage("noextension")]).toEqual([undefined, undefined]);
  expect(toLanguage("deploy/Dockerfile")).toBeDefined();
});

test("the pieces of any line are the line, whatever it begins within", () => {
  const Line = fc.string({
    unit: fc.constantFrom("a", "if", "'", '"', "`", "/", "*", "\\", "#", "-", " ", "1", "\u{1F600}", "é"),
  });
  fc.assert(
    fc.property(fc.constantFrom("a.ts", "a.py", "a.sql", "a.lua", "a.html", "a.css"), fc.array(Line), (path, lines) => {
      let state: CodeState | undefined;
      for (const line of lines) {
        const read = readCodeLine(line, toLanguage(path) as Language, state);
        state = read.state;
        expect(read.pieces.map(({ text }) => text).join("")).toBe(line);
      }
    }),
  );
});
