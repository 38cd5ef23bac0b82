/** The real Claude Agent SDK is killed in the middle of a tool; in a new sandbox it remembers everything, and the files are there. */
import type { Sandbox, StoredEvent } from "@drover/contract";
import { beforeAll, expect, test } from "vitest";
import { watchSandboxesOnce } from "../../../server/src/app/watch-sandboxes.ts";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import type { ModelRequest } from "../model/read-request.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn } from "../model/turn.ts";
import { startTestServer, type TestServer } from "../server.ts";

const FACT_MS = 120_000;
const FILE = "/workspace/notes.txt";
const PROMPT = "Keep the number 4711 in notes.txt.";
const GO_ON = "Go on where you stopped.";
const AFTER = "4712, from the second life";
const HANG = 'node -e "setTimeout(() => {}, 3600000)"';
/** The pattern does not match the words that look for it. */
const KILL = `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q 'node .*worker[.]mjs' && kill -9 \${p#/proc/}; done; true`;

beforeAll(() => ensureAgent("claude"));

/** Asked of the request alone, so that a retry, or the last words of the dying process, change nothing. */
function play({ body, toolResults }: ModelRequest): ModelTurn {
  const text = JSON.stringify(body);
  if (text.includes(GO_ON)) {
    if (text.includes(AFTER)) return { text: "Done, again." };
    const input = { file_path: FILE, old_string: "4711", new_string: AFTER };
    return { text: "I remember.", tools: [{ name: "Edit", input }] };
  }
  if (toolResults.length === 0)
    return { text: "I write it down.", tools: [{ name: "Write", input: { file_path: FILE, content: "4711\n" } }] };
  if (toolResults.length === 1)
    return { tools: [{ name: "Bash", input: { command: HANG, description: "Take a while" } }] };
  return { text: "Too late." };
}

const readEvents = async (server: TestServer, id: string) =>
  (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body.events as readonly StoredEvent[];
const dataOf = async (server: TestServer, id: string, type: string) =>
  (await readEvents(server, id)).filter(({ event_type }) => event_type === type).map(({ event_data }) => event_data);

/** Whether what was saved of the agent's memory tells of this tool. */
async function isRemembered(server: TestServer, id: string, tool: string): Promise<boolean> {
  const [use] = (await dataOf(server, id, "agent.tool_use")).filter((data) => data["tool"] === tool);
  if (use === undefined) return false;
  const pieces = (await dataOf(server, id, "agent.transcript_saved")).map(({ artifact }) => artifact as string);
  const texts = await Promise.all(
    pieces.map(async (piece) => (await server.call("GET", `/sandboxes/${id}/artifacts/${piece}`)).text),
  );
  return texts.join("").includes(use["tool_use_id"] as string);
}

test(
  "killed in the middle of a tool, Claude goes on in a new sandbox with its whole memory and its files",
  { timeout: 480_000 },
  async () => {
    await using model = await startScriptedModel({ script: play });
    await using server = await startTestServer({ config: { agentsDir: AGENTS_CACHE, anthropicBaseUrl: model.url } });
    const body = {
      provider: "local",
      runtime: "claude",
      model: "claude-sonnet-4-5",
      prompt: PROMPT,
      permission_policy: { decision: "allow" },
    };
    const created = await server.call("POST", "/sandboxes", { body });
    expect(created).toMatchObject({ status: 201 });
    const { id: first } = created.body as Sandbox;
    await expect.poll(() => isRemembered(server, first, "Bash"), { timeout: FACT_MS, interval: 200 }).toBe(true);

    await server.call("POST", `/sandboxes/${first}/exec`, { body: { argv: ["sh", "-c", KILL] } });
    const look = async () => {
      await watchSandboxesOnce(server.deps, new AbortController().signal);
      return (await server.call("GET", `/sandboxes/${first}`)).body as Sandbox;
    };
    await expect
      .poll(look, { timeout: FACT_MS, interval: 200 })
      .toMatchObject({ state: "failed", state_cause: "worker killed by SIGKILL" });

    const resumed = await server.call("POST", "/sandboxes", { body: { resume_from: first } });
    expect(resumed).toMatchObject({ status: 201, body: { runtime: "claude", provider: "local", prompt: PROMPT } });
    const { id: second } = resumed.body as Sandbox;
    const isDone = async () => (await dataOf(server, second, "agent.completed")).length;
    await expect.poll(isDone, { timeout: FACT_MS, interval: 200 }).toBe(1);

    const [saved] = await dataOf(server, first, "agent.transcript_saved");
    expect(await dataOf(server, second, "agent.resumed")).toMatchObject([
      { how: "native", from: first, files: "restored", session_id: saved?.["session_id"] },
    ]);
    expect(await dataOf(server, second, "agent.started")).toMatchObject([{ is_resuming: true, resume: "native" }]);
    const asked = JSON.stringify(model.requests.find(({ body: asked }) => JSON.stringify(asked).includes(GO_ON))?.body);
    for (const remembered of [PROMPT, "I write it down.", "4711", "setTimeout(() => {}, 3600000)"])
      expect(asked).toContain(JSON.stringify(remembered).slice(1, -1));
    // An edit of a file that it has not read in this life: only who remembers may.
    expect(await dataOf(server, second, "agent.file_edited")).toMatchObject([
      { file_path: "notes.txt", change_type: "modified", lines_added: 1, lines_removed: 1 },
    ]);
    const { body: read } = await server.call("POST", `/sandboxes/${second}/exec`, { body: { argv: ["cat", FILE] } });
    expect(read).toMatchObject({ stdout: `${AFTER}\n` });
  },
);
