import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { openLoadMeter } from "./measure-load.ts";

const HELD_BYTES = 200 * 1024 * 1024;

test("memory that a child holds and time that it burns are counted, of the last span only", async () => {
  let ms = 0;
  const measure = openLoadMeter(() => ms);
  const before = measure();
  // Too soon after the first look to say how busy it was.
  expect(before?.cpuPercent).toBeUndefined();
  const program = `const held = Buffer.alloc(${HELD_BYTES}, 1); const end = process.cpuUsage().user + 400_000;
    while (process.cpuUsage().user < end); console.log(held.length); process.stdin.resume();`;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  ms = 10_000;
  const busy = measure();
  expect((busy?.memoryBytes ?? 0) - (before?.memoryBytes ?? 0)).toBeGreaterThan(HELD_BYTES * 0.5);
  // 400 ms of ten seconds, and what this process did itself.
  expect(busy?.cpuPercent).toBeGreaterThanOrEqual(4);
  child.stdin.end();
  await once(child, "exit");
  ms = 3_600_000;
  expect(measure()?.cpuPercent).toBeLessThan(busy?.cpuPercent ?? 0);
});
