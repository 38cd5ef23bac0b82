/** The young generation of the heap is bounded in a process that asks for it, and only there. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

/** Keeps much of what it makes, a little in each turn, and says how large the young generation became, in MiB. */
const toScript = (before: string) => `
  import { getHeapSpaceStatistics } from "node:v8";
  import { boundYoungGeneration, holdYoungGeneration } from "${import.meta.dirname}/young-generation.ts";
  ${before}
  const kept = [];
  for (let at = 0; at < 1_500_000; at += 1) {
    kept.push({ at, list: [at] });
    if (kept.length > 200_000) kept.length = 0;
    if (at % 10_000 === 0) await new Promise(setImmediate);
  }
  console.log(getHeapSpaceStatistics().find((one) => one.space_name === "new_space").space_size / 1024 / 1024);`;

async function grow(before: string): Promise<number> {
  const { stdout } = await run(process.execPath, [
    "--max-semi-space-size=64",
    "--input-type=module",
    "--eval",
    toScript(before),
  ]);
  return Number(stdout);
}

test("it grows with what survives, and stops where it is told to", async () => {
  const [bounded, held, free] = [
    await grow("holdYoungGeneration(); boundYoungGeneration(4 * 1024 * 1024);"),
    await grow("holdYoungGeneration();"),
    await grow(""),
  ];
  expect(held).toBeLessThanOrEqual(2);
  expect(bounded).toBeGreaterThan(held);
  expect(bounded).toBeLessThanOrEqual(8);
  expect(free).toBeGreaterThan(8);
});
