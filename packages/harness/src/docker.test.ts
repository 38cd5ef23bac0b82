/** The same in a container: files, commands, a whole run by library and command, and nothing left behind. The command did not end while the
 *  answer to a detached start was left unread. */
import { existsSync, globSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveConfig } from "../../server/src/config.ts";
import { connectEngine } from "../../server/src/adapters/docker/connection.ts";
import { isOnThisMachine, uniqueNap, untilFact } from "../../testkit/src/conformance/sandbox/given.ts";
import { exerciseWorkspace, WRITE_EVENTS, WRITE_SCRIPT } from "../../testkit/src/conformance/workspace.ts";
import { startDocker, type TestEngine } from "../../testkit/src/docker.ts";
import { runBinary } from "../../testkit/src/drover-binary.ts";
import { createDirectExecutor, openWorkspace, type RunEvent, type SandboxWorkspace } from "./index.ts";

let engine: TestEngine;
beforeAll(async () => {
  engine = await startDocker();
});
afterAll(() => engine?.[Symbol.asyncDispose]());

const listContainers = async () => (await connectEngine(engine.host)).docker.listContainers({ all: true });

test("a container is a workspace in which an agent works, and it is gone with everything in it", async () => {
  const { config } = resolveConfig({
    env: {
      DOCKER_HOST: engine.host,
      SANDBOX_IMAGE: engine.image,
      SANDBOX_MEMORY_GB: "0.5",
      SANDBOX_CPU: "1",
      SANDBOX_DISK_GB: "1",
    },
  });
  const workspace = (await openWorkspace({ mode: "docker", config })) as SandboxWorkspace;
  const sockets = workspace.provider.socketDirectory(workspace.ref) ?? "";
  const nap = uniqueNap();
  try {
    await exerciseWorkspace(workspace);
    const events: RunEvent[] = [];
    const executor = createDirectExecutor({ workspace, config, script: WRITE_SCRIPT });
    const run = await executor.execute("Write it", { onEvent: (event) => void events.push(event) });
    expect(run).toMatchObject({ status: "completed", sandbox_id: workspace.id, event_count: events.length });
    expect(events.map(({ event_type }) => event_type)).toEqual(expect.arrayContaining([...WRITE_EVENTS]));
    expect(Buffer.from(await workspace.readFile("made.txt")).toString()).toBe("one\n");
    await workspace.exec(["sh", "-c", `sleep ${nap} > /dev/null 2>&1 &`]);
    await untilFact("it runs", () => isOnThisMachine(nap));
    expect(await listContainers()).toHaveLength(1);
    expect(existsSync(sockets)).toBe(true);
  } finally {
    await workspace.dispose();
  }
  await workspace.dispose();
  expect(await listContainers()).toEqual([]);
  expect(existsSync(sockets)).toBe(false);
  await untilFact("its processes are gone", () => !isOnThisMachine(nap));
});

test("the command does it too", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-direct-cli-"));
  const script = join(folder, "script.json");
  await writeFile(script, JSON.stringify(WRITE_SCRIPT));
  const sizes = ["--memory", "0.5", "--cpu", "1", "--disk", "1"];
  const flags = ["--direct", "--mode", "docker", "--image", engine.image, "--script", script, ...sizes, "--json"];
  const before = process.env.DOCKER_HOST;
  process.env.DOCKER_HOST = engine.host;
  const done = await runBinary({ url: "http://127.0.0.1:1" }, "run", ...flags, "Write it");
  if (before === undefined) delete process.env.DOCKER_HOST;
  else process.env.DOCKER_HOST = before;
  expect(done).toMatchObject({ code: 0 });
  const last = JSON.parse(done.out.trim().split("\n").at(-1) ?? "");
  expect(last).toMatchObject({ status: "completed" });
  expect(await listContainers()).toEqual([]);
  expect(globSync(join(tmpdir(), "drover-direct-*", "containers", `*${last.sandbox_id}*`))).toEqual([]);
  await rm(folder, { recursive: true });
});
