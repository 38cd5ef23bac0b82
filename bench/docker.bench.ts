/** P5, in containers: from nothing to the first command, and from one that stands ready, against plain calls of the same engine. */
import { join } from "node:path";
import { connectEngine, type Connection } from "../packages/server/src/adapters/docker/connection.ts";
import { openDocker } from "../packages/server/src/adapters/sandbox-docker.ts";
import type { SandboxProvider, SandboxRef } from "../packages/server/src/ports/sandbox-provider.ts";
import { startDocker } from "../packages/testkit/src/docker.ts";
import { makeDataDir } from "./drover.ts";
import { runTrue, time } from "./first-command.ts";
import { report, toPercentiles } from "./result.ts";

const ROUNDS = 12;
const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 512 * MIB, cpus: 1, diskBytes: 256 * MIB, processes: 128 };
const { signal } = new AbortController();
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

type Docker = Connection["docker"];
type Container = Awaited<ReturnType<Docker["createContainer"]>>;

/** What dockerode's own documents do: create, start, a command read to its end, its status. */
async function runPlainly(docker: Docker, image: string): Promise<Container> {
  const options = { Image: image, Cmd: ["tail", "-f", "/dev/null"], HostConfig: { NetworkMode: "none", Init: true } };
  const container = await docker.createContainer(options);
  await container.start();
  const exec = await container.exec({ Cmd: ["true"], AttachStdout: true, AttachStderr: true });
  const stream = await exec.start({ hijack: true, stdin: false });
  for await (const chunk of stream) void chunk;
  const { ExitCode: code } = await exec.inspect();
  if (code !== 0) throw new Error(`a command ended with ${code}`);
  return container;
}

await using directory = await makeDataDir();
await using engine = await startDocker();
const { docker } = await connectEngine(engine.host);
let made = 0;
const ensure = (provider: SandboxProvider) =>
  provider.ensure({ key: `bench-${(made += 1)}`, labels: {}, limits: LIMITS, env: {} }, signal);
let ready = Promise.withResolvers<void>();
const log = { ...quiet, debug: (name: string) => (name === "sandbox.warm_ready" ? ready.resolve() : undefined) };
const options = { host: engine.host, image: engine.image };
const cold = await openDocker({ ...options, base: join(directory.path, "cold") });
const warm = await openDocker({
  ...options,
  base: join(directory.path, "warm"),
  warm: { size: 1, limits: LIMITS, log },
});
const samples = { plain: [] as number[], cold: [] as number[], standing: [] as number[], warm: [] as number[] };
try {
  const other = await ensure(cold);
  for (let round = 0; round <= ROUNDS; round += 1) {
    await ready.promise;
    let container: Container | undefined;
    const plain = await time(async () => {
      container = await runPlainly(docker, engine.image);
    });
    let first: SandboxRef | undefined;
    const made = await time(async () => {
      first = await ensure(cold);
      await runTrue(cold, first);
    });
    const standing = await time(() => runTrue(cold, other));
    ready = Promise.withResolvers<void>();
    let claimed: SandboxRef | undefined;
    const taken = await time(async () => {
      claimed = await ensure(warm);
      await runTrue(warm, claimed);
    });
    await container?.remove({ force: true });
    if (first !== undefined) await cold.destroy(first, signal);
    if (claimed !== undefined) await warm.destroy(claimed, signal);
    // The first round warms up.
    if (round === 0) continue;
    samples.plain.push(plain);
    samples.cold.push(made);
    samples.standing.push(standing);
    samples.warm.push(taken);
  }
  const ratio = (ours: readonly number[], floor: readonly number[]) =>
    toPercentiles(ours.map((value, round) => value / (floor[round] ?? 1))).p50;
  const coldRatio = ratio(samples.cold, samples.plain);
  const warmRatio = ratio(samples.warm, samples.standing);
  report({
    unit: "ms",
    n: ROUNDS,
    ...toPercentiles(samples.cold),
    id: "P5d",
    title: "docker sandbox: create and start to first command",
    ours: toPercentiles(samples.cold).p50,
    floor: toPercentiles(samples.plain).p50,
    ratio: coldRatio,
    target: "<= 1.5x plain dockerode",
    met: coldRatio <= 1.5,
    note: "with limits, our filter of system calls, directories and sockets; the same engine, image and no network",
  });
  report({
    unit: "ms",
    n: ROUNDS,
    ...toPercentiles(samples.warm),
    id: "P5e",
    title: "docker sandbox: claimed to first command",
    ours: toPercentiles(samples.warm).p50,
    floor: toPercentiles(samples.standing).p50,
    ratio: warmRatio,
    target: "<= 2x a command in one that stands",
    met: warmRatio <= 2,
    note: "the next one is made after the figure was taken",
  });
  await cold.destroy(other, signal);
} finally {
  await warm.close();
  await cold.close();
}
