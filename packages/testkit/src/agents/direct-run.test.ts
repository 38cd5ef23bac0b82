/** A direct run with a real agent: no server, the agent's own memory and tools, its model through the harness, and no key inside. */
import { resolveConfig } from "../../../server/src/config.ts";
import { createHarnessTest } from "../../../harness/src/vitest.ts";
import { beforeAll, expect } from "vitest";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { startScriptedModel } from "../model/scripted-model.ts";

const KEY = "sk-a-key-that-stays-outside";
const model = await startScriptedModel({
  script: [
    { tools: [{ name: "Bash", input: { command: "env > seen.txt; echo 7 > sheep.txt", description: "Count" } }] },
    { text: "Seven sheep." },
  ],
});
const { config } = resolveConfig({});
const test = createHarnessTest(
  { ...config, agentsDir: AGENTS_CACHE, anthropicBaseUrl: model.url, anthropicApiKey: KEY },
  { runtime: "claude" },
);

beforeAll(async () => {
  await ensureAgent("claude");
  return () => model[Symbol.asyncDispose]();
});

test("Claude works in a sandbox without a server, and what it cost is told", async ({ workspace, agent }) => {
  const run = await agent.run("Count the sheep", { model: "claude-sonnet-4-5", timeoutMs: 200_000 });
  expect(run, JSON.stringify(run.events.slice(-5))).toMatchObject({ status: "completed", detail: "Seven sheep." });
  expect(run.cost).toBeGreaterThan(0);
  expect(run.conversation_id).toMatch(/^[0-9a-f-]{36}$/);
  expect(Buffer.from(await workspace.readFile("sheep.txt")).toString()).toBe("7\n");
  expect(Buffer.from(await workspace.readFile("seen.txt")).toString()).not.toContain(KEY);
  expect(JSON.stringify(run.events)).not.toContain(KEY);
});
