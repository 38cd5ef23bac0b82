import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test as base, expect } from "vitest";
import { lockDataDir } from "./data-dir.ts";
import type { DataDir } from "./data-dir.ts";

const test = base.extend<{ dir: string }>({
  dir: async ({}, use) => {
    const parent = await mkdtemp(join(tmpdir(), "drover-lock-"));
    await use(join(parent, "data"));
    await rm(parent, { recursive: true });
  },
});

/** A process of its own that holds `dir` until it is killed. */
async function startHolder(dir: string) {
  const module = pathToFileURL(join(import.meta.dirname, "data-dir.ts")).href;
  const script = `
    const { lockDataDir } = await import(${JSON.stringify(module)});
    await lockDataDir(${JSON.stringify(dir)});
    console.log("held");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const kill = async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  return { pid: child.pid, kill };
}

test("the directory is made for its owner only", async ({ dir }) => {
  const held = await lockDataDir(dir);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  await held.release();
});

test("what can be no directory is refused with the reason and what to do", async ({ dir }) => {
  await writeFile(dir, "");
  for (const [path, reason] of [
    [dir, "it is no directory"],
    [join(dir, "below"), "what it lies in is no directory"],
  ] as const)
    await expect(lockDataDir(path)).rejects.toMatchObject({
      code: "config.invalid",
      message: expect.stringMatching(`${path} cannot hold .*${reason}.*DROVER_DATA_DIR`) as string,
    });
});

test("a directory that another process holds is refused with its process id and what to do", async ({ dir }) => {
  const holder = await startHolder(dir);
  await expect(lockDataDir(dir)).rejects.toMatchObject({
    code: "data_dir.in_use",
    message: expect.stringMatching(new RegExp(`process ${holder.pid}.*kill ${holder.pid}.*DROVER_DATA_DIR`)) as string,
  });
  await holder.kill();
});

test("a killed owner leaves nothing that holds up the next", async ({ dir }) => {
  const holder = await startHolder(dir);
  await holder.kill();
  const held = await lockDataDir(dir);
  expect(await readdir(join(dir, "lock"))).toHaveLength(1);
  await held.release();
});

test("a stopped owner still owns", async ({ dir }) => {
  const holder = await startHolder(dir);
  process.kill(holder.pid!, "SIGSTOP");
  await expect(lockDataDir(dir)).rejects.toMatchObject({ code: "data_dir.in_use" });
  await holder.kill();
});

test("a released directory is free at once, and releasing twice is releasing once", async ({ dir }) => {
  const first = await lockDataDir(dir);
  await first.release();
  await first.release();
  const second = await lockDataDir(dir);
  await first.release();
  await expect(lockDataDir(dir)).rejects.toMatchObject({ code: "data_dir.in_use" });
  await second.release();
  expect(await readdir(join(dir, "lock"))).toEqual([]);
});

test("of many that ask at once exactly one gets it, each time", async ({ dir }) => {
  for (let round = 0; round < 20; round += 1) {
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(dir)));
    const winners = outcomes.filter(
      (outcome): outcome is PromiseFulfilledResult<DataDir> => outcome.status === "fulfilled",
    );
    expect(winners).toHaveLength(1);
    await winners[0]?.value.release();
  }
});

test("a directory with a very long path can be locked", async ({ dir }) => {
  const deep = join(dir, "a".repeat(100), "b".repeat(100));
  const held = await lockDataDir(deep);
  await expect(lockDataDir(deep)).rejects.toMatchObject({ code: "data_dir.in_use" });
  await held.release();
});
