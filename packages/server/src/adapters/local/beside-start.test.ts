/** What is done beside bubblewrap's start is done before anything runs in the sandbox, or there is no sandbox. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import {
  collect,
  isOnThisMachine,
  LIMITS,
  unique,
  untilFact,
} from "../../../../testkit/src/conformance/sandbox/given.ts";
import { openLocal } from "../../../../testkit/src/hostile/open-local.ts";
import type { SandboxLimits, SandboxRef } from "../../ports/sandbox-provider.ts";
import { listResidents, findAlive } from "./process-table.ts";

const run = promisify(execFile);
const MIB = 1024 * 1024;
const { signal } = new AbortController();
const isRoot = process.getuid?.() === 0;

async function open() {
  const opened = await openLocal();
  const keys: string[] = [];
  onTestFinished(async () => {
    for (const key of keys) await opened.provider.destroy({ key, id: key, labels: {} }, signal);
    await opened.close();
  });
  const ensure = (limits: SandboxLimits = LIMITS) => {
    const key = unique("beside");
    keys.push(key);
    return opened.provider.ensure({ key, labels: {}, limits, env: {} }, signal);
  };
  const read = (key: string, file: string) => readFile(join(opened.folder, "sandboxes", key, file), "utf8");
  return { ...opened, ensure, read, keys };
}

test("a sandbox whose disk cannot be mounted is none: it is refused with the reason, and nothing of it runs", async () => {
  const { provider, folder, ensure, read, keys } = await open();
  const first = await ensure();
  // Where there are no file systems in files, as for an ordinary user, nothing is mounted.
  if ((await provider.info(first, signal))?.enforcedBy.disk !== "quota") return;
  const limits = { ...LIMITS, diskBytes: 48 * MIB };
  await mkdir(join(folder, "sandboxes.images"), { recursive: true });
  await writeFile(
    join(folder, "sandboxes.images", `empty-${limits.diskBytes}.img`),
    Buffer.alloc(MIB, "no file system"),
  );
  await expect(ensure(limits)).rejects.toMatchObject({
    code: "sandbox.unavailable",
    message: expect.stringMatching(/did not start.*mount/s),
  });
  const noted = await read(keys.at(-1) ?? "", "process").catch(() => "");
  await untilFact("it has ended", () => findAlive(noted) === undefined);
});

test("a sandbox whose disk cannot be made is refused, and the shell that waited to be told of it has ended", async () => {
  const { provider, folder, ensure, keys } = await open();
  const first = await ensure();
  if ((await provider.info(first, signal))?.enforcedBy.disk !== "quota") return;
  const limits = { ...LIMITS, diskBytes: 40 * MIB };
  await mkdir(join(folder, "sandboxes.images", `empty-${limits.diskBytes}.img`), { recursive: true });
  await expect(ensure(limits)).rejects.toThrow();
  const key = keys.at(-1) ?? "";
  await untilFact("it has ended", () => !isOnThisMachine(`/${key}/process`));
});

test("the first command finds the sandbox's own disk, and not what was shown before it came", async () => {
  const { provider, ensure } = await open();
  for (let round = 0; round < 5; round += 1) {
    const ref = await ensure();
    const argv = [
      "sh",
      "-c",
      "touch /workspace/mine /home/agent/mine && stat -c %U:%a /workspace /home/agent",
    ] as const;
    const { stdout, stderr } = await collect(provider.exec(ref, { argv }, signal));
    expect(stdout.toString() + stderr.toString()).toBe("agent:700\nagent:700\n");
  }
});

test("the shell that is started ahead is nobody's: it is in no list, begins the next sandbox, and is gone with its server", async () => {
  const { provider, folder, ensure, keys } = await open();
  const findAhead = async () => (await readdir(join(folder, "sandboxes"))).filter((name) => name.startsWith("ahead-"));
  const whoami = async (ref: SandboxRef) =>
    (await collect(provider.exec(ref, { argv: ["sh", "-c", "touch /workspace/mine; ls /workspace; pwd"] }, signal)))
      .stdout;
  await ensure();
  if (!isRoot) return void expect(await findAhead()).toEqual([]);
  await untilFact("one waits", async () => (await findAhead()).length === 1);
  const [waiting = ""] = await findAhead();
  expect((await provider.list({}, signal)).map(({ key }) => key)).toEqual(keys);
  // It has mounted a moment after it is there; a sandbox that comes before that begins by itself.
  let second = await ensure();
  for (let left = 20; left > 0 && (await findAhead()).includes(waiting); left -= 1) second = await ensure();
  expect(await findAhead()).not.toContain(waiting);
  expect((await whoami(second)).toString()).toBe("mine\n/workspace\n");
  // One that has ended meanwhile is not waited for.
  await untilFact("the next one waits", async () => (await findAhead()).length === 1);
  const [next = ""] = await findAhead();
  await untilFact("its shell is there", () => isOnThisMachine(`/${next}/process`));
  const { stdout } = await run("pgrep", ["-f", `/${next}/process`]);
  const pids = stdout.split("\n").filter(Boolean);
  for (const pid of pids) process.kill(Number(pid), "SIGKILL");
  await untilFact("it is over", () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  expect((await whoami(await ensure())).toString()).toBe("mine\n/workspace\n");
  await provider.close();
  expect(await findAhead()).toEqual([]);
});

test("no two have a uid in common, also when something else on this machine has the next one", async () => {
  const { ensure, read, folder } = await open();
  const uidOf = async (key: string) => JSON.parse(await read(key, "note.json")).uid as number | null;
  const first = await uidOf((await ensure()).key);
  if (!isRoot) return void expect(first).toBeNull();
  const taken = (first ?? 0) + 1;
  const stranger = spawn("/bin/sleep", ["600"], { uid: taken, gid: taken, stdio: "ignore", cwd: "/" });
  onTestFinished(async () => {
    stranger.kill("SIGKILL");
    await once(stranger, "exit");
  });
  await once(stranger, "spawn");
  const refs = await Promise.all([ensure(), ensure(), ensure()]);
  const uids = [first, ...(await Promise.all(refs.map(({ key }) => uidOf(key))))];
  expect(new Set(uids).size).toBe(4);
  expect(uids).not.toContain(taken);
  // And nothing is left of the one that had it.
  for (const { key } of refs) {
    const outer = findAlive(await readFile(join(folder, "sandboxes", key, "process"), "utf8")) ?? 0;
    expect(listResidents(outer).length).toBeGreaterThanOrEqual(2);
  }
});

test("a provider that is closed while it still proves the isolation leaves no sandbox", async () => {
  const { provider, folder, close } = await openLocal({ warm: { size: 1, limits: LIMITS } });
  await provider.close();
  expect(await readdir(join(folder, "sandboxes"))).toEqual([]);
  await close();
});

test("nothing that is mounted for a sandbox is mounted on this machine", async () => {
  const { ensure, folder } = await open();
  const look = async () =>
    (await readFile("/proc/self/mountinfo", "utf8")).split("\n").map((line) => line.split(" ").slice(3));
  const before = await look();
  await ensure();
  expect((await look()).filter((line) => line.join(" ").includes(folder))).toEqual([]);
  expect((await look()).filter(([, at]) => at?.startsWith("/mnt"))).toEqual(
    before.filter(([, at]) => at?.startsWith("/mnt")),
  );
});

test("where its files are only counted, a sandbox that has too many is stopped, and info says why", async () => {
  const { provider, ensure } = await open();
  // Below the least size of a file system of its own, so that nothing but the watchdog keeps it.
  const ref = await ensure({ ...LIMITS, diskBytes: 16 * MIB });
  expect((await provider.info(ref, signal))?.enforcedBy.disk).toBe("watchdog");
  const fill = "i=0; while [ $i -lt 6 ]; do head -c 8M /dev/zero > /workspace/fill$i; i=$((i+1)); done; echo filled";
  const filled = await collect(provider.exec(ref, { argv: ["sh", "-c", fill] }, signal)).catch(() => undefined);
  expect(filled?.stdout.toString() ?? "").toBeOneOf(["", "filled\n"]);
  await untilFact("it is stopped", async () => (await provider.info(ref, signal))?.state === "stopped");
  expect(await provider.info(ref, signal)).toMatchObject({
    reason: expect.stringMatching(/^used \d{8} of 16777216 bytes of disk$/),
  });
});
