import { expect, test } from "vitest";
import { isRun } from "./shell-commands.ts";

test.for([
  ["git push origin HEAD", "git push", true],
  ["cd /workspace && CI=1 sudo /usr/bin/git -C sub push", "git push", true],
  ["npm test; if true; then npm publish; fi", "npm publish", true],
  [`bash -lc "git push --force"`, "git push", true],
  ["git push origin main --force", "git push --force", true],
  ["git commit --no-verify -m x", "--no-verify", true],
  ["git push origin HEAD", "git push --force", false],
  ["pnpm install", "npm", false],
  ["grep -rn company src", "any", false],
  [`git commit -m "explain why git push hangs"`, "git push", false],
  [`echo 'git push'`, "git push", false],
  [`git commit -m "do it; git push now"`, "git push", false],
  ["ls tests", "tests", false],
  ["npm run make-docs", "make", false],
  ["cat > notes.md <<'EOF'\ngit push\nEOF\nls", "git push", false],
  ["cat <<EOF\nEOF\ngit push", "git push", true],
] as const)("%s runs %s: %s", ([line, named, expected]) => expect(isRun(line, named)).toBe(expected));

test("a line made to be slow to read is read at once", () => {
  const started = performance.now();
  for (const part of ["<<a\n", " -c ", `"`, "\\\n", "A=1 ", "((("]) isRun(part.repeat(60_000), "git push");
  expect(performance.now() - started).toBeLessThan(1_000);
});
