/** Each layer that holds a sandbox, read from outside in the kernel's own tables: one that another layer covers is missed here, not in an attack.
 *  Broken on purpose, each seen here: the namespace of processes, IPC, names or network left out; the root's capabilities kept by the shell before bubblewrap; /run/cp, /opt/drover,
 *  /usr, /etc, /proc/sys or the root mounted writable; no size of /tmp; a further user namespace allowed; the server's environment passed to bubblewrap; no filter; the limit of
 *  processors or processes not written; the shell's limits of processes, file sizes and cores left out. Seen in the attacks
 *  and the suite, each with the self-test switched off: no filter, no uid of its own, the host's /tmp, /etc, processes, IPC or network, a writable root, no
 *  limit of memory, processes or disk. The self-test itself left out: `self-test.test.ts`; the watch over a disk without a quota, and the
 *  mount namespace around bubblewrap: `beside-start.test.ts`; links at uploads: `local-plant-files.test.ts`. */
import { existsSync } from "node:fs";
import { readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS, unique } from "../../../../testkit/src/conformance/sandbox/given.ts";
import { openLocal } from "../../../../testkit/src/hostile/open-local.ts";
import type { SandboxInfo, SandboxRef } from "../../ports/sandbox-provider.ts";
import { findAlive, listResidents, readKernelUids } from "./process-table.ts";

const { signal } = new AbortController();
const isRoot = process.getuid?.() === 0;
let opened: Awaited<ReturnType<typeof openLocal>>;
let ref: SandboxRef;
let info: SandboxInfo | undefined;
/** Bubblewrap outside, bubblewrap inside, the supervisor. */
let pids: readonly number[];

beforeAll(async () => {
  opened = await openLocal();
  const key = unique("seen");
  ref = await opened.provider.ensure({ key, labels: {}, limits: LIMITS, env: {} }, signal);
  info = await opened.provider.info(ref, signal);
  const noted = await readFile(join(opened.folder, "sandboxes", key, "process"), "utf8");
  const outer = findAlive(noted) ?? 0;
  pids = [outer, ...listResidents(outer).map(({ pid }) => pid)];
});
afterAll(async () => {
  if (ref !== undefined) await opened.provider.destroy(ref, signal);
  await opened?.close();
});

const supervisor = () => pids.at(-1) ?? 0;
const readField = async (pid: number, file: string, name: string) =>
  new RegExp(`^${name}:?[^\\S\\n]*(.*)$`, "m").exec(await readFile(`/proc/${pid}/${file}`, "utf8"))?.[1]?.trim();

test("it has a namespace of its own of every kind", async () => {
  for (const kind of ["user", "pid", "ipc", "uts", "net", "mnt"])
    expect(await readlink(`/proc/${supervisor()}/ns/${kind}`), kind).not.toBe(await readlink(`/proc/self/ns/${kind}`));
});

test("bubblewrap is told that no user namespace follows, whatever the filter refuses", async () => {
  expect((await readFile(`/proc/${pids[0]}/cmdline`, "utf8")).split("\0")).toContain("--disable-userns");
});

test("no process of it is root to the kernel, or could ever have a capability", async () => {
  expect(pids.length).toBeGreaterThanOrEqual(3);
  for (const pid of pids) {
    for (const uid of readKernelUids(pid)) expect(uid).toBeGreaterThan(isRoot ? 10_000 : 0);
    // Of an ordinary user the kernel gives bubblewrap outside a bounding set that it cannot use.
    const sets = isRoot || pid !== pids[0] ? ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] : ["CapPrm", "CapEff"];
    for (const set of sets) expect(await readField(pid, "status", set), set).toMatch(/^0+$/);
  }
  expect(await readField(supervisor(), "status", "NoNewPrivs")).toBe("1");
  expect(await readField(supervisor(), "status", "Seccomp")).toBe("2");
  if (isRoot) expect(await readField(supervisor(), "status", "Groups")).toBe("");
});

test("nothing of the server's environment came with it", async () => {
  for (const pid of pids.slice(0, 2)) expect(await readFile(`/proc/${pid}/environ`, "utf8")).toBe("");
});

test("what is not its own is mounted for reading only, and what is memory has a size", async () => {
  const lines = (await readFile(`/proc/${supervisor()}/mountinfo`, "utf8")).trim().split("\n");
  const mounts = new Map(
    lines.map((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , , , at = "", how = ""] = before.split(" ");
      return [at, `${how} ${after}`] as const;
    }),
  );
  for (const at of ["/", "/dev", "/usr", "/etc", "/opt/drover", "/run/cp", "/proc/sys"])
    expect(mounts.get(at), at).toMatch(/^ro\b/);
  const sizeless = [...mounts].filter(([, how]) => / tmpfs /.test(how) && /^rw\b/.test(how) && !/\bsize=/.test(how));
  expect(sizeless).toEqual([]);
  for (const at of ["/run", "/var"]) expect(mounts.get(at), at).toMatch(/\bsize=\d{5}k/);
  for (const at of ["/tmp", "/dev/shm"]) expect(mounts.get(at), at).toContain(`size=${LIMITS.memoryBytes / 2 / 1024}k`);
  expect(mounts.get("/workspace")).toMatch(/^rw\b.*\bnosuid\b/);
});

test("its limits stand in the kernel, where the kernel enforces them", async () => {
  const limits = await readFile(`/proc/${supervisor()}/limits`, "utf8");
  const read = (name: string) => new RegExp(`^${name}\\s+(\\S+)\\s+(\\S+)`, "m").exec(limits)?.slice(1);
  expect(read("Max core file size")).toEqual(["0", "0"]);
  expect(read("Max file size")).toEqual([String(LIMITS.diskBytes), String(LIMITS.diskBytes)]);
  expect(read("Max processes")).toEqual([String(LIMITS.processes), String(LIMITS.processes)]);
  const { cpu } = info?.enforcedBy ?? {};
  expect(cpu).toBeOneOf(isRoot ? ["cgroup1", "cgroup2"] : ["cgroup1", "cgroup2", "none", "watchdog"]);
  if (cpu !== "cgroup1" && cpu !== "cgroup2") return;
  const groups = (await readFile(`/proc/${pids[0]}/cgroup`, "utf8")).trim().split("\n");
  const files = groups.flatMap((line) => {
    const [, controllers = "", path = ""] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    return controllers.split(",").map((name) => [name, join("/sys/fs/cgroup", name, path)] as const);
  });
  const directoryOf = (name: string) => new Map(files).get(cpu === "cgroup2" ? "" : name) ?? "";
  const value = async (name: string, file: string) => {
    const path = join(directoryOf(name), file);
    return existsSync(path) ? (await readFile(path, "utf8")).trim() : "";
  };
  const found =
    cpu === "cgroup2"
      ? [await value("", "cpu.max"), await value("", "pids.max"), await value("", "memory.max")]
      : [
          `${await value("cpu", "cpu.cfs_quota_us")} ${await value("cpu", "cpu.cfs_period_us")}`,
          await value("pids", "pids.max"),
          await value("memory", "memory.limit_in_bytes"),
        ];
  expect(found).toEqual([`${LIMITS.cpus * 100_000} 100000`, String(LIMITS.processes), String(LIMITS.memoryBytes)]);
});
