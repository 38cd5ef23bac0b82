/** Whatever an argument holds, a shell gives it on as it was. */
import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteWord, readDetachedArgv, toDetachedScript } from "./in-sandbox.ts";

test("every word survives a shell", () => {
  const word = fc.string({ unit: fc.constantFrom(...Array.from("'\"\\$`!*?~#;&|<>(){}[]=% \n\t-ü😀a1")) });
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 20 }), (words) => {
      const script = `printf '%s\\0' ${words.map(quoteWord).join(" ")}`;
      const { stdout } = spawnSync("sh", [], { input: script });
      expect(stdout.toString().split("\0").slice(0, -1)).toEqual(words);
    }),
    { numRuns: 50 },
  );
});

test("a word with a zero byte is refused", () => {
  expect(() => quoteWord("a\0b")).toThrow("zero byte");
});

test("the name of a variable that holds an equals sign is refused", () => {
  expect(() => toDetachedScript({ argv: ["true"], env: { "A=B": "c" } }, "s", undefined)).toThrow("equals sign");
});

test("the words of a detached command are read back from its script, and from no other", () => {
  const argv = ["node", "two words", 'a "quote"\nand a line'] as const;
  expect(readDetachedArgv(toDetachedScript({ argv }, "s", undefined))).toEqual(argv);
  expect(readDetachedArgv("echo hello")).toBeUndefined();
});
