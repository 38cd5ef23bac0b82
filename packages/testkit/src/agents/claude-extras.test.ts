/** What Claude brings along: sub-agents, skills, servers of tools, instructions of the repository. And a tool that takes five
 *  minutes of injected time. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished } from "vitest";
import { decideCondition, foldWatch, NO_WATCH_FACTS } from "@drover/core";
import type { JsonObject } from "@drover/contract";
import { createBell } from "../../../worker/src/bell.ts";
import { createClaude } from "../../../worker/src/agents/claude/claude.ts";
import { createManualClock, type ManualClock } from "../../../worker/src/fixtures/manual-clock.ts";
import { test } from "../../../worker/src/fixtures/worker-test.ts";
import { Run, waitFor } from "../conformance/agent-runtime/run.ts";
import { ensureAgent } from "../ensure-agent.ts";
import type { ModelRequest } from "../model/read-request.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import { CLAUDE_SUBJECT } from "./claude-subject.ts";

const MCP_SERVER = `
import { createInterface } from "node:readline";
const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "probe", version: "1" } });
  else if (method === "tools/list")
    reply(id, { tools: [{ name: "measure", description: "Measures.", inputSchema: { type: "object", properties: {} } }] });
  else if (method === "tools/call") reply(id, { content: [{ type: "text", text: "measured 42" }] });
  else if (id !== undefined) reply(id, {});
}
`;

const HELPER = "You are the helper of this test.";

beforeAll(() => ensureAgent("claude"));

/** Keyed on what was answered, because the sub-agent asks too. */
function play(request: ModelRequest) {
  if (request.system.includes(HELPER)) return { text: "The helper was here." };
  const done = request.toolResults.length;
  const agent = { description: "Help", prompt: "Be helpful.", subagent_type: "helper", run_in_background: false };
  if (done === 0) return { tools: [{ name: "Agent", input: agent }] };
  if (done === 1) return { tools: [{ name: "Skill", input: { skill: "greet" } }] };
  return done === 2 ? { tools: [{ name: "mcp__probe__measure", input: {} }] } : { text: "All were here." };
}

test("a sub-agent, a skill, a server of tools and AGENTS.md are used, each told as what it is", async () => {
  const run = await Run.start(
    {
      ...CLAUDE_SUBJECT,
      async prepare(_plan, cwd) {
        await mkdir(join(cwd, ".claude/skills/greet"), { recursive: true });
        await writeFile(
          join(cwd, ".claude/skills/greet/SKILL.md"),
          "---\nname: greet\ndescription: Greets people.\n---\nSay good morning in Basque.\n",
        );
        await writeFile(join(cwd, "AGENTS.md"), "Never use the blue paint.\n");
        await writeFile(join(cwd, "mcp.mjs"), MCP_SERVER);
        const model = await startScriptedModel({ script: play });
        return {
          order: {
            agentHome: await ensureAgent("claude"),
            bridgeUrl: model.url,
            model: "claude-sonnet-4-5",
            subagents: { helper: { description: "Helps.", prompt: HELPER } },
            mcpServers: {
              probe: { type: "stdio", command: process.execPath, args: [join(cwd, "mcp.mjs")], env: {} },
            },
          },
          model,
          close: async () => model[Symbol.asyncDispose](),
        };
      },
    },
    { first: [] },
  );
  onTestFinished(() => run.dispose());
  await run.untilCount("agent.waiting");
  expect(run.isInRequest(1, "Never use the blue paint.")).toBe(true);
  expect(run.of("agent.subagent_invoked")).toMatchObject([{ subagent_type: "helper", subagent_prompt: "Be helpful." }]);
  expect(run.of("agent.subagent_completed")).toMatchObject([
    {
      description: "Help",
      subagent_result: expect.stringContaining("The helper was here."),
      subagent_usage: expect.objectContaining({ output_tokens: expect.any(Number) }),
      subagent_duration_ms: expect.any(Number),
    },
  ]);
  expect(run.of("agent.skill_invoked")).toMatchObject([{ skill_name: "greet" }]);
  expect(run.of("agent.skill_completed")).toMatchObject([{ skill_name: "greet" }]);
  expect(run.model?.requests.some(({ body }) => JSON.stringify(body).includes("good morning in Basque"))).toBe(true);
  expect(run.of("agent.tool_use")).toMatchObject([{ tool: "mcp__probe__measure" }]);
  expect(JSON.stringify(run.of("agent.tool_result"))).toContain("measured 42");
  expect(run.of("agent.completed")).toMatchObject([{ final_output: "All were here." }]);
});

const BEAT_MS = 30_000;
const LIMITS = {
  heartbeatMs: BEAT_MS,
  deadMs: 120_000,
  idleMs: 180_000,
  stuckMs: 600_000,
  afterCompletionMs: 3_600_000,
  graceMs: 60_000,
  isQuietWatched: true,
};

test("a tool that takes five minutes is told by a heartbeat every 30 s, and raises no alarm", async ({ rig }) => {
  const clock = createManualClock();
  const between = createBell();
  const ticking: ManualClock = {
    ...clock,
    sleep: (ms, signal) => {
      if (ms === BEAT_MS) between.ring();
      return clock.sleep(ms, signal);
    },
  };
  await using model = await startScriptedModel({
    script: [
      { tools: [{ name: "Bash", input: { command: `touch begun; ${waitFor("go")}`, description: "Wait" } }] },
      { text: "It took a while." },
    ],
  });
  const agentHome = await ensureAgent("claude");
  const claude = createClaude();
  const peer = await rig.peer({ runtime: "claude", model: "claude-sonnet-4-5", heartbeat_interval_s: 30 });
  rig.run(
    peer,
    {},
    {
      clock: ticking,
      runtimes: {
        claude: {
          ...claude,
          start: (order, signal) => claude.start({ ...order, agentHome, bridgeUrl: model.url }, signal),
        },
      },
    },
  );
  const beats = () => peer.data("agent.heartbeat");
  await peer.until(() => peer.types().includes("agent.tool_use"));
  const before = beats().length;
  for (let beat = 1; beat <= 10; beat += 1) {
    await between.wait();
    clock.advance(BEAT_MS);
    await expect.poll(() => beats().length, { timeout: 60_000 }).toBeGreaterThanOrEqual(before + beat);
  }
  expect(beats().at(-1)).toMatchObject({ status: "running", tool: "Bash", tool_age_s: 300 });
  const times = beats().map((data) => Date.parse(String(data["timestamp"])));
  expect(Math.max(...times.slice(1).map((time, index) => time - (times[index] ?? 0)))).toBe(BEAT_MS);

  // As the server's watch reads it.
  const facts = peer.events.reduce(
    (known, { event_type, event_data, source }, index) =>
      foldWatch(known, {
        seq: index + 1,
        event_type,
        event_data: event_data as JsonObject,
        source: source ?? "agent",
        atMs: typeof event_data["timestamp"] === "string" ? Date.parse(event_data["timestamp"]) : (times[0] ?? 0),
      }),
    NO_WATCH_FACTS,
  );
  const { condition } = decideCondition(
    { state: "running", startedMs: times[0] ?? 0, facts },
    LIMITS,
    clock.now().getTime(),
  );
  expect(["alive", "busy"]).toContain(condition);

  await writeFile(join(rig.cwd, "go"), "");
  await peer.until(() => peer.types().includes("agent.completed"));
  expect(peer.types()).not.toContain("agent.failed");
});
