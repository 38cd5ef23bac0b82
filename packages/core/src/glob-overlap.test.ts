import { findCommonPath, findOverlap } from "@drover/core";
import fc from "fast-check";
import { expect, test } from "vitest";

/** Another way to say what a pattern matches, to compare with. */
function toRegExp(glob: string): RegExp {
  let text = "";
  let depth = 0;
  const pattern = glob.endsWith("/") ? `${glob}**` : glob;
  for (let i = 0; i < pattern.length; i += 1) {
    const one = pattern[i] ?? "";
    const isPart = i === 0 || pattern[i - 1] === "/" || pattern[i - 1] === "{" || pattern[i - 1] === ",";
    if (one === "*" && pattern[i + 1] === "*") {
      i += 1;
      if (isPart && pattern[i + 1] === "/") {
        text += "(?:.*/)?";
        i += 1;
      } else text += ".*";
    } else if (one === "*") text += "[^/]*";
    else if (one === "?") text += "[^/]";
    else if (one === "{") {
      depth += 1;
      text += "(?:";
    } else if (one === "}") {
      depth -= 1;
      text += ")";
    } else if (one === "," && depth > 0) text += "|";
    else text += one;
  }
  return new RegExp(`^${text}$`);
}

const ALPHABET = ["a", "b", "/"];
const PATHS = [1, 2, 3, 4, 5].flatMap((length) =>
  Array.from({ length: ALPHABET.length ** length }, (_, number) =>
    Array.from({ length }, (_one, place) => ALPHABET[Math.floor(number / ALPHABET.length ** place) % 3] ?? "").join(""),
  ),
);

const arbitraryGlob = fc
  .array(fc.constantFrom("a", "b", "/", "*", "?", "**/", "[ab]", "[a]", "{a,b}", "{a/,}", "{ab,b/a}"), {
    minLength: 1,
    maxLength: 5,
  })
  .map((parts) => parts.join(""))
  // Three stars, and stars right after a choice, mean the same to both but are read differently.
  .filter((glob) => !/\*\*\*|\}\*|^\/|\{a\/,\}/.test(glob));

test("two patterns overlap exactly where some short path matches both, and the example is one", () => {
  fc.assert(
    fc.property(arbitraryGlob, arbitraryGlob, (one, other) => {
      const [a, b] = [toRegExp(one), toRegExp(other)];
      const shared = PATHS.some((path) => a.test(path) && b.test(path));
      const example = findCommonPath(one, other);
      // Never a no where the answer is yes.
      if (shared) expect(example, `${one} ${other}`).toBeDefined();
      if (example === undefined) return;
      expect(a.test(example) && b.test(example), `${one} ${other} ${example}`).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

const CASES: readonly [string, string, boolean][] = [
  ["src/a.ts", "src/a.ts", true],
  ["src/a.ts", "src/b.ts", false],
  ["src/*.ts", "src/*.tsx", false],
  ["src/**", "src/api/handler.ts", true],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/", "src/deep/below.md", true],
  ["src/web/**", "src/api/**", false],
  ["**/*.test.ts", "src/api/**", true],
  ["src/*.ts", "src/api/*.ts", false],
  ["./README.md", "/README.md", true],
  ["{docs,src}/*.md", "docs/?.md", true],
  ["[!a]*", "a*", false],
  ["[a-c].txt", "[c-e].txt", true],
  ["a[.txt", "a[.txt", true],
  ["src/{a,b", "src/{a,b", true],
  ["**", "anything/at/all", true],
];
test.for(CASES)("%s and %s: %s", ([one, other, expected]) => {
  expect(findCommonPath(one, other) !== undefined).toBe(expected);
  expect(findCommonPath(other, one) !== undefined).toBe(expected);
});

test("long patterns are compared in no time", () => {
  const many = Array.from({ length: 40 }, (_, n) => `packages/*/src/**/{a,b,c}${n}*/**/*.{ts,tsx}`);
  const more = many.map((glob) => glob.replace("{ts,tsx}", "css"));
  expect(findOverlap(many, more)).toBeUndefined();
});
