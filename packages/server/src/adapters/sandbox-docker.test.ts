import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import {
  collect,
  isOnThisMachine,
  LIMITS,
  unique,
  uniqueNap,
  untilFact,
} from "../../../testkit/src/conformance/sandbox/given.ts";
import { startDocker, type TestEngine } from "../../../testkit/src/docker.ts";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import { openWarmDocker, type WarmDocker } from "../../../testkit/src/warm-docker.ts";
import type { SandboxProvider, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import { connectEngine } from "./docker/connection.ts";
import { openDocker, type DockerOptions } from "./sandbox-docker.ts";

let engine: TestEngine;
let base: string;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "drover-sockets-"));
  engine = await startDocker();
});
afterAll(async () => {
  await engine?.[Symbol.asyncDispose]();
  await rm(base, { recursive: true, force: true });
});

const capabilities = {
  pause: true,
  snapshot: true,
  terminal: true,
  socketDirectory: true,
  egressPolicy: true,
  mounts: true,
  survivesServer: true,
};
const deviations = [
  { promise: "a code above 128 is a code, not a signal", reason: "engines tell a signal as 128 + its number" },
];

describeSandboxProvider({
  name: "docker",
  connects: true,
  capabilities,
  deviations,
  open: async () => {
    const open = () => openDocker({ host: engine.host, image: engine.image, base });
    const provider = await open();
    return { provider, reopen: open, close: () => provider.close() };
  },
});

let warm: WarmDocker | undefined;
describeSandboxProvider({
  name: "docker, claimed",
  connects: true,
  capabilities,
  deviations,
  open: async () => {
    warm = await openWarmDocker({ host: engine.host, image: engine.image, base: join(base, "claimed") });
    return warm;
  },
});

test("the suite ran in containers that stood ready", () => {
  expect(warm?.claims()).toBeGreaterThan(15);
});

describe("containers", () => {
  const signal = new AbortController().signal;
  const toSpec = (more: Partial<SandboxSpec> = {}): SandboxSpec => {
    const key = unique("docker");
    return { key, labels: { installation: key }, limits: LIMITS, env: {}, ...more };
  };
  const open = (more: Partial<DockerOptions> = {}) => openDocker({ host: engine.host, image: engine.image, ...more });
  const make = async (provider: SandboxProvider, spec: SandboxSpec): Promise<SandboxRef> => {
    const ref = await provider.ensure(spec, signal);
    onTestFinished(() => provider.destroy(ref, signal));
    return ref;
  };
  const shell = async (provider: SandboxProvider, ref: SandboxRef, script: string): Promise<string> => {
    const { stdout, stderr } = await collect(provider.exec(ref, { argv: ["sh", "-c", script] }, signal));
    return stdout.toString() + stderr.toString();
  };

  test("an image that the engine does not have is refused with the command that fetches it", async () => {
    const provider = await open();
    const refused = provider.ensure(toSpec({ image: "no-such-image:1" }), signal);
    await expect(refused).rejects.toMatchObject({
      code: "sandbox.rejected",
      message: expect.stringContaining("docker pull no-such-image:1"),
    });
  });

  test("an engine that is away is no provider, and is told with what to do", async () => {
    const away = { code: "provider.unavailable", message: expect.stringContaining("systemctl start docker") };
    await expect(open({ host: "unix:///nowhere/docker.sock" })).rejects.toMatchObject(away);
  });

  test("a name of an image that is an address of something else is refused", async () => {
    const provider = await open();
    for (const image of ["../../containers/json?x=", "a/../../b", "a//b", "-x", "a b", "a\n"])
      await expect(provider.ensure({ ...toSpec(), image }, signal)).rejects.toMatchObject({ code: "sandbox.rejected" });
  });

  test("settings that cannot be meant are refused before anything is asked of an engine", async () => {
    const invalid = { code: "config.invalid" };
    await expect(open({ uid: 0 })).rejects.toMatchObject(invalid);
    await expect(open({ host: "docker" })).rejects.toMatchObject(invalid);
    await expect(open({ host: "tcp://127.0.0.1:2375", base })).rejects.toMatchObject(invalid);
  });

  test("every limit is the engine's, checked inside; the disk is counted", async () => {
    const provider = await open({ base });
    const info = await provider.info(await make(provider, toSpec()), signal);
    expect(info?.enforcedBy).toEqual({
      memory: "engine",
      cpu: "engine",
      processes: "engine",
      disk: "watchdog",
      network: "engine",
      isolation: "engine",
    });
  });

  test("what stands ready is in no list, is given away once, and is gone with its server, also with one that was killed", async () => {
    const place = join(base, "pool");
    const all = async () =>
      (await connectEngine(engine.host)).docker.listContainers({ all: true, filters: { label: ["drover.warm"] } });
    const ready = async () =>
      (await all()).filter(({ Names }) => Names.some((name) => name.startsWith("/drover-warm-")));
    const options = { base: place, warm: { size: 1, limits: LIMITS, log: silentLog } };
    const provider = await open(options);
    await untilFact(
      "one stands ready",
      async () => (await ready()).length === 1 && (await ready())[0]?.State === "running",
    );
    expect(await provider.list({}, signal)).toEqual([]);
    const [first] = await ready();
    const spec = toSpec({ env: { GREETING: "hello" }, labels: { installation: "pool" } });
    const ref = await make(provider, spec);
    expect(ref).toEqual({ key: spec.key, id: first?.Id, labels: spec.labels });
    // Another replica, and the same one again, find it as it was given away.
    const other = await open({ base: place });
    expect(await other.list({ installation: "pool" }, signal)).toEqual([ref]);
    expect(await other.ensure(spec, signal)).toEqual(ref);
    expect(await shell(other, ref, "echo $GREETING")).toBe("hello\n");
    await untilFact("another one stands ready", async () => (await ready()).length === 1);
    await provider.close();
    expect(await ready()).toEqual([]);
    // Of a process that is no more.
    const { docker } = await connectEngine(engine.host);
    const Labels = { "drover.warm": `${hostname()}/1-1`, "drover.key": "" };
    await docker.createContainer({ name: "drover-warm-1-1-dead", Image: engine.image, Cmd: ["true"], Labels });
    const next = await open({ base: place, warm: { size: 0, limits: LIMITS, log: silentLog } });
    expect(await ready()).toEqual([]);
    await next.close();
    expect(await shell(other, ref, "echo alive")).toBe("alive\n");
  });

  test("more processors than the engine has are no reason to refuse", async () => {
    const provider = await open();
    const ref = await make(provider, toSpec({ limits: { ...LIMITS, cpus: 500 } }));
    expect(await shell(provider, ref, "echo alive")).toBe("alive\n");
  });

  test("a read-only root leaves workspace, home and /tmp to write, and refuses snapshots", async () => {
    const writable = await open();
    const { snapshot } = await writable.snapshot(await make(writable, toSpec()), unique("prepared"), signal);
    const provider = await open({ isRootReadOnly: true, image: snapshot });
    const ref = await make(provider, toSpec());
    const mounted = await shell(provider, ref, "while read -r _ at _ how _; do echo $at $how; done < /proc/mounts");
    expect(mounted).toMatch(/^\/ ro,/m);
    expect(provider.capabilities.snapshot).toBe(false);
    expect(await shell(provider, ref, "for at in /tmp ~ /workspace; do echo x > $at/x; cat $at/x; done")).toBe(
      "x\nx\nx\n",
    );
    await expect(provider.snapshot(ref, "name", signal)).rejects.toMatchObject({ code: "sandbox.rejected" });
  });

  test("a container whose first process ended is stopped, and ensure starts it again with its files", async () => {
    const provider = await open();
    const spec = toSpec();
    const ref = await make(provider, spec);
    await shell(provider, ref, "echo kept > note; kill -9 $(cat /proc/1/task/1/children)").catch(() => undefined);
    const stateOf = async () => (await provider.info(ref, signal))?.state;
    await untilFact("it is stopped", async () => (await stateOf()) === "stopped");
    expect((await provider.info(ref, signal))?.reason).toContain("ended with 137");
    await expect(shell(provider, ref, "true")).rejects.toMatchObject({ code: "sandbox.unavailable" });
    expect(await provider.ensure(spec, signal)).toEqual(ref);
    expect(await shell(provider, ref, "cat note")).toBe("kept\n");
  });

  test("a command has not ended for its engine, which then throws away what is unread, before its reader has it all", async () => {
    const provider = await open();
    const ref = await make(provider, toSpec());
    const word = unique("said");
    // As much as stands between a command and who reads it, so that it ends unread.
    const script = `head -c 600000 /dev/zero; echo > /tmp/ended; : ${word}`;
    const events = provider.exec(ref, { argv: ["sh", "-c", script] }, signal)[Symbol.asyncIterator]();
    const first = await events.next();
    await untilFact("it has said all", async () => (await shell(provider, ref, "ls /tmp")) === "ended\n");
    // Found in no command line but its own.
    const look = `grep -la 'sai[d]${word.slice("said".length)}' /proc/[0-9]*/cmdline`;
    expect(await shell(provider, ref, `sleep 1; ${look}`)).toMatch(/cmdline$/m);
    let size = first.value?.type === "stdout" ? first.value.chunk.length : 0;
    let next = await events.next();
    for (; next.value?.type === "stdout"; next = await events.next()) size += next.value.chunk.length;
    expect([size, next.value]).toMatchObject([600_000, { type: "exit", code: 0 }]);
    await untilFact("it is gone", async () => (await shell(provider, ref, look)) === "");
  });

  test("a command whose processes left its group is ended with its session", async () => {
    const provider = await open();
    const ref = await make(provider, toSpec());
    const nap = uniqueNap();
    // Job control gives each job a group of its own.
    const argv = ["bash", "-c", `set -m; sleep ${nap} & wait`] as const;
    const running = collect(provider.exec(ref, { argv, timeoutMs: 1_000 }, signal));
    await untilFact("it runs", () => isOnThisMachine(nap));
    expect((await running).exit.isTimedOut).toBe(true);
    await untilFact("it is gone", () => !isOnThisMachine(nap));
  });
});

/** What the attacks cannot tell from what an engine does by itself: the words in which it is asked. */
describe("what an engine is asked", () => {
  const signal = new AbortController().signal;
  let words: string[];
  let provider: SandboxProvider;
  let ref: SandboxRef;

  /** The bodies of requests whose path ends so, in order. */
  const bodiesOf = (end: string) =>
    words
      .join("")
      .split(/(?=\b(?:GET|POST|PUT|DELETE) \/\S* HTTP\/1\.1\r\n)/)
      .flatMap((request) => {
        const [head = "", body = ""] = request.split("\r\n\r\n", 2);
        const [, path = ""] = /^POST (\S+) /.exec(head) ?? [];
        return path.split("?")[0]?.endsWith(end) === true ? [JSON.parse(body) as Record<string, unknown>] : [];
      });

  beforeAll(async () => {
    words = [];
    const path = join(base, "recorded.sock");
    const server = createServer((near) => {
      const far = connect(engine.host.replace("unix://", ""));
      for (const one of [near, far]) one.on("error", () => undefined);
      near.on("data", (chunk: Buffer) => words.push(chunk.toString("latin1")));
      near.pipe(far).pipe(near);
      near.once("close", () => far.destroy());
      far.once("close", () => near.destroy());
    });
    await new Promise<void>((resolve) => server.listen(path, resolve));
    provider = await openDocker({ host: `unix://${path}`, image: engine.image, base });
    ref = await provider.ensure({ key: unique("asked"), labels: {}, limits: LIMITS, env: {} }, signal);
    return async () => {
      await provider.destroy(ref, signal);
      await provider.close();
      server.close();
    };
  });
  const hostConfig = () => bodiesOf("/containers/create")[0]?.["HostConfig"] as Record<string, unknown>;

  test("for no device, no privilege, no capability, and for our own filter of system calls", () => {
    expect(hostConfig()).toMatchObject({ CapDrop: ["ALL"], Init: true, NetworkMode: "none" });
    for (const name of [
      "Privileged",
      "Devices",
      "DeviceRequests",
      "DeviceCgroupRules",
      "CapAdd",
      "Binds",
      "VolumesFrom",
    ])
      expect(hostConfig()[name] ?? [], name).toEqual([]);
    const [privileges, seccomp = ""] = hostConfig()["SecurityOpt"] as string[];
    expect(privileges).toBe("no-new-privileges");
    expect(JSON.parse(seccomp.replace(/^seccomp=/, ""))).toMatchObject({ defaultAction: "SCMP_ACT_ERRNO" });
    expect(bodiesOf("/containers/create")[0]).toMatchObject({ User: "1000:1000" });
  });

  test("for groups, processes and IPC of its own, with every limit, and for nothing below /sys", () => {
    for (const name of ["CgroupParent", "PidMode", "IpcMode", "UsernsMode", "UTSMode", "CgroupnsMode"])
      expect(hostConfig()[name] ?? "", name).toBe("");
    expect(hostConfig()).toMatchObject({
      Memory: LIMITS.memoryBytes,
      MemorySwap: LIMITS.memoryBytes,
      CpuQuota: LIMITS.cpus * 100_000,
      PidsLimit: LIMITS.processes,
    });
    const mounts = hostConfig()["Mounts"] as { Target: string; ReadOnly: boolean }[];
    expect(mounts.map(({ Target, ReadOnly }) => `${Target} ${ReadOnly}`)).toEqual(["/run/cp true"]);
    expect(hostConfig()["ReadonlyPaths"] ?? null).toBe(null);
    expect(hostConfig()["MaskedPaths"] ?? null).toBe(null);
  });

  test("for every command in the root, whatever directory was named: ours is gone to by our own script", async () => {
    for (const cwd of ["/proc/self/fd/8", "/proc/self/fd/8/../../../..", "/workspace"])
      await collect(provider.exec(ref, { argv: ["true"], cwd }, signal)).catch(() => undefined);
    const directories = [...bodiesOf("/containers/create"), ...bodiesOf("/exec")].map((body) => body["WorkingDir"]);
    expect(directories.length).toBeGreaterThan(3);
    expect(new Set(directories)).toEqual(new Set(["/"]));
  });
});

/** Last, for it takes the engine away. */
test("an engine that ends is told to who waits for a command, and to who asks", async () => {
  const signal = new AbortController().signal;
  const provider = await openDocker({ host: engine.host, image: engine.image });
  const ref = await provider.ensure({ key: unique("docker"), labels: {}, limits: LIMITS, env: {} }, signal);
  const nap = uniqueNap();
  const running = collect(provider.exec(ref, { argv: ["sleep", nap] }, signal)).then(
    ({ exit }) => exit.signal,
    (error: { code: string }) => error.code,
  );
  await untilFact("it runs", () => isOnThisMachine(nap));
  await engine.stop();
  expect(await running).toBeOneOf(["SIGKILL", "sandbox.unavailable"]);
  const away = { code: "sandbox.unavailable" };
  await expect(provider.info(ref, signal)).rejects.toMatchObject(away);
  await expect(provider.list({}, signal)).rejects.toMatchObject(away);
  await expect(provider.destroy(ref, signal)).rejects.toMatchObject(away);
});
