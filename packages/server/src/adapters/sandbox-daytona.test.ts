/** Sandboxes at Daytona: its real SDK against an emulator that runs real processes and checks every request and answer. */
import { AppError } from "@drover/contract";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import { collect, exited, LIMITS, refusal, unique, untilFact } from "../../../testkit/src/conformance/sandbox/given.ts";
import { startDaytona, type DaytonaEmulator } from "../../../testkit/src/daytona/emulator.ts";
import type { SandboxProvider, SandboxRef, SandboxSpec } from "../ports/sandbox-provider.ts";
import { openDaytona, type DaytonaOptions } from "./sandbox-daytona.ts";

const SNAPSHOT = "ai-agent-dev-light";
const GIB = 1024 ** 3;
const { signal } = new AbortController();

const open = ({ apiKey, apiUrl }: DaytonaEmulator, more: Partial<DaytonaOptions> = {}): SandboxProvider =>
  openDaytona({ apiKey, apiUrl, target: "eu", snapshot: SNAPSHOT, image: undefined, timeoutSeconds: 30, ...more });

describeSandboxProvider({
  name: "daytona",
  capabilities: {
    pause: true,
    snapshot: true,
    terminal: true,
    socketDirectory: false,
    egressPolicy: false,
    mounts: false,
    survivesServer: true,
  },
  open: async () => {
    const emulator = await startDaytona({ snapshots: [SNAPSHOT] });
    const provider = open(emulator);
    return {
      provider,
      reopen: async () => open(emulator),
      close: async () => {
        await provider.close();
        await emulator[Symbol.asyncDispose]();
        expect(emulator.complaints).toEqual([]);
      },
    };
  },
  deviations: [
    {
      promise: "a paused sandbox makes no progress until it is resumed",
      reason: "a container is stopped and started again, so its processes end",
    },
    {
      promise: "info tells the limits, who enforces them, and what is used",
      reason: "a snapshot brings its own size, in whole GiB, and nothing limits processes",
    },
    {
      promise: "commands are nobody: no root, no capabilities, no new privileges",
      reason: "the image decides who commands are",
    },
    {
      promise: "a memory bomb is killed, it is told by a counter, and the sandbox goes on",
      reason: "Daytona tells no such counter, and the emulator limits no memory",
    },
    {
      promise: "a fork bomb stops at the limit, a timeout ends it, and the sandbox answers",
      reason: "nothing limits processes",
    },
    {
      promise: "nothing but loopback is there when the network is enforced",
      reason: "the network is open",
    },
  ],
});

describe("at Daytona", () => {
  let emulator: DaytonaEmulator;
  let provider: SandboxProvider;

  beforeAll(async () => {
    emulator = await startDaytona({ snapshots: [SNAPSHOT] });
    provider = open(emulator);
  });
  afterEach(() => {
    expect(emulator.complaints).toEqual([]);
  });
  afterAll(async () => {
    await provider.close();
    await emulator[Symbol.asyncDispose]();
  });

  const toSpec = (more: Partial<SandboxSpec> = {}): SandboxSpec => {
    const key = unique("daytona");
    return { key, labels: { installation: key, sandbox: "s", generation: "3" }, limits: LIMITS, env: {}, ...more };
  };
  /** For what leaves a sandbox as it was; it ends with the emulator. */
  const shared = toSpec();
  const make = async (spec = toSpec(), by = provider): Promise<SandboxRef> => {
    const ref = await by.ensure(spec, signal);
    onTestFinished(() => provider.destroy(ref, signal));
    return ref;
  };
  /** What was asked when something was to be made, the last time. */
  const lastCreation = () =>
    emulator.requests.findLast(({ method, path }) => method === "POST" && path === "/api/sandbox")?.body;
  const shell = (ref: SandboxRef, script: string) =>
    collect(provider.exec(ref, { argv: ["sh", "-c", script] }, signal));

  test("a sandbox is made from the snapshot, named, labelled, private, and never stopped while it works", async () => {
    const spec = toSpec({ env: { WORD: "said" } });
    await make(spec);
    const language = { "code-toolbox-language": "python" };
    expect(lastCreation()).toEqual({
      name: expect.stringMatching(/^drover-[0-9a-f]{32}$/),
      snapshot: SNAPSHOT,
      target: "eu",
      env: { WORD: "said" },
      labels: { ...spec.labels, key: spec.key, ...language },
      public: false,
      autoStopInterval: 0,
      autoPauseInterval: 0,
      autoDeleteInterval: 43_200,
    });
  });

  test("it is made from the image, with its own size, when the snapshot does not exist", async () => {
    const other = open(emulator, { snapshot: "not-there", image: "debian:12" });
    const limits = { cpus: 1.5, memoryBytes: 3 * GIB, diskBytes: 5 * GIB + 1, processes: 10 };
    const ref = await make(toSpec({ limits }), other);
    expect(lastCreation()).toMatchObject({
      buildInfo: { dockerfileContent: "FROM debian:12\n" },
      cpu: 2,
      memory: 3,
      disk: 6,
      autoStopInterval: 0,
    });
    expect(lastCreation()).not.toHaveProperty("snapshot");
    const info = await provider.info(ref, signal);
    expect(info?.limits).toEqual({ cpus: 2, memoryBytes: 3 * GIB, diskBytes: 6 * GIB, processes: 0 });
    expect(info?.enforcedBy).toMatchObject({ memory: "provider", cpu: "provider", disk: "provider" });
  });

  test("more than Daytona gives to one sandbox is asked for as the most it gives", async () => {
    const limits = { cpus: 64, memoryBytes: 64 * GIB, diskBytes: 640 * GIB, processes: 10 };
    await make(toSpec({ limits, image: "debian:12" }));
    expect(lastCreation()).toMatchObject({ cpu: 4, memory: 8, disk: 10 });
  });

  test("without snapshot and image it is refused, and the refusal names the settings", async () => {
    const other = open(emulator, { snapshot: "not-there" });
    await expect(other.ensure(toSpec(), signal)).rejects.toEqual(refusal("sandbox.rejected"));
    await expect(other.ensure(toSpec(), signal)).rejects.toThrow("DAYTONA_IMAGE");
  });

  test("without a key or without the SDK the provider is unavailable, and says what to do", async () => {
    const keyless = open(emulator, { apiKey: undefined });
    await expect(keyless.ensure(toSpec(), signal)).rejects.toEqual(refusal("provider.unavailable"));
    await expect(keyless.list({}, signal)).rejects.toThrow("DAYTONA_API_KEY");
    const missing = Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
    const bare = open(emulator, { loadSdk: () => Promise.reject(missing) });
    await expect(bare.ensure(toSpec(), signal)).rejects.toEqual(refusal("provider.unavailable"));
    await expect(bare.ensure(toSpec(), signal)).rejects.toThrow("npm install @daytona/sdk");
    await bare.close();
  });

  test("a wrong key is refused", async () => {
    const other = open(emulator, { apiKey: "wrong" });
    await expect(other.list({}, signal)).rejects.toEqual(refusal("sandbox.rejected"));
  });

  test.for([
    [400, "sandbox.rejected"],
    [403, "sandbox.rejected"],
    [410, "sandbox.rejected"],
    [422, "sandbox.rejected"],
    [408, "sandbox.unavailable"],
    [409, "sandbox.unavailable"],
    [500, "sandbox.unavailable"],
    [502, "sandbox.unavailable"],
    [503, "sandbox.unavailable"],
    ["reset", "sandbox.unavailable"],
  ] as const)("an answer of %s to a command is %s", async ([status, code]) => {
    const ref = await provider.ensure(shared, signal);
    emulator.faults.next({ method: "POST", path: /\/exec$/, status });
    await expect(shell(ref, "true")).rejects.toEqual(refusal(code));
  });

  test("too many requests may be tried again, when Daytona says", async () => {
    const ref = await provider.ensure(shared, signal);
    const headers = { "retry-after": "7" };
    emulator.faults.next({ method: "POST", path: /\/process\/session$/, status: 429, headers });
    const refused: unknown = await shell(ref, "true").catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ code: "sandbox.unavailable", retryAfterSeconds: 7 });
  });

  test("while its state changes, a pause or a destroy may be tried again", async () => {
    const ref = await make();
    emulator.faults.next({ method: "POST", path: /\/stop$/, status: 400 });
    await expect(provider.pause(ref, signal)).rejects.toEqual(refusal("sandbox.unavailable"));
    emulator.faults.next({ method: "DELETE", path: /\/api\/sandbox\//, status: 400 });
    await expect(provider.destroy(ref, signal)).rejects.toEqual(refusal("sandbox.unavailable"));
  });

  test("a slow creation is waited for, also by another replica", async () => {
    const spec = toSpec();
    const release = emulator.faults.holdCreation();
    const first = make(spec);
    await untilFact("it is being created", async () => (await provider.list(spec.labels, signal)).length === 1);
    const second = open(emulator).ensure(spec, signal);
    const [made] = await provider.list(spec.labels, signal);
    expect(await provider.info(made!, signal)).toMatchObject({ state: "stopped", reason: "Being created" });
    release();
    expect(await second).toEqual(await first);
  });

  test("a creation that takes too long may be tried again, and is then found", async () => {
    const spec = toSpec();
    const release = emulator.faults.holdCreation();
    onTestFinished(release);
    const hasty = open(emulator, { timeoutSeconds: 0.3 });
    await expect(hasty.ensure(spec, signal)).rejects.toEqual(refusal("sandbox.unavailable"));
    const [begun] = await provider.list(spec.labels, signal);
    release();
    expect(await make(spec)).toEqual(begun);
  });

  test("a creation that is aborted ends at once", async () => {
    const spec = toSpec();
    const release = emulator.faults.holdCreation();
    const stop = new AbortController();
    const creating = provider.ensure(spec, stop.signal);
    await untilFact("it is being created", async () => (await provider.list(spec.labels, signal)).length === 1);
    stop.abort();
    await expect(creating).rejects.toThrow("aborted");
    release();
    await make(spec);
  });

  test.for([
    ["error", "sandbox.unavailable"],
    ["build_failed", "sandbox.rejected"],
  ] as const)("a sandbox that ends in %s is %s with Daytona's reason, and is cleared away", async ([state, code]) => {
    const spec = toSpec();
    emulator.faults.failCreation(state, "the runner is on fire");
    const refused: unknown = await provider.ensure(spec, signal).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code, message: expect.stringContaining("the runner is on fire") });
    expect(await provider.list(spec.labels, signal)).toEqual([]);
    await make(spec);
  });

  test("output that is cut off goes on where it was, each byte once", async () => {
    const ref = await make();
    const wanted = Array.from({ length: 3_000 }, (_, index) => `${index + 1}\n`).join("");
    emulator.faults.cutStreams(1_000, 3_000, 9_000);
    const outcome = await shell(ref, "seq 1000; sleep 0.1; seq 1001 2000; sleep 0.1; seq 2001 3000; exit 5");
    expect(outcome.stdout.toString()).toBe(wanted);
    expect(outcome.exit).toEqual(exited(5));
  });

  test("a silent command outlives a connection that is cut", async () => {
    const ref = await make();
    emulator.faults.cutStreams(0);
    const outcome = await shell(ref, "sleep 1; echo done");
    expect(outcome.stdout.toString()).toBe("done\n");
  });

  test("a terminal whose connection is cut is over", async () => {
    const ref = await make();
    emulator.faults.cutStreams(500);
    const terminal = await provider.openTerminal(ref, { columns: 80, rows: 24 }, signal);
    terminal.write(Buffer.from("seq 10000\n"));
    expect(await terminal.exited).toEqual({ code: null });
  });

  test("a stopped sandbox keeps its files, and is started by the next who ensures it", async () => {
    const spec = toSpec();
    const ref = await make(spec);
    await shell(ref, "echo kept > note");
    await provider.pause(ref, signal);
    expect(await provider.info(ref, signal)).toMatchObject({ state: "paused" });
    await expect(shell(ref, "true")).rejects.toEqual(refusal("sandbox.unavailable", "sandbox.rejected"));
    expect(await provider.ensure(spec, signal)).toEqual(ref);
    expect((await shell(ref, "cat note")).stdout.toString()).toBe("kept\n");
  });
});

test("a virtual machine is paused in the middle of its work, and goes on", async () => {
  await using emulator = await startDaytona({ snapshots: [SNAPSHOT], sandboxClass: "linux-vm" });
  const provider = open(emulator);
  const ref = await provider.ensure({ key: "vm", labels: {}, limits: LIMITS, env: {} }, signal);
  const ticks = async () => {
    const { stdout } = await collect(provider.exec(ref, { argv: ["sh", "-c", "cat ticks | wc -l"] }, signal));
    return Number(stdout.toString());
  };
  const argv = ["sh", "-c", "while :; do echo >> ticks; sleep 0.01; done"] as const;
  await provider.startDetached(ref, { argv }, signal);
  await untilFact("it ticks", async () => (await ticks()) > 3);
  await provider.pause(ref, signal);
  expect(await provider.info(ref, signal)).toMatchObject({ state: "paused" });
  await provider.resume(ref, signal);
  const before = await ticks();
  await untilFact("it ticks again", async () => (await ticks()) > before + 3);
  expect(emulator.complaints).toEqual([]);
});
