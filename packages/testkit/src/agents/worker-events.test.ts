/** Every event that the contract knows of an agent is sent by a worker at work: the real SDK, on a model that is played. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ContinuousOptions, type NewEvent, WORKER_EVENTS } from "@drover/contract";
import { beforeAll, describe, expect } from "vitest";
import { createClaude } from "../../../worker/src/agents/claude/claude.ts";
import type { Peer } from "../../../worker/src/fixtures/peer.ts";
import { type Rig, test } from "../../../worker/src/fixtures/worker-test.ts";
import { waitFor } from "../conformance/agent-runtime/run.ts";
import { ensureAgent } from "../ensure-agent.ts";
import type { ModelRequest } from "../model/read-request.ts";
import { type ModelScript, type ScriptedModel, startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn } from "../model/turn.ts";

const HELPER = "You are the helper of this test.";
const SKILL = "---\nname: greet\ndescription: Greets people.\n---\nSay good morning in Basque.\n";
const COMMIT = "git add made.txt && git -c user.name=a -c user.email=a@b commit -qm made";
/** Longer than what is told of a result twice. */
const LONG = "head -c 1200 /dev/zero | tr '\\0' x";

const FREE = { permission_policy: { decision: "allow" } };

const bash = (command: string): ModelTurn => ({
  tools: [{ name: "Bash", input: { command, description: "a command" } }],
});

/** Each time: what is refused once is asked again. */
const REFUSED: ModelTurn = {
  error: { status: 400, body: { type: "error", error: { type: "invalid_request_error", message: "no" } } },
};

beforeAll(() => ensureAgent("claude"));

async function makeWorkspace({ cwd }: Rig): Promise<void> {
  await mkdir(join(cwd, ".claude/skills/greet"), { recursive: true });
  await writeFile(join(cwd, ".claude/skills/greet/SKILL.md"), SKILL);
  execFileSync("git", ["init", "-q"], { cwd });
  const author = ["-c", "user.name=a", "-c", "user.email=a@b"];
  execFileSync("git", [...author, "commit", "-q", "--allow-empty", "-m", "start"], { cwd });
}

/** A worker with Claude; `more` of its assignment. */
async function startWorker(rig: Rig, model: ScriptedModel, more: object) {
  const agentHome = await ensureAgent("claude");
  const claude = createClaude();
  const peer = await rig.peer({ runtime: "claude", model: "claude-sonnet-4-5", ...more });
  const runtime = {
    ...claude,
    start: (order: Parameters<typeof claude.start>[0], signal: AbortSignal) =>
      claude.start({ ...order, agentHome, bridgeUrl: model.url }, signal),
  };
  const worker = rig.run(peer, {}, { runtimes: { claude: runtime } });
  /** Ends the worker once it has said this. */
  const endAfter = async (type: string) => {
    await peer.until(() => peer.types().includes(type));
    await worker.end();
  };
  return { peer, endAfter };
}

/** Two iterations: a model that refuses, then everything a turn can hold; a message comes while the last tool runs. */
function playWork(cwd: string): ModelScript {
  return (request: ModelRequest): ModelTurn => {
    if (request.system.includes(HELPER)) return { text: "The helper was here." };
    if (request.toolNames.length === 0) return { text: "ok" };
    if (!JSON.stringify(request.texts).includes("The work is not done yet")) return REFUSED;
    const agent = { description: "Help", prompt: "Be helpful.", subagent_type: "helper", run_in_background: false };
    const turns: readonly ModelTurn[] = [
      { thinking: "Who could help?", tools: [{ name: "Agent", input: agent }] },
      { tools: [{ name: "Skill", input: { skill: "greet" } }] },
      { tools: [{ name: "Write", input: { file_path: join(cwd, "made.txt"), content: "made\n" } }] },
      bash(`touch begun; ${waitFor("go")}; ${LONG}; ${COMMIT}`),
    ];
    return turns[request.toolResults.length] ?? { text: "TASK_COMPLETE" };
  };
}

/** In a turn that goes wrong in every way: the process dies in a tool, is interrupted in the next, and is refused at last. */
function playTrouble(): ModelScript {
  const turns = [bash("[ -e died ] || { touch died; kill -9 $PPID; }"), bash("touch begun; sleep 600")];
  return (request: ModelRequest): ModelTurn => turns[request.toolResults.length] ?? REFUSED;
}

/** What it said stands in the failure. */
async function untilBegun(rig: Rig, peer: Peer): Promise<void> {
  const look = () => [existsSync(join(rig.cwd, "begun")), peer.types(), peer.data("agent.failed")];
  await expect.poll(look, { timeout: 60_000 }).toEqual([true, expect.anything(), []]);
}

const sent: NewEvent[] = [];
/** Null in these runs: known to the server alone, or nobody asked for it to be looked at, or nothing was gone on with. */
const UNKNOWN =
  /: (?:pr_\w+|ci_status|tests_passed|code_pushed|subagent_cost_usd|sender_id|ticket_title|resumed_session_id|branch_name)$|iteration.started: code_committed$/;
const turnsOf = ({ events }: Peer) => events.map(({ event_data }) => Number(event_data["turn"] ?? 0));

describe("what a worker tells", () => {
  test("work in iterations: a sub-agent, a skill, a file, a message, the word of the end", async ({ rig }) => {
    await makeWorkspace(rig);
    await using model = await startScriptedModel({ script: playWork(rig.cwd) });
    const { peer, endAfter } = await startWorker(rig, model, {
      continuous: true,
      continuous_options: ContinuousOptions.parse({ require: ["committed"] }),
      agent: { ...FREE, subagents: { helper: { description: "Helps.", prompt: HELPER } } },
    });
    await untilBegun(rig, peer);
    const message = peer.queue("Hurry up.");
    await peer.until(() => message.acks.some(({ status }) => status === "delivered"));
    await writeFile(join(rig.cwd, "go"), "");
    await endAfter("agent.completed");
    sent.push(...peer.events);

    expect(peer.data("agent.processing").filter(({ message_id: id }) => id === message.id)).toMatchObject([
      { message_type: "user_message", turn: 2 },
    ]);
    expect(peer.data("iteration.completion_signal")).toMatchObject([
      { iteration_num: 2, signal_count: 1, threshold: 1, turn: 2 },
    ]);
    // One beside each result, of the same call, bounded; and none is looked at twice.
    const results = peer.data("agent.tool_result");
    expect(peer.data("agent.user_tool_result").map((data) => data["tool_use_id"])).toEqual(
      results.map((data) => data["tool_use_id"]),
    );
    expect(peer.data("agent.user_tool_result").at(-1)).toMatchObject({
      result: expect.stringMatching(/^.{1,500}$/s),
      result_truncated: true,
      turn: 2,
    });
    expect(results.at(-1)).toMatchObject({ result_truncated: false });
    expect(peer.data("continuous.completed")).toMatchObject([{ stop_reason: "validation_passed" }]);
    const turns = turnsOf(peer);
    expect(Math.max(...turns)).toBe(2);
  });

  test("trouble: a process that dies, an interrupt, a model that refuses", async ({ rig }) => {
    await makeWorkspace(rig);
    await using model = await startScriptedModel({ script: playTrouble() });
    const { peer, endAfter } = await startWorker(rig, model, { agent: FREE });
    await untilBegun(rig, peer);
    peer.queue("Enough.", { type: "interrupt" });
    await peer.until(() => peer.types().includes("agent.interrupted"));
    peer.queue("Go on.");
    await endAfter("agent.failed");
    sent.push(...peer.events);
    expect(peer.data("agent.stream_error")).toMatchObject([{ error_type: "sigkill", turn: 1 }]);
    expect(peer.data("agent.failed")).toMatchObject([{ turn: 2 }]);
  });

  test("trouble that a script tells of", async ({ rig }) => {
    const peer = await rig.peer({ script: { steps: [{ error: "no such thing" }] }, post_completion_s: 0.01 });
    await rig.run(peer).exit;
    sent.push(...peer.events);
    expect(peer.types()).toContain("agent.error");
  });

  test("is every event that the contract knows, from whom and with what it says", () => {
    const lacking = Object.entries(WORKER_EVENTS).flatMap(([type, { source, fields }]) => {
      const told = sent.filter((event) => event.event_type === type && event.source === source);
      const known = new Set(
        told.flatMap(({ event_data }) => Object.keys(event_data).filter((field) => event_data[field] !== null)),
      );
      return ["turn", ...fields].filter((field) => !known.has(field)).map((field) => `${source}: ${type}: ${field}`);
    });
    expect(lacking.filter((one) => !UNKNOWN.test(one))).toEqual([]);
  });

  test("has all fields of its type in every single event, whatever agent it is of", () => {
    const lacking = sent.flatMap(({ event_type: type, event_data }) => {
      const fields = WORKER_EVENTS[type]?.fields ?? [];
      return ["turn", ...fields].filter((field) => event_data[field] === undefined).map((field) => `${type}: ${field}`);
    });
    expect([...new Set(lacking)]).toEqual([]);
  });
});
