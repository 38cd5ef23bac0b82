/** The reference run with the real Claude Agent SDK in a real sandbox: a file is written, run, mended and run again, offline,
 *  through the gateway, on a model that is played. And spoken to while it works. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { startDocker } from "../docker.ts";
import { ensureAgent } from "../ensure-agent.ts";
import { type ClaudeRun, startClaude } from "./claude-sandbox.ts";

const ANSWER = "126410606437752";

/** In a language that the sandbox has. */
const PROGRAMS = {
  python: {
    file: "binomial.py",
    wrong: "from math import factorial as f\n\nprint(int(f(50) / f(25) / f(24)))\n",
    find: "int(f(50) / f(25) / f(24))",
    replace: "f(50) // f(25) // f(25)",
    command: "python3 binomial.py",
  },
  node: {
    file: "binomial.mjs",
    wrong: "const f = (n) => (n < 2n ? 1n : n * f(n - 1n));\nconsole.log(String(f(50n) / f(25n) / f(24n)));\n",
    find: "f(25n) / f(24n)",
    replace: "f(25n) / f(25n)",
    command: "node binomial.mjs",
  },
} as const;

function toScript({ file, wrong, find, replace, command }: (typeof PROGRAMS)[keyof typeof PROGRAMS]) {
  const path = `/workspace/${file}`;
  const run = { name: "Bash", input: { command, description: "Run it" } };
  return [
    { text: "I write it.", tools: [{ name: "Write", input: { file_path: path, content: wrong } }] },
    { tools: [run] },
    {
      text: "That is not it.",
      tools: [{ name: "Edit", input: { file_path: path, old_string: find, new_string: replace } }],
    },
    { tools: [run] },
    { text: `C(50,25) = ${ANSWER}.` },
  ];
}

async function expectReferenceRun(run: ClaudeRun, file: string): Promise<void> {
  await run.untilCount("agent.completed");
  expect(await run.of("agent.started")).toMatchObject([{ sdk: "claude", permission_mode: "acceptEdits", turn: 0 }]);
  const uses = await run.of("agent.tool_use");
  expect(uses.map((data) => data["tool"])).toEqual(["Write", "Bash", "Edit", "Bash"]);
  const ids = uses.map((data) => data["tool_use_id"]);
  expect(await run.of("agent.file_edited")).toMatchObject([
    { file_path: file, change_type: "created", turn: 1, tool_use_id: ids[0] },
    { file_path: file, change_type: "modified", turn: 1, tool_use_id: ids[2] },
  ]);
  expect((await run.of("agent.tool_result")).at(-1)).toMatchObject({ result: ANSWER, is_error: false });
  expect(await run.of("agent.completed")).toMatchObject([{ success: true, final_output: `C(50,25) = ${ANSWER}.` }]);
  expect((await run.of("agent.heartbeat")).length).toBeGreaterThanOrEqual(1);
  // Written by the gateway, which may be a moment behind the worker.
  await run.untilCount("agent.usage", 5);
  expect(await run.of("agent.usage")).toHaveLength(5);
}

beforeAll(() => ensureAgent("claude"));

test("C(50,25) is computed in a local sandbox: two edits, completed, heartbeats, usage; and no key inside", async () => {
  const key = `sk-ant-${randomBytes(12).toString("hex")}`;
  const config = { anthropicApiKey: key, heartbeatIntervalSeconds: 0.5 };
  await using run = await startClaude(toScript(PROGRAMS.python), { prompt: "Compute C(50,25)." }, config);
  await expectReferenceRun(run, "binomial.py");

  // The vendor is asked with the key, and nobody else sees it.
  expect(run.model.requests.every(({ headers }) => headers["x-api-key"] === key)).toBe(true);
  expect(JSON.stringify(await run.events())).not.toContain(key);
  const seen = await run.shell(
    'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n"; grep -rah sk-ant- /home/agent /workspace; echo looked',
  );
  expect(seen).toContain("ANTHROPIC_BASE_URL");
  expect(seen).toContain("looked");
  expect(seen).not.toContain(key);
  expect(seen).not.toContain("drv_s_");
});

test("C(50,25) is computed in a container", async () => {
  await using engine = await startDocker();
  const config = { dockerHost: engine.host, sandboxImage: engine.image, heartbeatIntervalSeconds: 0.5 };
  const input = { provider: "docker", prompt: "Compute C(50,25).", resources: { memory_gb: 2 } } as const;
  await using run = await startClaude(toScript(PROGRAMS.node), input, config);
  await expectReferenceRun(run, "binomial.mjs");
});

test("a message sent while a tool runs is in the model's next request, and its receipt says so; an interrupt keeps the session", async () => {
  const wait = (name: string) => ({
    name: "Bash",
    input: { command: `touch begun-${name}; until [ -e ${name} ]; do sleep 0.05; done`, description: "Wait" },
  });
  await using run = await startClaude([
    { tools: [wait("one")] },
    { text: "I use the other door.", tools: [wait("two")] },
    { text: "Now I am back." },
  ]);
  await run.untilFile("/workspace/begun-one");
  const steered = await run.send("Use the other door.");
  await expect.poll(async () => (await run.message(steered))?.state, { timeout: 60_000 }).toBe("delivered");
  await run.shell("touch /workspace/one");
  const second = await run.model.nthRequest(2);
  expect(JSON.stringify(second.body)).toContain("Use the other door.");
  await expect.poll(async () => await run.message(steered), { timeout: 60_000 }).toMatchObject({ state: "seen" });

  await run.untilFile("/workspace/begun-two");
  await run.send("Enough.", { message_type: "interrupt" });
  await run.untilCount("agent.interrupted");
  expect(await run.of("agent.interrupted")).toMatchObject([{ reason: "Enough.", was_running: true, turn: 1 }]);
  expect(await run.of("agent.completed")).toEqual([]);

  const last = await run.send("Go on.");
  await run.untilCount("agent.completed");
  const third = JSON.stringify((await run.model.nthRequest(3)).body);
  for (const words of ["Do as planned.", "Use the other door.", "Go on."]) expect(third).toContain(words);
  await expect.poll(async () => (await run.message(last))?.state, { timeout: 60_000 }).toBe("seen");
  expect((await run.of("agent.message")).at(-1)).toMatchObject({ content: "Now I am back.", turn: 2 });
});
