/** Local sandboxes that stood ready keep what every provider promises, and nothing of them is left. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import { LIMITS, unique, untilFact } from "../../../testkit/src/conformance/sandbox/given.ts";
import { openLocal } from "../../../testkit/src/hostile/open-local.ts";
import { openWarmLocal, type WarmLocal } from "../../../testkit/src/warm-local.ts";
import { startTestServer } from "../../../testkit/src/server.ts";

const { signal } = new AbortController();
let warm: WarmLocal | undefined;

describeSandboxProvider({
  name: "local, claimed",
  connects: true,
  capabilities: {
    pause: true,
    snapshot: true,
    terminal: true,
    socketDirectory: true,
    egressPolicy: true,
    mounts: true,
    survivesServer: true,
  },
  open: async () => {
    warm = await openWarmLocal();
    return warm;
  },
});

test("the suite ran in sandboxes that stood ready", () => {
  expect(warm?.claims()).toBeGreaterThan(15);
});

const listWarm = async (folder: string) =>
  (await readdir(join(folder, "sandboxes"))).filter((name) => name.startsWith("warm-"));

test("what stands ready is in no list, is used once, and is gone when the provider is closed", async () => {
  const { provider, folder, close } = await openLocal({ warm: { size: 1, limits: LIMITS } });
  onTestFinished(close);
  const isReady = async () => (await listWarm(folder)).length === 1;
  await untilFact("one stands ready", isReady);
  expect(await provider.list({}, signal)).toEqual([]);
  const spec = { key: unique("claimed"), labels: { a: "b" }, limits: LIMITS, env: {} };
  const ref = await provider.ensure(spec, signal);
  expect(await provider.list({}, signal)).toEqual([ref]);
  await untilFact("another one stands ready", isReady);
  await provider.destroy(ref, signal);
  await provider.close();
  expect(await readdir(join(folder, "sandboxes"))).toEqual([]);
});

test("a server makes its sandboxes of what stands ready, and a stop leaves nothing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-warm-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using server = await startTestServer({ dataDir: folder, config: { warmLocal: 1 } });
  await untilFact("one stands ready", async () => (await listWarm(folder).catch(() => [])).length === 1);
  const { body } = await server.call("POST", "/sandboxes", { body: { runtime: "scripted", prompt: "x" } });
  await expect.poll(async () => (await server.call("GET", `/sandboxes/${body.id}`)).body.state).toBe("running");
  await server.call("DELETE", `/sandboxes/${body.id}`);
  const isClosed = async () => (await server.call("GET", `/sandboxes/${body.id}/events?event_type=TERMINATED`)).body;
  await expect.poll(async () => (await isClosed()).total_count).toBe(1);
  await server.stop();
  expect(await readdir(join(folder, "sandboxes"))).toEqual([]);
});
