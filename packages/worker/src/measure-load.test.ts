import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Load } from "./measure-load.ts";

const HELD_BYTES = 200 * 1024 * 1024;
const METER = new URL("./measure-load.ts", import.meta.url).href;

const CHILD = `const held = Buffer.alloc(${HELD_BYTES}, 1); const end = process.cpuUsage().user + 400_000;
  while (process.cpuUsage().user < end); console.log(held.length); process.stdin.resume();`;
/** In a process of its own: what else runs below that of the tests comes and goes. */
const MEASURING = `import { spawn } from "node:child_process"; import { once } from "node:events";
  import { openLoadMeter } from ${JSON.stringify(METER)};
  let ms = 0; const measure = openLoadMeter(() => ms); const told = [measure()];
  const child = spawn(process.execPath, ["-e", ${JSON.stringify(CHILD)}], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data"); ms = 10_000; told.push(measure());
  child.stdin.end(); await once(child, "exit"); ms = 3_600_000; told.push(measure());
  console.log(JSON.stringify(told));`;

test("memory that a child holds and time that it burns are counted, of the last span only", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", MEASURING]);
  const [before, busy, after] = JSON.parse(stdout) as readonly Load[];
  // Too soon after the first look to say how busy it was.
  expect(before?.cpuPercent).toBeUndefined();
  expect((busy?.memoryBytes ?? 0) - (before?.memoryBytes ?? 0)).toBeGreaterThan(HELD_BYTES * 0.5);
  // 400 ms of ten seconds, and what this process did itself.
  expect(busy?.cpuPercent).toBeGreaterThanOrEqual(4);
  expect(after?.cpuPercent).toBeLessThan(busy?.cpuPercent ?? 0);
});
