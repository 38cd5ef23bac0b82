/** The same attacks in containers of a real engine. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openDocker } from "../../../server/src/adapters/sandbox-docker.ts";
import type { OpenedProvider } from "../conformance/sandbox/given.ts";
import { startDocker, type TestEngine } from "../docker.ts";
import { startTestServer } from "../server.ts";
import { openWarmDocker } from "../warm-docker.ts";
import { ABUSE_KERNEL } from "./abuse-kernel.ts";
import { describeGate } from "./attack-gate.ts";
import { ATTACK_SUPERVISOR, OPEN_KEEPER } from "./attack-supervisor.ts";
import { describeHostile, DOCKER_GROUND } from "./attempt.ts";
import { ESCAPE_EGRESS } from "./escape-egress.ts";
import { EXHAUST } from "./exhaust.ts";
import { PLANT_FILES } from "./plant-files.ts";
import { REACH_HOST } from "./reach-host.ts";

let engine: TestEngine;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-hostile-docker-"));
  engine = await startDocker();
});
afterAll(async () => {
  await engine?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function open(): Promise<OpenedProvider> {
  const openOne = () => openDocker({ host: engine.host, image: engine.image, base: join(folder, "containers") });
  const provider = await openOne();
  return { provider, reopen: openOne, close: () => provider.close() };
}

/** All of those in local sandboxes, except that there a supervisor is sealed and here a keeper has nothing. */
const ATTEMPTS = [
  ...REACH_HOST,
  ...ABUSE_KERNEL,
  ...PLANT_FILES,
  ...EXHAUST,
  ...OPEN_KEEPER,
  ...ATTACK_SUPERVISOR,
  ...ESCAPE_EGRESS,
];

describeHostile({ name: "docker", open, ground: DOCKER_GROUND, attempts: ATTEMPTS });
describeHostile({
  name: "docker, claimed",
  open: () => openWarmDocker({ host: engine.host, image: engine.image, base: join(folder, "claimed") }),
  ground: DOCKER_GROUND,
  attempts: [...REACH_HOST, ...OPEN_KEEPER],
});
describeGate({
  name: "docker",
  start: () => startTestServer({ config: { dockerHost: engine.host, sandboxImage: engine.image } }),
});

test("more than forty attacks are tried, and each has a name of its own", () => {
  const titles = ATTEMPTS.map(({ title }) => title);
  expect(new Set(titles).size).toBe(titles.length);
  expect(titles.length).toBeGreaterThan(40);
});
