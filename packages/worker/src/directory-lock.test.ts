import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lockDirectory } from "./directory-lock.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const makeFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "lock-"));
  folders.push(folder);
  return folder;
};
let taken = 0;
const take = (folder: string) => lockDirectory(folder, `${++taken}`);

const holdElsewhere = async (folder: string) => {
  const source = `import { lockDirectory } from ${JSON.stringify(new URL("./directory-lock.ts", import.meta.url).href)};
    await lockDirectory(${JSON.stringify(folder)}, "other"); console.log("held"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child;
};

test("a directory is locked once, and again after it is released", async () => {
  const folder = makeFolder();
  const lock = await take(folder);
  await expect(take(folder)).rejects.toMatchObject({ code: "data_dir.in_use" });
  await lock.release();
  await (await take(folder)).release();
  expect(readdirSync(folder).length).toBeLessThanOrEqual(1);
});

test("of many that try at once exactly one gets the lock", async () => {
  const folder = makeFolder();
  for (let round = 0; round < 5; round++) {
    const tries = await Promise.allSettled(Array.from({ length: 12 }, () => take(folder)));
    const held = tries.filter((one) => one.status === "fulfilled");
    expect(held.length).toBe(1);
    await held[0]?.value.release();
  }
});

test("another process is refused, and its lock ends with its life", async () => {
  const folder = makeFolder();
  const child = await holdElsewhere(folder);
  await expect(take(folder)).rejects.toMatchObject({ code: "data_dir.in_use" });
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
  await (await take(folder)).release();
});

test("a directory with a path longer than a socket's can be locked", async () => {
  const folder = join(makeFolder(), "a".repeat(90), "b".repeat(90));
  const lock = await take(folder);
  await expect(take(folder)).rejects.toMatchObject({ code: "data_dir.in_use" });
  await lock.release();
});
