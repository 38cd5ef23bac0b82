/** What is never taken has a place of bounded size. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keepDeadLetter } from "./dead-letters.ts";

const LIMIT = 1_000;

test("two files of bounded size hold the latest letters, whole", async () => {
  const directory = await mkdtemp(join(tmpdir(), "drover-letters-"));
  try {
    const toLetter = (n: number) => ({
      id: String(n),
      webhook_url: "http://x",
      reason: "no",
      at: "now",
      body: "-".repeat(200),
    });
    for (let n = 0; n < 50; n += 1) keepDeadLetter(directory, toLetter(n), LIMIT);
    const files = ["dead-letters.old.jsonl", "dead-letters.jsonl"].map((name) => join(directory, name));
    const lines: string[] = [];
    for (const file of files) {
      expect((await stat(file)).size).toBeLessThanOrEqual(LIMIT);
      lines.push(...(await readFile(file, "utf8")).trim().split("\n"));
    }
    const ids = lines.map((line) => Number(JSON.parse(line).id));
    expect(ids).toEqual(Array.from({ length: ids.length }, (_, index) => 50 - ids.length + index));
    expect(ids.length).toBeGreaterThan(3);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
