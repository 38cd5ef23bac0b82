/** An agent that is not there is refused with what to do about it; once installed it is offered, and kept in its own hands. */
import { AGENT_PINS } from "@drover/contract";
import { beforeAll, expect, test } from "vitest";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { startTestServer } from "../server.ts";

beforeAll(() => ensureAgent("claude"));

test("a sandbox with an agent that is not installed is refused, and the refusal says how to install it", async () => {
  await using server = await startTestServer();
  const body = { provider: "local", runtime: "claude", prompt: "hello" };
  const refused = await server.call("POST", "/sandboxes", { body });
  expect(refused.status).toBe(422);
  expect(refused.body.detail).toContain("drover agents install claude");
  expect((await server.call("GET", "/sandboxes")).body.items).toEqual([]);
  // A worker that somebody starts elsewhere has its own agents.
  expect((await server.call("POST", "/sandboxes", { body: { ...body, provider: "external" } })).status).toBe(201);
  const demo = await server.call("POST", "/demo", { body: { runtime: "claude" } });
  expect(demo.status).toBe(422);
  expect(demo.body.detail).toContain("drover agents install claude");
  const operator = await server.createToken("operator");
  const install = { token: operator.token };
  expect((await server.call("POST", "/agents/packages/claude/install", install)).status).toBe(403);
  const ofOne = await server.createToken("admin", await server.createProject());
  expect((await server.call("POST", "/agents/packages/claude/install", { token: ofOne.token })).status).toBe(403);
  expect((await server.call("POST", "/agents/packages/nobody/install")).status).toBe(404);
});

test("what is installed is listed with its version, and installing it again changes nothing", async () => {
  await using server = await startTestServer({ config: { agentsDir: AGENTS_CACHE } });
  const { items } = (await server.call("GET", "/agents/packages")).body;
  expect(items.map(({ name }: { name: string }) => name)).toEqual(Object.keys(AGENT_PINS));
  const again = await server.call("POST", "/agents/packages/claude/install");
  expect(again.status).toBe(202);
  expect(again.body).toMatchObject({ state: "installed", version: AGENT_PINS.claude.version, progress_percent: null });
  expect(again.body.size_bytes).toBeGreaterThan(100_000_000);
});

test("the demo with the real Claude works on recorded answers, without a key, and says so", async () => {
  await using server = await startTestServer({ config: { agentsDir: AGENTS_CACHE } });
  const started = await server.call("POST", "/demo", { body: { runtime: "claude" } });
  expect(started.status).toBe(201);
  expect(started.body).toMatchObject({ runtime: "claude", labels: { demo: "true", model: "recorded answers" } });
  const look = async () => {
    const { body } = await server.call("GET", `/sandboxes/${started.body.id}/events?event_type=agent.completed`);
    return JSON.stringify(body.events);
  };
  await expect.poll(look, { timeout: 120_000, interval: 100 }).toContain("126410606437752");
});
