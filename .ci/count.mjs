// Prints which tests needed a second try, which failed, and `N passed, N failed`. A run that failed for another reason than a test
// counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const [, , path, code] = process.argv;

const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
const outcomes = lines.flatMap((line) => {
  try {
    return [JSON.parse(line)];
  } catch {
    return []; // expected: the empty last line, and a line that a killed run did not finish
  }
});
if (outcomes.length === 0) console.log("the tests did not run");

for (const { name, retries, state } of outcomes) {
  if (retries > 0 && state === "passed") console.log(`passed at the second try: ${name}`);
}
const failures = outcomes.filter(({ state }) => state === "failed");
for (const { name } of failures) console.log(`failed: ${name}`);

const passed = outcomes.filter(({ state }) => state === "passed").length;
const failed = code === "0" ? failures.length : Math.max(1, failures.length);
console.log(`${passed} passed, ${failed} failed`);
