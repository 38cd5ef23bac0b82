/** The same run at Daytona: the real SDK against the emulator, created over HTTP, worked on by the worker inside. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { AGENT_PINS, type Sandbox, type StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { startDaytona } from "../daytona/emulator.ts";
import { startTestServer } from "../server.ts";

const FACT_MS = 90_000;
const SNAPSHOT = "ai-agent-dev-light";

test("a sandbox of provider daytona plays its script and is gone when it ends", async () => {
  await using emulator = await startDaytona({ snapshots: [SNAPSHOT] });
  const config = { daytonaApiKey: emulator.apiKey, daytonaApiUrl: emulator.apiUrl, daytonaExecution: true };
  await using server = await startTestServer({ config });
  const body = { runtime: "scripted", script: { steps: [{ edit: { path: "made.txt", content: "made\n" } }] } };
  const created = await server.call("POST", "/sandboxes", { body });
  expect(created.status).toBe(201);
  const { id, provider } = created.body as Sandbox;
  expect(provider).toBe("daytona");

  const read = async () => (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events as StoredEvent[];
  const hasCompleted = async () => (await read()).some(({ event_type }) => event_type === "agent.completed");
  await expect.poll(hasCompleted, { timeout: FACT_MS }).toBe(true);

  await server.call("DELETE", `/sandboxes/${id}`);
  const daytona = await server.deps.providers.open("daytona");
  const left = async () => (await daytona.list({ "drover.sandbox": id }, new AbortController().signal)).length;
  await expect.poll(left, { timeout: FACT_MS }).toBe(0);
  expect(emulator.complaints).toEqual([]);
}, 240_000);

/** The least that speaks the protocol: it stands where the real one would, which is a hundred megabytes. */
const TINY_AGENT = `#!/usr/bin/env node
import { createInterface } from "node:readline";
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
const answers = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {} }),
  "session/new": () => ({ sessionId: "one" }),
  "session/prompt": () => {
    const content = { type: "text", text: "I came from " + import.meta.filename };
    const update = { sessionUpdate: "agent_message_chunk", content };
    send({ method: "session/update", params: { sessionId: "one", update } });
    return { stopReason: "end_turn" };
  },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(line);
  if (id !== undefined) send({ id, result: answers[method]?.() ?? {} });
}
`;

/** As an installation leaves it. */
async function installTiny(directory: string): Promise<void> {
  const { npm, version, entry } = AGENT_PINS.gemini;
  const place = join(directory, "gemini", version);
  await mkdir(join(place, dirname(entry)), { recursive: true });
  await writeFile(join(place, entry), TINY_AGENT, { mode: 0o755 });
  await writeFile(join(place, "package.json"), JSON.stringify({ type: "module" }));
  const receipt = { npm, version, bytes: TINY_AGENT.length, at: new Date().toISOString() };
  await writeFile(join(place, "installed.json"), JSON.stringify(receipt));
}

/** Broken on purpose, seen here: an agent that is looked for and not brought. */
test("an agent that the snapshot does not have is packed, uploaded and run", async () => {
  const agentsDir = await mkdtemp(join(tmpdir(), "drover-agents-"));
  await installTiny(agentsDir);
  await using emulator = await startDaytona({ snapshots: [SNAPSHOT] });
  const config = { daytonaApiKey: emulator.apiKey, daytonaApiUrl: emulator.apiUrl, agentsDir };
  await using server = await startTestServer({ config });
  const body = { provider: "daytona", runtime: "gemini", prompt: "Where are you from?" };
  const created = await server.call("POST", "/sandboxes", { body });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  const path = `/sandboxes/${created.body.id}`;
  const read = async () => (await server.call("GET", `${path}/events?limit=500`)).body.events as StoredEvent[];
  const isOver = async () => (await read()).find(({ event_type }) => /^agent\.(completed|failed)$/.test(event_type));
  await expect.poll(isOver, { timeout: FACT_MS }).toMatchObject({
    event_type: "agent.completed",
    event_data: { final_output: expect.stringMatching(/^I came from .*agents\/gemini\/.*gemini$/) },
  });
  await server.call("DELETE", path);
  await rm(agentsDir, { recursive: true, force: true });
  expect(emulator.complaints).toEqual([]);
}, 240_000);
