/** Writes the generated files; with `--check` it only compares, and fails when one differs. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { generate } from "./generated.ts";
import { ROOT } from "./steps.ts";

const isCheck = process.argv.includes("--check");

for (const { path, text } of await generate()) {
  const file = join(ROOT, path);
  if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
  if (isCheck) {
    console.error(`${path} is not what the code says; run: npm run gen`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, text);
    console.log(`wrote ${path}`);
  }
}
