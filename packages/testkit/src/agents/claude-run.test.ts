/** The reference run with the real Claude Agent SDK in a real sandbox: a file is written, run, mended and run again, offline,
 *  through the gateway, on a model that is played. */
import { randomBytes } from "node:crypto";
import type { Sandbox, StoredEvent } from "@drover/contract";
import { beforeAll, expect, test } from "vitest";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import { startTestServer, type TestServer } from "../server.ts";

const FACT_MS = 120_000;
const FILE = "/workspace/binomial.py";
const WRONG = "from math import factorial as f\n\nprint(int(f(50) / f(25) / f(24)))\n";

const SCRIPT = [
  { text: "I write it.", tools: [{ name: "Write", input: { file_path: FILE, content: WRONG } }] },
  { tools: [{ name: "Bash", input: { command: "python3 binomial.py", description: "Run it" } }] },
  {
    text: "That is not it: I divide by the wrong factorial, and by floats.",
    tools: [
      {
        name: "Edit",
        input: {
          file_path: FILE,
          old_string: "int(f(50) / f(25) / f(24))",
          new_string: "f(50) // f(25) // f(25)",
        },
      },
    ],
  },
  { tools: [{ name: "Bash", input: { command: "python3 binomial.py", description: "Run it again" } }] },
  { text: "C(50,25) = 126410606437752." },
];

beforeAll(() => ensureAgent("claude"));

async function readEvents(server: TestServer, id: string): Promise<readonly StoredEvent[]> {
  return (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body.events;
}

async function untilEvent(server: TestServer, id: string, type: string): Promise<void> {
  const look = async () => (await readEvents(server, id)).map(({ event_type }) => event_type);
  await expect.poll(look, { timeout: FACT_MS, interval: 100 }).toContain(type);
}

test("C(50,25) is computed in a local sandbox: started, tools, two edits, completed, heartbeats, usage; and no key inside", async () => {
  const key = `sk-ant-${randomBytes(12).toString("hex")}`;
  await using model = await startScriptedModel({ script: SCRIPT });
  await using server = await startTestServer({
    config: {
      agentsDir: AGENTS_CACHE,
      anthropicBaseUrl: model.url,
      anthropicApiKey: key,
      heartbeatIntervalSeconds: 0.5,
    },
  });
  const body = {
    provider: "local",
    runtime: "claude",
    model: "claude-sonnet-4-5",
    prompt: "Compute C(50,25) with binomial.py.",
  };
  const created = await server.call("POST", "/sandboxes", { body });
  expect(created.status).toBe(201);
  const { id } = created.body as Sandbox;
  await untilEvent(server, id, "agent.completed");
  const events = await readEvents(server, id);
  const of = (type: string) => events.filter(({ event_type }) => event_type === type).map((one) => one.event_data);

  expect(of("agent.started")).toHaveLength(1);
  expect(of("agent.started")[0]).toMatchObject({ sdk: "claude", permission_mode: "acceptEdits", turn: 0 });
  expect(of("agent.tool_use").map((data) => data["tool"])).toEqual(["Write", "Bash", "Edit", "Bash"]);
  expect(of("agent.file_edited")).toMatchObject([
    { file_path: "binomial.py", change_type: "created", turn: 1 },
    { file_path: "binomial.py", change_type: "modified", turn: 1 },
  ]);
  const ids = of("agent.tool_use").map((data) => data["tool_use_id"]);
  expect(of("agent.file_edited").map((data) => data["tool_use_id"])).toEqual([ids[0], ids[2]]);
  expect(of("agent.tool_result").at(-1)).toMatchObject({ result: "126410606437752", is_error: false });
  expect(of("agent.completed")).toMatchObject([{ success: true, final_output: "C(50,25) = 126410606437752." }]);
  expect(of("agent.heartbeat").length).toBeGreaterThanOrEqual(1);
  expect(of("agent.usage")).toHaveLength(SCRIPT.length);

  // The vendor is asked with the key, and nobody else sees it.
  expect(model.requests.every(({ headers }) => headers["x-api-key"] === key)).toBe(true);
  expect(JSON.stringify(events)).not.toContain(key);
  const look =
    'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" "\\n"; grep -ra sk-ant- /home/agent /workspace';
  const { body: seen } = await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["sh", "-c", look] } });
  expect(seen.stdout).toContain("ANTHROPIC_BASE_URL");
  expect(seen.stdout).not.toContain(key);
  expect(seen.stdout).not.toContain("drv_s_");
});
