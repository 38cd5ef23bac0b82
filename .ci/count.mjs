// Prints `N passed, N failed` from vitest's report. A run that failed for another reason than a test counts as one failure.
import { existsSync, readFileSync } from "node:fs";

const [, , path, code] = process.argv;

let passed = 0;
let failed = 0;
if (existsSync(path)) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  passed = report.numPassedTests;
  // A file that could not be loaded has no tests, and counts once.
  const unloaded = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.length === 0);
  failed = report.numFailedTests + unloaded.length;
} else {
  console.log("the tests did not run");
}
if (code !== "0" && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
