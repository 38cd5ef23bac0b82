/** The agent server as people start it, driven by the published OpenHands client, by Drover's own worker, and by hand. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { expect, test as base } from "vitest";
import { WebSocket } from "ws";
import { startScriptedModel, type ScriptedModel } from "../../../testkit/src/model/scripted-model.ts";
import {
  callAgentServer as call,
  SESSION_KEY as KEY,
  startAgentServerProcess as startBinary,
} from "../../../testkit/src/openhands/agent-server-process.ts";
import { startTestServer } from "../../../testkit/src/server.ts";
import { startReceiver } from "../../../testkit/src/webhook-receiver.ts";
import { startWorker } from "../../../testkit/src/worker-in-process.ts";

// Its socket looks for the package of Node by `require`, which an ES module has not.
Object.assign(globalThis, { require: createRequire(import.meta.url) });
const { Agent, Conversation, Workspace } = await import("@openhands/typescript-client");

const MODEL_KEY = "sk-the-key-of-the-model";
const EDITOR = "https://editor.example";
const FACT = { timeout: 60_000, interval: 50 };

/** What is answered to bytes that no client of HTTP would send. */
async function say(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.end(bytes);
  return text(socket);
}

const test = base.extend<{ folder: string; model: ScriptedModel }>({
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "drover-agent-server-"));
    await use(folder);
    await rm(folder, { recursive: true, force: true });
  },
  model: async ({}, use) => {
    await using model = await startScriptedModel();
    await use(model);
  },
});

const run = (command: string) => ({ tools: [{ name: "terminal", input: { command } }] });
const create = (path: string, file_text: string) => ({
  tools: [{ name: "file_editor", input: { command: "create", path, file_text } }],
});
interface Stats {
  readonly usage_to_metrics: {
    readonly agent: {
      readonly accumulated_cost: number;
      readonly accumulated_token_usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
  };
}

/** The shape of the documents. */
const toAgent = (model: ScriptedModel) => ({
  discriminator: "Agent",
  llm: {
    model: "openai/a-model",
    api_key: MODEL_KEY,
    base_url: model.url,
    input_cost_per_token: 0.001,
    output_cost_per_token: 0.002,
  },
  tools: [{ name: "TerminalTool" }, { name: "FileEditorTool" }],
});

test("the published OpenHands client drives a whole run, which outlives the process that served it", async ({
  folder,
  model,
}) => {
  model.setScript([create("made.txt", "one\n"), run("cat made.txt && echo two >> made.txt"), { text: "Made it." }]);
  let server = await startBinary(folder);
  try {
    const { llm } = toAgent(model);
    const agent = new Agent({ kind: "Agent", llm, tools: [{ name: "terminal" }, { name: "file_editor" }] } as never);
    const workspace = new Workspace({ host: server.url, workingDir: folder, apiKey: KEY });
    const heard: { kind?: string }[] = [];
    const conversation = new Conversation(agent, workspace as never, {
      callback: (event) => void heard.push(event as never),
    });
    await conversation.start({ initialMessage: "Make a file" });
    await conversation.startWebSocketClient();
    await expect.poll(() => heard.length, FACT).toBeGreaterThan(0);
    await conversation.run();
    await expect.poll(() => conversation.state.getExecutionStatus(), FACT).toBe("finished");
    expect(readFileSync(join(folder, "made.txt"), "utf8")).toBe("one\ntwo\n");
    expect(await conversation.getAgentFinalResponse()).toBe("Made it.");
    await expect.poll(() => heard.map(({ kind }) => kind), FACT).toContain("ObservationEvent");
    const events = await conversation.state.events.getEvents();
    const kept = events.map(({ kind }) => kind).filter((kind) => kind !== "ConversationStateUpdateEvent");
    expect(kept).toEqual([
      "MessageEvent",
      "ActionEvent",
      "ObservationEvent",
      "ActionEvent",
      "ObservationEvent",
      "MessageEvent",
    ]);
    expect(await conversation.state.events.count({ kind: "ActionEvent" })).toBe(2);
    const asked = `/api/conversations/${conversation.id}/events`;
    const said = (await call(server.url, "GET", `${asked}/search?body=MADE%20it`)).body.items;
    expect(said).toMatchObject([{ kind: "MessageEvent", source: "agent" }]);
    const [first, second] = (await call(server.url, "GET", `${asked}/search?limit=2`)).body.items;
    // Without a zone, as the published server writes times.
    const at = String(second.timestamp).replace("Z", "");
    const before = (await call(server.url, "GET", `${asked}/search?timestamp__lt=${at}`)).body.items;
    expect(before.map(({ id }: { id: string }) => id)).toEqual(first.timestamp === second.timestamp ? [] : [first.id]);
    const count = async (query: string) => (await call(server.url, "GET", `${asked}/count?${query}`)).body;
    expect(await count(`timestamp__gte=${at}`)).toBe((await count("")) - before.length);
    expect((await call(server.url, "GET", `${asked}/count?timestamp__gte=soon`)).status).toBe(422);
    const { usage_to_metrics: used } = (await conversation.conversationStats()) as unknown as Stats;
    const { prompt_tokens, completion_tokens } = used.agent.accumulated_token_usage;
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(used.agent.accumulated_cost).toBeCloseTo(0.001 * prompt_tokens + 0.002 * completion_tokens, 9);
    await conversation.close();

    await server.kill();
    // What the machine left half written keeps nobody out.
    const broken = join(folder, "kept", randomUUID());
    mkdirSync(broken);
    writeFileSync(join(broken, "meta.json"), "");
    server = await startBinary(folder);
    expect((await call(server.url, "GET", "/api/conversations/count")).body).toBe(1);
    expect((await call(server.url, "GET", "/api/conversations/count?status=running")).body).toBe(0);
    const both = await call(server.url, "GET", `/api/conversations?ids=${conversation.id}&ids=${randomUUID()}`);
    expect(both.body).toMatchObject([{ id: conversation.id }, null]);
    const path = `/api/conversations/${conversation.id}`;
    const { body } = await call(server.url, "GET", path);
    expect(body).toMatchObject({
      id: conversation.id,
      conversation_id: conversation.id,
      execution_status: "finished",
      status: "completed",
    });
    // The key is nowhere: it was held in memory, and is given again to go on.
    const files = globSync(join(folder, "kept/**/*.json*")).map((file) => readFileSync(file, "utf8"));
    expect(files.length).toBeGreaterThan(1);
    expect(JSON.stringify([body, files, events])).not.toContain(MODEL_KEY);
    model.setScript([{ text: "Still here." }]);
    await call(server.url, "POST", `${path}/switch_llm`, { llm });
    await call(server.url, "POST", `${path}/events`, {
      role: "user",
      content: [{ type: "text", text: "And now?" }],
      run: true,
    });
    const last = async () => (await call(server.url, "GET", `${path}/agent_final_response`)).body.response;
    await expect.poll(last, FACT).toBe("Still here.");
    expect((await model.nthRequest(4)).toolResults).toHaveLength(2);
    expect((await call(server.url, "DELETE", path)).status).toBe(200);
    expect((await call(server.url, "GET", path)).status).toBe(404);
  } finally {
    expect(await server.stop()).toBe(0);
  }
});

test("a conversation is confirmed, interrupted, followed by number, and refused without the key", async ({
  folder,
  model,
}) => {
  model.setScript([run("echo no"), run("sleep 600"), { text: "Stopped." }, run("true"), { text: "Went on." }]);
  const server = await startBinary(folder, { allow_cors_origins: [EDITOR] });
  try {
    for (const key of ["", "another-key"])
      expect((await call(server.url, "GET", "/api/conversations", undefined, key)).status).toBe(401);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    const foreign = await fetch(`${server.url}/health`, { headers: { origin: "https://elsewhere.example" } });
    expect(foreign.status).toBe(403);
    const asked = await fetch(`${server.url}/api/conversations`, { method: "OPTIONS", headers: { origin: EDITOR } });
    expect([asked.status, asked.headers.get("access-control-allow-origin")]).toEqual([204, EDITOR]);
    expect(asked.headers.get("access-control-allow-headers")).toContain("x-session-api-key");
    // Two slashes are no address; whoever sends them, to whatever, ends nothing.
    for (const head of ["GET // HTTP/1.1", "GET // HTTP/1.1\r\nUpgrade: websocket"])
      expect(await say(server.url, `${head}\r\nHost: x\r\nConnection: close, upgrade\r\n\r\n`)).toMatch(/^HTTP\/1.1 4/);
    expect((await call(server.url, "POST", "/api/conversations", { agent: {} })).status).toBe(422);

    const { body: made } = await call(server.url, "POST", "/api/conversations", {
      agent: toAgent(model),
      workspace: { working_dir: folder },
      confirmation_policy: { kind: "AlwaysConfirm" },
      initial_message: { role: "user", content: [{ type: "text", text: "Wait long" }], run: true },
    });
    const path = `/api/conversations/${made.conversation_id}`;
    const status = async () => (await call(server.url, "GET", path)).body.execution_status;
    await expect.poll(status, FACT).toBe("waiting_for_confirmation");
    await call(server.url, "POST", `${path}/events/respond_to_confirmation`, { accept: false, reason: "not so" });
    // The refusal is told to the model, which asks for something else.
    await model.nthRequest(2);
    await expect.poll(status, FACT).toBe("waiting_for_confirmation");
    await call(server.url, "POST", `${path}/confirmation_policy`, { policy: { kind: "NeverConfirm" } });
    await call(server.url, "POST", `${path}/events/respond_to_confirmation`, { accept: true });
    expect((await call(server.url, "POST", `${path}/run`)).status).toBe(409);
    await call(server.url, "POST", `${path}/interrupt`);
    await expect.poll(status, FACT).toBe("paused");
    await call(server.url, "POST", `${path}/run`);
    await expect.poll(status, FACT).toBe("finished");
    await call(server.url, "POST", `${path}/events`, { role: "user", content: "Go on", run: true });
    await call(server.url, "POST", `${path}/pause`);
    await expect.poll(status, FACT).toBe("paused");
    await call(server.url, "POST", `${path}/run`);
    await expect.poll(status, FACT).toBe("finished");

    const { body: all } = await call(server.url, "GET", `${path}/events/search?limit=100`);
    const numbers: number[] = [];
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/sockets/session/${made.id}?after_seq=2`);
    socket.on("open", () => socket.send(JSON.stringify({ type: "auth", session_api_key: KEY })));
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString("utf8"));
      if (frame.type === "durable") numbers.push(frame.seq);
    });
    await expect.poll(() => numbers.length, FACT).toBe(all.items.length - 3);
    expect(numbers).toEqual(all.items.map((_: unknown, seq: number) => seq).slice(3));
    socket.close();
    const wrong = new WebSocket(
      `${server.url.replace("http", "ws")}/conversations/${made.id}/events/socket?session_api_key=wrong`,
    );
    wrong.on("open", () => wrong.send(JSON.stringify({ type: "auth", session_api_key: "wrong" })));
    const [code] = await once(wrong, "close");
    expect(code).toBe(4001);
  } finally {
    await server.stop();
  }
});

test("who begins a conversation while an earlier one of its id is being deleted is told so, or gets one of its own", async ({
  folder,
  model,
}) => {
  model.setScript([run("sleep 600")]);
  const server = await startBinary(folder);
  try {
    const conversation_id = randomUUID();
    const path = `/api/conversations/${conversation_id}`;
    const body = { conversation_id, agent: toAgent(model), workspace: { working_dir: folder } };
    const begin = () => call(server.url, "POST", "/api/conversations", body);
    await begin();
    const { body: other } = await call(server.url, "POST", "/api/conversations", {
      ...body,
      conversation_id: undefined,
    });
    const page = (await call(server.url, "GET", "/api/conversations/search?limit=1&sort_order=CREATED_AT")).body;
    expect([page.items[0].id, page.next_page_id]).toEqual([conversation_id, other.id]);
    const rest = (await call(server.url, "GET", `/api/conversations/search?sort_order=CREATED_AT&page_id=${other.id}`))
      .body;
    expect([rest.items[0].id, rest.next_page_id]).toEqual([other.id, null]);
    await call(server.url, "DELETE", `/api/conversations/${other.id}`);
    await call(server.url, "POST", `${path}/events`, { role: "user", content: "Wait long", run: true });
    const kinds = async () =>
      (await call(server.url, "GET", `${path}/events/search`)).body.items.map(({ kind }: { kind: string }) => kind);
    await expect.poll(kinds, FACT).toContain("ActionEvent");
    const deleted = call(server.url, "DELETE", path);
    const begun = await Promise.all(Array.from({ length: 50 }, begin));
    expect((await deleted).status).toBe(200);
    for (const { status } of begun) expect([200, 409]).toContain(status);
    expect((await begin()).status).toBe(200);
    expect((await call(server.url, "POST", `${path}/events`, { role: "user", content: "Hello" })).status).toBe(200);
    expect(existsSync(join(folder, "kept", conversation_id, "meta.json"))).toBe(true);
    expect(await kinds()).toEqual(["MessageEvent"]);
  } finally {
    await server.stop();
  }
});

test("webhooks bring every event in order, signed, and what is never taken is kept", async ({ folder, model }) => {
  model.setScript([run("true"), { text: "Done." }]);
  const secret = `whsec_${Buffer.from("a secret of exactly thirty-two b").toString("base64")}`;
  let refusals = 1;
  await using receiver = await startReceiver(() => (refusals-- > 0 ? 500 : 204));
  await using deaf = await startReceiver(() => 503);
  const common = { event_buffer_size: 3, retry_delay: 0.01 };
  const server = await startBinary(folder, {
    webhooks: [
      { ...common, webhook_url: receiver.url, secret },
      { ...common, webhook_url: deaf.url, num_retries: 1 },
    ],
  });
  await call(server.url, "POST", "/api/conversations", {
    agent: toAgent(model),
    workspace: { working_dir: folder },
    initial_message: { role: "user", content: [{ type: "text", text: "Go" }], run: true },
  });
  const status = async () => (await call(server.url, "GET", "/api/conversations/search")).body.items[0];
  await expect.poll(status, FACT).toMatchObject({ execution_status: "finished" });
  const { event_count } = await status();
  const readLetters = () => {
    const [file] = globSync(join(folder, "kept/dead-letters.jsonl"));
    return file === undefined ? [] : readFileSync(file, "utf8").trim().split("\n");
  };
  const countLost = () => readLetters().flatMap((line) => JSON.parse(JSON.parse(line).body).events).length;
  await expect.poll(countLost, FACT).toBe(event_count);
  await server.stop();
  const taken = receiver.received.slice(1);
  const numbers = taken.flatMap(({ text }) => JSON.parse(text).events.map(({ seq }: { seq: number }) => seq));
  expect(numbers).toEqual(Array.from({ length: event_count }, (_, seq) => seq));
  for (const { text, headers } of receiver.received) new Webhook(secret).verify(text, { ...headers });
  const letters = readLetters();
  expect(letters.map((line) => JSON.parse(line))).toMatchObject(letters.map(() => ({ reason: "answered 503" })));
});

test("a killed server still owes its webhooks what they were not told, also of a conversation that was deleted", async ({
  folder,
  model,
}) => {
  model.setScript([run("true"), { text: "Done." }, { text: "Gone." }]);
  let isTaking = false;
  await using receiver = await startReceiver(() => (isTaking ? 204 : 503));
  const config = {
    webhooks: [{ webhook_url: receiver.url, event_buffer_size: 3, num_retries: 20, retry_delay: 0.01 }],
  };
  let server = await startBinary(folder, config);
  try {
    const begin = async () => {
      const { body } = await call(server.url, "POST", "/api/conversations", {
        agent: toAgent(model),
        workspace: { working_dir: folder },
        initial_message: { role: "user", content: "Go", run: true },
      });
      const read = async () => (await call(server.url, "GET", `/api/conversations/${body.id}`)).body;
      await expect.poll(read, FACT).toMatchObject({ execution_status: "finished" });
      return { id: body.id as string, count: (await read()).event_count as number };
    };
    const kept = await begin();
    const deleted = await begin();
    await call(server.url, "DELETE", `/api/conversations/${deleted.id}`);
    expect((await call(server.url, "GET", `/api/conversations/${deleted.id}`)).status).toBe(404);
    await expect.poll(() => receiver.received.length, FACT).toBeGreaterThan(0);
    await server.kill();

    const since = receiver.received.length;
    isTaking = true;
    const numbersOf = (id: string) =>
      receiver.received
        .slice(since)
        .map(({ text }) => JSON.parse(text))
        .filter(({ conversation_id }) => conversation_id === id)
        .flatMap(({ events }) => events.map(({ seq }: { seq: number }) => seq));
    const upTo = (count: number) => Array.from({ length: count }, (_, seq) => seq);
    server = await startBinary(folder, config);
    expect((await call(server.url, "GET", "/api/conversations/count")).body).toBe(1);
    await expect.poll(() => numbersOf(kept.id), FACT).toEqual(upTo(kept.count));
    await expect.poll(() => numbersOf(deleted.id), FACT).toEqual(upTo(deleted.count));
    await expect.poll(() => existsSync(join(folder, "kept", deleted.id)), FACT).toBe(false);

    // What was taken is not told again.
    await server.kill();
    server = await startBinary(folder, config);
    await call(server.url, "POST", `/api/conversations/${kept.id}/events`, { role: "user", content: "More" });
    await expect.poll(() => numbersOf(kept.id), FACT).toEqual(upTo(kept.count + 1));
    expect(numbersOf(deleted.id)).toEqual(upTo(deleted.count));
    expect(existsSync(join(folder, "kept/dead-letters.jsonl"))).toBe(false);
  } finally {
    expect(await server.stop()).toBe(0);
  }
});

test("the openhands runtime of a worker runs its agent in it, through the gateway", async ({ folder, model }) => {
  model.setScript([run("echo three > made.txt"), { text: "Made it." }]);
  const agents = await startBinary(folder);
  try {
    await using server = await startTestServer({ config: { openaiBaseUrl: model.url, openaiApiKey: MODEL_KEY } });
    const policy = { decision: "allow" as const, rules: [] };
    const asked = { runtime: "openhands", model: "a-model", prompt: "Make a file", permission_policy: policy };
    const { id, created } = await server.createSandbox(asked);
    const env = { OPENHANDS_URL: agents.url, OPENHANDS_SESSION_API_KEY: KEY };
    await using worker = await startWorker(created, { env });
    const done = async () =>
      (await server.call("GET", `/sandboxes/${id}/events?event_type=agent.completed`)).body.events[0]?.event_data;
    await expect.poll(done, FACT).toMatchObject({ success: true, final_output: "Made it." });
    expect(readFileSync(join(worker.cwd, "made.txt"), "utf8")).toBe("three\n");
    const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`);
    const types = body.events.map((event: { event_type: string }) => event.event_type);
    for (const type of ["agent.tool_use", "agent.tool_result", "agent.file_edited", "agent.usage"])
      expect(types).toContain(type);
  } finally {
    await agents.stop();
  }
});
