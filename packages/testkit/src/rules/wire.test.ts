/** A change of the wire, of an option or of a state machine is a visible change of a file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { api } from "@drover/contract";
import { expect, test } from "vitest";
import { generate } from "../../../../scripts/generated.ts";

const ROOT = join(import.meta.dirname, "../../../..");

test("the generated files are what the code says", async () => {
  const generated = await generate();
  expect(generated.map((file) => file.path)).toContain("packages/contract/wire.json");
  for (const { path, text } of generated)
    expect(readFileSync(join(ROOT, path), "utf8"), `${path} differs; run: npm run gen`).toBe(text);
});

test("no call that docs/API.md says is not there is there", () => {
  const page = readFileSync(join(ROOT, "docs/API.md"), "utf8");
  const [, section = ""] = /^## What is not there\n([^]*?)^## /m.exec(page) ?? [];
  const named = [...section.matchAll(/^\| `(?:([A-Z]+) )?([^`]+)` \|/gm)];
  expect(named.length).toBeGreaterThan(0);
  const isThere = ([, method, path]: RegExpExecArray) =>
    Object.values(api).some((one) => one.path === path && (method === undefined || one.method === method));
  expect(named.filter(isThere).map(([row]) => row)).toEqual([]);
});
