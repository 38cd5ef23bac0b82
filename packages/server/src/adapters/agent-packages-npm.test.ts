/** Agents come whole or not at all, whatever npm does. */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGENT_PINS } from "@drover/contract";
import { test as base, expect } from "vitest";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import { openNpmPackages } from "./agent-packages-npm.ts";

/** In npm's place: installs what it is told to by writing its entry, or fails, or waits until a file is there. */
const FAKE_NPM = `
import { existsSync, mkdirSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
const [folder, entry, ...args] = process.argv.slice(2);
writeFileSync(join(folder, "asked"), JSON.stringify({ args, env: Object.keys(process.env) }));
if (existsSync(join(folder, "fail"))) { console.error("registry is away"); process.exit(1); }
const go = join(folder, "go");
if (!existsSync(go)) await new Promise((tell) => {
  const watcher = watch(folder, () => { if (existsSync(go)) { watcher.close(); tell(); } });
  if (existsSync(go)) { watcher.close(); tell(); }
});
if (!existsSync(join(folder, "hollow"))) {
  mkdirSync(dirname(entry), { recursive: true });
  writeFileSync(entry, "export {};");
}
`;

interface Rig {
  readonly folder: string;
  readonly packages: ReturnType<typeof openNpmPackages>;
  /** Lets the fake npm do this: `go`, `fail` or `hollow`. */
  tell(word: string): Promise<void>;
  settled(): Promise<string>;
}

const test = base.extend<{ rig: Rig }>({
  rig: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "drover-npm-"));
    const npm = join(folder, "npm.mjs");
    await writeFile(npm, FAKE_NPM);
    const packages = openNpmPackages({
      directory: join(folder, "agents"),
      env: { ...process.env, ANTHROPIC_API_KEY: "a key" },
      log: silentLog,
      npm: [process.execPath, npm, folder, AGENT_PINS.gemini.entry],
    });
    const look = async () => (await packages.list()).find(({ name }) => name === "gemini")?.state ?? "";
    await use({
      folder,
      packages,
      tell: (word) => writeFile(join(folder, word), ""),
      settled: async () => {
        await expect.poll(look, { timeout: 10_000, interval: 20 }).not.toBe("installing");
        return look();
      },
    });
    await packages.close();
    await rm(folder, { recursive: true, force: true });
  },
});

test("an agent is installed once however often it is asked for, and without our keys", async ({ rig }) => {
  const [one, two] = await Promise.all([rig.packages.install("gemini"), rig.packages.install("gemini")]);
  expect([one.state, two.state]).toEqual(["installing", "installing"]);
  expect(await rig.packages.find("gemini")).toBeUndefined();
  await rig.tell("go");
  expect(await rig.settled()).toBe("installed");
  const { npm, version, entry } = AGENT_PINS.gemini;
  const directory = await rig.packages.find("gemini");
  expect(await readFile(join(directory ?? "", entry), "utf8")).toContain("export");
  const asked = JSON.parse(await readFile(join(rig.folder, "asked"), "utf8")) as { args: string[]; env: string[] };
  expect(asked.args.at(-1)).toBe(`${npm}@${version}`);
  expect(asked.args).toContain("--ignore-scripts");
  expect(asked.env).not.toContain("ANTHROPIC_API_KEY");
  expect((await rig.packages.install("gemini")).state).toBe("installed");
  expect((await rig.packages.pack("gemini", new AbortController().signal)).length).toBeGreaterThan(100);
});

test("a failure is told in npm's words and leaves nothing; the next attempt may succeed", async ({ rig }) => {
  await rig.tell("fail");
  await rig.packages.install("gemini");
  expect(await rig.settled()).toBe("failed");
  expect((await rig.packages.list()).find(({ name }) => name === "gemini")?.detail).toContain("registry is away");
  expect(await readdir(join(rig.folder, "agents", "gemini"))).toEqual([]);
  await rm(join(rig.folder, "fail"));
  await rig.tell("go");
  await rig.packages.install("gemini");
  expect(await rig.settled()).toBe("installed");
});

test("a package without its entry is not installed", async ({ rig }) => {
  await rig.tell("hollow");
  await rig.tell("go");
  await rig.packages.install("gemini");
  expect(await rig.settled()).toBe("failed");
  expect(await rig.packages.find("gemini")).toBeUndefined();
});

test("removing ends what is under way and takes every version", async ({ rig }) => {
  await rig.packages.install("gemini");
  expect((await rig.packages.remove("gemini")).state).toBe("absent");
  await rig.tell("go");
  await rig.packages.install("gemini");
  expect(await rig.settled()).toBe("installed");
  expect((await rig.packages.remove("gemini")).state).toBe("absent");
  expect(await rig.packages.find("gemini")).toBeUndefined();
  expect((await rig.packages.remove("gemini")).state).toBe("absent");
});
