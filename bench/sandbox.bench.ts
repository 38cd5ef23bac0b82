/** P5: a local sandbox from nothing to its first command, from one that stands ready, and fifty at once. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { openLocalProvider } from "../packages/server/src/adapters/sandbox-local.ts";
import type { SandboxProvider, SandboxRef } from "../packages/server/src/ports/sandbox-provider.ts";
import { makeDataDir } from "./drover.ts";
import { runTrue, time } from "./first-command.ts";
import { report, toPercentiles } from "./result.ts";

const ROUNDS = 15;
const AT_ONCE = 50;
const BUBBLEWRAP = "/usr/bin/bwrap";
const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 512 * MIB, cpus: 1, diskBytes: 256 * MIB, processes: 128 };
const WORKER = resolve(import.meta.dirname, "../packages/worker/dist");
const { signal } = new AbortController();
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

let onReady: () => void = () => undefined;
const open = (base: string, size: number): Promise<SandboxProvider> =>
  openLocalProvider({
    base,
    node: process.execPath,
    supervisor: join(WORKER, "supervisor.cjs"),
    worker: join(WORKER, "worker.mjs"),
    log: { ...quiet, debug: (name) => (name === "sandbox.warm_ready" ? onReady() : undefined) },
    ...(size === 0 ? {} : { warm: { size, limits: LIMITS } }),
  });

let made = 0;
const ensure = (provider: SandboxProvider) =>
  provider.ensure({ key: `bench-${(made += 1)}`, labels: {}, limits: LIMITS, env: {} }, signal);

/** Namespaces, the same programs, and node until it says something: what nobody can do without. */
async function runBare(): Promise<void> {
  const merged = ["bin", "sbin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]);
  const mounts = ["--ro-bind", "/usr", "/usr", ...merged, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"];
  const node = ["--ro-bind", process.execPath, "/tmp/node", "/tmp/node", "-e", "process.stdout.write('ready')"];
  const child = spawn(BUBBLEWRAP, ["--unshare-all", "--die-with-parent", ...mounts, ...node], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [code] = (await once(child, "exit")) as [number | null];
  if (code !== 0) throw new Error(`bubblewrap ended with ${code}`);
}

await using directory = await makeDataDir();
const samples = { bare: [] as number[], cold: [] as number[], standing: [] as number[], warm: [] as number[] };
const cold = await open(join(directory.path, "cold"), 0);
let ready = Promise.withResolvers<void>();
onReady = () => ready.resolve();
const warm = await open(join(directory.path, "warm"), 1);
try {
  const other = await ensure(cold);
  for (let round = 0; round <= ROUNDS; round += 1) {
    await ready.promise;
    const refs: SandboxRef[] = [];
    const bare = await time(runBare);
    const first = await time(async () => {
      const ref = await ensure(cold);
      refs.push(ref);
      await runTrue(cold, ref);
    });
    const standing = await time(() => runTrue(cold, other));
    ready = Promise.withResolvers<void>();
    const claimed = await time(async () => {
      const ref = await ensure(warm);
      refs.push(ref);
      await runTrue(warm, ref);
    });
    for (const [index, ref] of refs.entries()) await (index === 0 ? cold : warm).destroy(ref, signal);
    // The first round proves the isolation and warms up.
    if (round === 0) continue;
    samples.bare.push(bare);
    samples.cold.push(first);
    samples.standing.push(standing);
    samples.warm.push(claimed);
  }
  const ratio = (ours: readonly number[], floor: readonly number[]) =>
    toPercentiles(ours.map((value, round) => value / (floor[round] ?? 1))).p50;
  const [bare, standing] = [toPercentiles(samples.bare).p50, toPercentiles(samples.standing).p50];
  const coldRatio = ratio(samples.cold, samples.bare);
  const warmRatio = ratio(samples.warm, samples.standing);
  const shared = { unit: "ms", n: ROUNDS } as const;
  report({
    ...shared,
    ...toPercentiles(samples.cold),
    id: "P5a",
    title: "local sandbox: cold create to first command",
    ours: toPercentiles(samples.cold).p50,
    floor: bare,
    ratio: coldRatio,
    target: "<= 1.5x bare bubblewrap and node",
    met: coldRatio <= 1.5,
    note: "with control groups, a disk of its own where there are loop devices, a supervisor; as root an empty disk and the shell that begins the next one wait from the round before; the ratio is the median of those of each round",
  });
  report({
    ...shared,
    ...toPercentiles(samples.warm),
    id: "P5b",
    title: "local sandbox: claimed to first command",
    ours: toPercentiles(samples.warm).p50,
    floor: standing,
    ratio: warmRatio,
    target: "<= 2x a command in one that stands",
    met: warmRatio <= 2,
    note: "the next one is made after the figure was taken",
  });

  const refs: SandboxRef[] = [];
  const all = await time(async () => {
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        const ref = await ensure(cold);
        refs.push(ref);
        await runTrue(cold, ref);
      }),
    );
  });
  report({
    unit: "ms",
    n: 1,
    ...toPercentiles([all]),
    id: "P5c",
    title: `${AT_ONCE} local sandboxes at once, until each has run a command`,
    ours: all,
    floor: null,
    ratio: null,
    target: "all of them run",
    met: refs.length === AT_ONCE,
    note: "all stand together",
  });
  for (const ref of [...refs, other]) await cold.destroy(ref, signal);
} finally {
  await warm.close();
  await cold.close();
}
