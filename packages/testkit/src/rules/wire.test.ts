/** A change of the wire, of an option or of a state machine is a visible change of a file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { generate } from "../../../../scripts/generated.ts";

const ROOT = join(import.meta.dirname, "../../../..");

test("the generated files are what the code says", async () => {
  const generated = await generate();
  expect(generated.map((file) => file.path)).toContain("packages/contract/wire.json");
  for (const { path, text } of generated)
    expect(readFileSync(join(ROOT, path), "utf8"), `${path} differs; run: npm run gen`).toBe(text);
});
