/** One task in one sandbox without a server: by the library's fixtures, by an agent server, and by the command itself. */
import { existsSync, globSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { resolveConfig } from "../../server/src/config.ts";
import { exerciseWorkspace, WRITE_EVENTS, WRITE_SCRIPT } from "../../testkit/src/conformance/workspace.ts";
import { startDaytona } from "../../testkit/src/daytona/emulator.ts";
import { runBinary } from "../../testkit/src/drover-binary.ts";
import { startScriptedModel } from "../../testkit/src/model/scripted-model.ts";
import { SESSION_KEY, startAgentServerProcess } from "../../testkit/src/openhands/agent-server-process.ts";
import {
  createDirectExecutor,
  createRemoteExecutor,
  openWorkspace,
  parseWorkspaceMode,
  type RunEvent,
} from "./index.ts";
import type { SandboxWorkspace } from "./index.ts";
import { createHarnessTest } from "./vitest.ts";

const { config } = resolveConfig({});
const test = createHarnessTest({ ...config, sandboxMemoryGb: 0.5, sandboxCpu: 1, sandboxDiskGb: 1 });

test("an agent works in a sandbox of its own and says what a worker says; the next task finds its files", async ({
  workspace,
  agent,
}) => {
  await exerciseWorkspace(workspace);
  const run = await agent.run("Write it", { script: WRITE_SCRIPT });
  expect(run).toMatchObject({ status: "completed", cost: 0, sandbox_id: workspace.id, event_count: run.events.length });
  expect(Buffer.from(await workspace.readFile("made.txt")).toString()).toBe("one\n");
  const types = run.events.map(({ event_type }) => event_type);
  for (const type of WRITE_EVENTS) expect(types).toContain(type);
  expect(run.events.map(({ sandbox_seq }) => sandbox_seq)).toEqual(run.events.map((_, index) => index + 1));

  const failed = await agent.run("Fail", {
    script: { steps: [{ command: { argv: ["cat", "made.txt"] } }, { fail: "It cannot be done." }] },
  });
  expect(failed).toMatchObject({ status: "failed", detail: "It cannot be done." });
  expect(JSON.stringify(failed.events)).toContain("one\\n");
  const late = await agent.run("Wait", { script: { steps: [{ wait: 600 }] }, timeoutMs: 1_000 });
  expect(late.status).toBe("timed_out");
  // Each worker has left: nothing of the runs goes on.
  const { stdout } = await workspace.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]);
  expect(stdout).not.toContain("worker.mjs");
});

test("the shared workspace is made once for the file", async ({ sharedWorkspace }) => {
  await sharedWorkspace.writeFile("left.txt", sharedWorkspace.id);
});

test("and the next test finds what the one before left there", async ({ sharedWorkspace }) => {
  expect(Buffer.from(await sharedWorkspace.readFile("left.txt")).toString()).toBe(sharedWorkspace.id);
});

test("an agent that is not installed is refused with what to do, before anything is made", async () => {
  const nothing = await mkdtemp(join(tmpdir(), "drover-direct-agents-"));
  const opened = openWorkspace({ mode: "local", config: { ...config, agentsDir: nothing }, runtime: "claude" });
  await expect(opened).rejects.toThrow("drover agents install claude");
  await rm(nothing, { recursive: true });
});

test("the command runs one task without a server, and leaves nothing behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-direct-cli-"));
  const script = join(folder, "script.json");
  await writeFile(script, JSON.stringify(WRITE_SCRIPT));
  const nowhere = { url: "http://127.0.0.1:1" };
  const sizes = ["--memory", "0.5", "--cpu", "1", "--disk", "1"];
  const done = await runBinary(nowhere, "run", "--direct", "--script", script, ...sizes, "--json", "Write", "it");
  expect(done).toMatchObject({ code: 0 });
  const lines = done.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.at(-1)).toMatchObject({ status: "completed", event_count: lines.length - 1 });
  await rm(folder, { recursive: true });
  const { sandbox_id: id } = lines.at(-1);
  expect(globSync(join(tmpdir(), "drover-direct-*", "sandboxes", `${id}*`))).toEqual([]);
});

test("an agent server is a workspace and an executor, and tells the same events", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-direct-remote-"));
  await using model = await startScriptedModel();
  model.setScript([{ tools: [{ name: "terminal", input: { command: "echo two > made.txt" } }] }, { text: "Made it." }]);
  const agents = await startAgentServerProcess(folder);
  try {
    const remote = { url: agents.url, key: SESSION_KEY, root: join(folder, "work"), project: "p", task: "t" };
    await expect(openWorkspace({ mode: "remote", config, remote: { ...remote, task: ".." } })).rejects.toThrow(
      "no name",
    );
    await expect(openWorkspace({ mode: "remote", config, remote: { ...remote, key: "wrong" } })).rejects.toThrow("401");
    await using workspace = await openWorkspace({ mode: "remote", config, remote });
    expect(workspace.directory).toBe(join(folder, "work/p/t"));
    await exerciseWorkspace(workspace);
    const events: RunEvent[] = [];
    const llm = { model: "openai/a-model", api_key: "sk-a-key", base_url: model.url };
    const executor = createRemoteExecutor({ url: agents.url, key: SESSION_KEY, directory: workspace.directory, llm });
    const result = await executor.execute("Make a file", { onEvent: (event) => void events.push(event) });
    expect(result).toMatchObject({ status: "completed", detail: "Made it.", event_count: events.length });
    expect(result.sandbox_id).toContain(result.conversation_id);
    expect(events.map(({ event_type }) => event_type)).toEqual([
      "agent.started",
      "agent.message_injected",
      "agent.tool_use",
      "agent.tool_result",
      "agent.message",
      "agent.completed",
      "agent.waiting",
    ]);
    expect(Buffer.from(await workspace.readFile("made.txt")).toString()).toBe("two\n");
    await workspace.dispose();
    expect(existsSync(workspace.directory)).toBe(false);
  } finally {
    await agents.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test("a sandbox at Daytona is one too, its worker comes back by HTTP; modes are what they are called", async () => {
  await using emulator = await startDaytona({ snapshots: [config.daytonaSnapshot] });
  const elsewhere = { ...config, daytonaApiKey: emulator.apiKey, daytonaApiUrl: emulator.apiUrl };
  await using workspace = (await openWorkspace({ mode: "daytona", config: elsewhere })) as SandboxWorkspace;
  await exerciseWorkspace(workspace);
  const executor = createDirectExecutor({ workspace, config: elsewhere, script: WRITE_SCRIPT });
  expect(await executor.execute("Write it")).toMatchObject({ status: "completed", sandbox_id: workspace.id });
  expect(Buffer.from(await workspace.readFile("made.txt")).toString()).toBe("one\n");
  expect([undefined, "", "docker"].map(parseWorkspaceMode)).toEqual(["local", "local", "docker"]);
  expect(() => parseWorkspaceMode("cloud")).toThrow("there are local, docker, remote, daytona");
  await expect(
    openWorkspace({ mode: "docker", config: { ...config, dockerHost: "unix:///nowhere.sock" } }),
  ).rejects.toThrow();
});
