import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseScriptText } from "./script.ts";

const FOLDER = new URL("../../../../examples/scripts/", import.meta.url).pathname;
const files = globSync("*.yaml", { cwd: FOLDER });

test.for(files)("the example %s can be played", (file) => {
  expect(parseScriptText(readFileSync(FOLDER + file, "utf8")).steps.length).toBeGreaterThan(0);
});

test("there are examples", () => {
  expect(files.length).toBeGreaterThanOrEqual(3);
});
