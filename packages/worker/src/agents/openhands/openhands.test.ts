/** The OpenHands runtime against an agent server that speaks its protocol. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Assignment } from "@drover/contract";
import { describe, expect } from "vitest";
import { isOnThisMachine, uniqueNap } from "../../../../testkit/src/conformance/sandbox/given.ts";
import {
  type OpenHandsServer,
  type OpenHandsServerOptions,
  startOpenHandsServer,
} from "../../../../testkit/src/openhands/agent-server.ts";
import type { Peer } from "../../fixtures/peer.ts";
import { test as base } from "../../fixtures/worker-test.ts";

interface Given {
  readonly steps: readonly object[];
  readonly server?: OpenHandsServerOptions;
  readonly assignment?: Partial<Assignment>;
}
interface Run {
  readonly peer: Peer;
  readonly server: OpenHandsServer;
  again(): void;
  end(): Promise<unknown>;
}

const KEY = "a-session-key";

const test = base.extend<{ start: (given: Given) => Promise<Run> }>({
  start: async ({ rig }, use) => {
    const servers: OpenHandsServer[] = [];
    await use(async ({ steps, server: options = {}, assignment = {} }) => {
      const server = await startOpenHandsServer({ key: KEY, ...options });
      servers.push(server);
      const peer = await rig.peer({ runtime: "openhands", prompt: JSON.stringify(steps), ...assignment });
      const run = () => rig.run(peer, { OPENHANDS_URL: server.url, OPENHANDS_SESSION_API_KEY: KEY });
      let running = run();
      return { peer, server, end: () => running.end(), again: () => void (running = run()) };
    });
    for (const server of servers) await server[Symbol.asyncDispose]();
  },
});

const ALLOW = { agent: { permission_policy: { decision: "allow" as const, rules: [] } } };
const ASK = { agent: { permission_policy: { decision: "ask" as const, rules: [] } } };
const has = (peer: Peer, type: string, count = 1) => peer.data(type).length >= count;
const waits = (peer: Peer) => peer.until(() => has(peer, "agent.waiting"));
const texts = (peer: Peer) => peer.data("agent.message").map((data) => data["content"]);
const inTool = (peer: Peer) => peer.until(() => has(peer, "agent.tool_use"));

describe.for([
  ["the numbered socket", {}, "session"],
  ["the older socket", { isOld: true }, "events"],
] as const)("%s", ([, options, kind]) => {
  test("a run is told as events, with its tools, files and cost", async ({ start, rig }) => {
    const { peer, server } = await start({
      steps: [{ think: "Hm." }, { say: "I work." }, { write: { path: "a.txt", content: "one" } }, { finish: "Done." }],
      server: options,
      assignment: ALLOW,
    });
    await waits(peer);
    expect(texts(peer)).toEqual(["I work.", "Done."]);
    expect(peer.data("agent.thinking")).toMatchObject([{ content: "Hm." }]);
    expect(peer.data("agent.tool_use")).toMatchObject([{ turn: 1, tool: "Edit", input: { path: "a.txt" } }]);
    expect(peer.data("agent.tool_result")).toMatchObject([{ tool: "Edit", result: "created a.txt", is_error: false }]);
    expect(peer.data("agent.completed")).toMatchObject([
      { success: true, cost_usd: 0.002, input_tokens: 100, final_output: "Done." },
    ]);
    expect(readFileSync(join(rig.cwd, "a.txt"), "utf8")).toBe("one");
    expect(server.opened).toContain(kind);
    expect(server.started).toMatchObject([
      { agent: { llm: { api_key: "not-a-key" } }, confirmation_policy: { kind: "NeverConfirm" } },
    ]);
  });

  test("a connection that breaks loses and repeats nothing", async ({ start }) => {
    const { peer, server } = await start({
      steps: [{ say: "one" }, { drop: true }, { say: "two" }, { hold: "go" }, { say: "three" }],
      server: options,
      assignment: ALLOW,
    });
    await inTool(peer);
    server.drop();
    server.release("go");
    await waits(peer);
    expect(texts(peer)).toEqual(["one", "two", "three"]);
    expect(peer.data("agent.tool_result")).toHaveLength(1);
    expect(server.opened.filter((one) => one === kind).length).toBeGreaterThanOrEqual(2);
  });
});

test("a message steers the run, and an interrupt ends it; the next message goes on with it", async ({ start }) => {
  const { peer, server } = await start({
    steps: [{ hold: "go" }, { tell_messages: true }, { hold: "never" }],
    assignment: ALLOW,
  });
  await inTool(peer);
  const message = peer.queue("also this");
  await peer.until(() => message.acks.some(({ status }) => status === "seen"));
  server.release("go");
  await peer.until(() => has(peer, "agent.tool_use", 2));
  expect(texts(peer)).toEqual(["Told: also this"]);
  peer.queue("stop", { type: "interrupt" });
  await waits(peer);
  expect(peer.data("agent.interrupted")).toMatchObject([{ was_running: true }]);
  expect(peer.data("agent.tool_result").at(-1)).toMatchObject({ is_error: true, result: "Interrupted." });
  peer.queue("go on");
  await peer.until(() => has(peer, "agent.completed"));
  expect(texts(peer).at(-1)).toBe("You said: go on");
});

test("a worker that ends before its message is answered leaves no command behind", async ({ start }) => {
  const nap = uniqueNap();
  const { server, end } = await start({
    steps: [{ run: `exec sleep ${nap}` }],
    server: { holdsAnswers: "answers" },
    assignment: ALLOW,
  });
  await expect.poll(() => isOnThisMachine(`sleep\0${nap}`), { timeout: 30_000 }).toBe(true);
  await end();
  await expect.poll(() => isOnThisMachine(nap), { timeout: 30_000 }).toBe(false);
  server.release("answers");
});

test("confirmations are permission requests", async ({ start, rig }) => {
  const { peer } = await start({
    steps: [{ write: { path: "a.txt", content: "1" } }, { write: { path: "b.txt", content: "2" } }],
    assignment: ASK,
  });
  for (const [count, decision] of [
    [1, "deny"],
    [2, "allow"],
  ] as const) {
    await peer.until(() => has(peer, "agent.permission_requested", count));
    const request_id = peer.data("agent.permission_requested")[count - 1]?.["request_id"];
    peer.queue(JSON.stringify({ request_id, decision }), { type: "permission_answer" });
  }
  await waits(peer);
  expect(peer.data("agent.tool_result").map((one) => one["is_error"])).toEqual([true, false]);
  expect([existsSync(join(rig.cwd, "a.txt")), existsSync(join(rig.cwd, "b.txt"))]).toEqual([false, true]);
});

test("a worker that is started again goes on with the conversation, and tells nothing twice", async ({ start }) => {
  const run = await start({ steps: [{ say: "first" }], assignment: ALLOW });
  await waits(run.peer);
  await run.end();
  run.again();
  run.peer.queue("second");
  await run.peer.until(() => has(run.peer, "agent.completed", 2));
  expect(texts(run.peer)).toEqual(["first", "You said: second"]);
  expect(run.server.started).toHaveLength(1);
});

test.for([
  [{ fail: "no model answers" }, "LLMError: no model answers"],
  [{ stuck: true }, "the agent is stuck"],
] as const)("%j fails the work, with its reason", async ([step, reason], { start }) => {
  const { peer } = await start({ steps: [step], assignment: ALLOW });
  await peer.until(() => has(peer, "agent.failed"));
  expect(peer.data("agent.failed")).toMatchObject([{ error: reason }]);
});

test("a wrong key is told as agent.failed", async ({ start }) => {
  const { peer } = await start({ steps: [], server: { key: "another" } });
  await peer.until(() => has(peer, "agent.failed"));
  expect(String(peer.data("agent.failed")[0]?.["error"])).toContain("401");
});

test("a server that is named nowhere is told as agent.failed", async ({ rig }) => {
  const peer = await rig.peer({ runtime: "openhands" });
  expect(await rig.run(peer).exit).toMatchObject({ code: 1 });
  expect(String(peer.data("agent.failed")[0]?.["error"])).toContain("OPENHANDS_URL");
});
