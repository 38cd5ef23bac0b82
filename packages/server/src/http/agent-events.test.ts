/** What an agent server tells becomes a sandbox's log, whatever happens to the deliveries on their way. */
import { createHmac, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { API_BASE } from "@drover/contract";
import { expect, test } from "vitest";
import { startDrover } from "../../../testkit/src/drover-process.ts";
import { startScriptedModel } from "../../../testkit/src/model/scripted-model.ts";
import {
  callAgentServer,
  SESSION_KEY,
  startAgentServerProcess,
} from "../../../testkit/src/openhands/agent-server-process.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { takeSnapshot } from "../../../testkit/src/snapshot.ts";
import { followConversationsOnce } from "../app/receive-agent-events.ts";

const SECRET = `whsec_${Buffer.from("the secret of the agent server!!").toString("base64")}`;
const ADMIN = "drv_u_the-admin-of-this-test";
const FACT = { timeout: 60_000, interval: 50 };
const { signal } = new AbortController();

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Stands between sender and receiver, and does with each delivery what it is told. */
async function startRelay(onDelivery: (sent: Sent, count: number) => Promise<number>) {
  let count = 0;
  let handled = 0;
  const server = createServer((request, response) => {
    void buffer(request)
      .then((body) => onDelivery({ headers: request.headers as Record<string, string>, body }, (count += 1)))
      .catch(() => 503)
      .then((status) => {
        if (status < 300) handled += 1;
        response.writeHead(status).end();
      });
  });
  await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done));
  return {
    /** Deliveries that were answered well. */
    handled: () => handled,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/agent-events`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

const forward = async (port: number, { headers, body }: Sent): Promise<number> => {
  const { host: _host, connection: _connection, "content-length": _length, ...kept } = headers;
  const answer = await fetch(`http://127.0.0.1:${port}/webhooks/agent-events`, {
    method: "POST",
    headers: kept,
    body: new Uint8Array(body),
  });
  await answer.body?.cancel();
  return answer.status;
};

const sign = (body: string, given: { readonly secret?: string; readonly at?: number } = {}) => {
  const id = randomUUID();
  const at = String(given.at ?? Math.floor(Date.now() / 1_000));
  const key = Buffer.from((given.secret ?? SECRET).slice("whsec_".length), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": `v1,${mac}` };
};

test("doubled, overtaken, dropped and with the receiver killed in between, a run is told once and in order", async () => {
  const folder = await mkdtemp(join(tmpdir(), "drover-agent-events-"));
  await using database = await createDatabase();
  await using model = await startScriptedModel();
  const steps = ["one", "two", "three", "four"];
  model.setScript([
    ...steps.map((word) => ({ tools: [{ name: "terminal", input: { command: `echo ${word}` } }] })),
    { text: "Counted." },
  ]);
  let drover: Awaited<ReturnType<typeof startDrover>> | undefined;
  let held: Sent | undefined;
  let startAgain = async (): Promise<void> => undefined;
  await using relay = await startRelay(async (sent, count) => {
    const port = () => drover?.port ?? 0;
    if (count === 4) held = sent;
    if (count === 4 || count === 9) return 204; // taken, and not brought: the one later, the other never
    if (count === 7) {
      await drover?.kill();
      await startAgain();
    }
    const status = await forward(port(), sent);
    if (count === 3) await forward(port(), sent);
    if (count === 5 && held !== undefined) await forward(port(), held);
    return status;
  });
  const agents = await startAgentServerProcess(folder, {
    webhooks: [{ webhook_url: relay.url, event_buffer_size: 1, num_retries: 20, retry_delay: 0.1, secret: SECRET }],
  });
  startAgain = async () => {
    drover = await startDrover({
      databaseUrl: database.url,
      dataDir: join(folder, "data"),
      adminToken: ADMIN,
      environment: {
        DROVER_AGENT_EVENTS_SECRET: SECRET,
        DROVER_AGENT_SERVER_URL: agents.url,
        DROVER_AGENT_SERVER_KEY: SESSION_KEY,
      },
    });
  };
  try {
    await startAgain();
    const { body: made } = await callAgentServer(agents.url, "POST", "/api/conversations", {
      agent: { discriminator: "Agent", llm: { model: "openai/a-model", api_key: "sk-a-key", base_url: model.url } },
      workspace: { working_dir: folder },
      initial_message: { role: "user", content: [{ type: "text", text: "Count" }], run: true },
    });
    const ask = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${drover?.port}${API_BASE}${path}`, {
        headers: { authorization: `Bearer ${ADMIN}` },
      }).catch(() => undefined); // while it is killed
      return answer?.ok === true ? answer.json() : undefined;
    };
    const find = async () => (await ask(`/sandboxes?q=${made.id}`))?.items ?? [];
    const standing = async () => (await callAgentServer(agents.url, "GET", `/api/conversations/${made.id}`)).body;
    await expect.poll(standing, FACT).toMatchObject({ execution_status: "finished" });
    const { event_count: sent } = await standing();
    await expect.poll(relay.handled, FACT).toBe(sent);
    await expect.poll(async () => (await find())[0]?.state, FACT).toBe("completed");
    const [{ id, runtime, provider }] = await find();
    expect({ runtime, provider, count: (await find()).length }).toEqual({
      runtime: "openhands",
      provider: "external",
      count: 1,
    });
    const { events } = await ask(`/sandboxes/${id}/events?limit=500&order=asc&source=agent`);
    const told = events.map((event: { event_type: string; event_data: Record<string, unknown> }) => {
      const { event_type: type, event_data: data } = event;
      return type === "agent.tool_result" ? `${type} ${String(data["result"]).trim()}` : type;
    });
    expect(told).toEqual([
      "agent.started",
      "agent.message_injected",
      ...steps.flatMap((word) => ["agent.tool_use", expect.stringMatching(`^agent.tool_result .*${word}`)]),
      "agent.message",
      "agent.completed",
      "agent.waiting",
    ]);
    expect(events.at(-2).event_data).toMatchObject({
      turn: 1,
      success: true,
      final_output: "Counted.",
      session_id: made.id,
    });
    const { events: complaints } = await ask(`/sandboxes/${id}/events?event_type=EVENTS_MISSING`);
    expect(complaints).toEqual([]);
  } finally {
    await agents.stop();
    await drover?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
});

const say = (seq: number, text: string) => ({
  seq,
  id: `event-${seq}`,
  kind: "MessageEvent",
  source: "agent",
  timestamp: "2026-01-01T00:00:00Z",
  llm_message: { role: "assistant", content: [{ type: "text", text }] },
});
const become = (seq: number, value: string) => ({
  seq,
  id: `event-${seq}`,
  kind: "ConversationStateUpdateEvent",
  source: "environment",
  key: "execution_status",
  value,
});

const send = (server: TestServer, payload: unknown, headers?: Readonly<Record<string, string>>) => {
  const raw = JSON.stringify(payload);
  return server.request("POST", "/webhooks/agent-events", { raw, headers: headers ?? sign(raw) });
};
const listTold = async (server: TestServer, id: string) => {
  const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=100&order=asc`);
  return body.events
    .filter(({ event_type }: { event_type: string }) => /^agent\.|EVENTS/.test(event_type))
    .map(({ event_type, event_data }: { event_type: string; event_data: Record<string, unknown> }) => [
      event_type,
      event_data["content"] ?? event_data["count"] ?? event_data["error"] ?? null,
    ]);
};

test("forged deliveries are refused without a trace; a hole that nobody fills is named; an ended sandbox is followed by another", async () => {
  await using server = await startTestServer({
    config: { agentEventsSecret: `whsec_b3RoZXItb3RoZXItb3RoZXI=,${SECRET}`, agentEventsGapSeconds: 0.001 },
  });
  const conversation_id = randomUUID();
  const first = { conversation_id, events: [become(0, "running"), say(1, "one"), say(2, "two\u0000")] };
  const text = JSON.stringify(first);
  const before = await takeSnapshot(server);
  const { "webhook-signature": _signature, ...unsigned } = sign(text);
  const refused = [
    unsigned,
    sign(text, { secret: `whsec_${Buffer.from("somebody else's secret, as long").toString("base64")}` }),
    sign(text, { at: Math.floor(Date.now() / 1_000) - 3_600 }),
    sign(`${text} `),
    { ...sign(text), "webhook-id": randomUUID() },
  ];
  for (const headers of refused) expect((await send(server, first, headers)).status).toBe(401);
  for (const bad of [{}, { conversation_id: "../x", events: first.events }, { conversation_id, events: [] }])
    expect((await send(server, bad)).status).toBe(422);
  expect(await takeSnapshot(server)).toEqual(before);

  const taken = await send(server, first);
  expect(taken.body).toMatchObject({ status: "received", accepted: 3, duplicates: 0, next_seq: 3, missing: null });
  const id = taken.body.sandbox_id as string;
  const late = await send(server, { conversation_id, events: [say(6, "six"), say(5, "five"), say(1, "another one")] });
  expect(late.body).toMatchObject({ accepted: 2, duplicates: 1, next_seq: 3, missing: { from_seq: 3, to_seq: 4 } });
  expect((await send(server, { conversation_id, events: [say(6, "another six")] })).body).toMatchObject({
    duplicates: 1,
  });
  await expect
    .poll(async () => (await followConversationsOnce(server.deps, signal), listTold(server, id)), FACT)
    .toEqual([
      ["agent.started", null],
      ["agent.message", "one"],
      ["agent.message", "two\u2400"],
      ["EVENTS_MISSING", 2],
      ["agent.message", "five"],
      ["agent.message", "six"],
    ]);

  const more = [become(7, "error"), become(8, "running"), say(9, "again"), become(10, "finished")];
  const gone = await send(server, { conversation_id, events: more });
  expect(gone.body).toMatchObject({ next_seq: 11, missing: null });
  expect((await server.call("GET", `/sandboxes/${id}`)).body.state).toBe("failed");
  expect(await listTold(server, gone.body.sandbox_id)).toEqual([
    ["agent.message", "again"],
    ["agent.completed", null],
    ["agent.waiting", null],
  ]);

  await using closed = await startTestServer();
  expect((await send(closed, first)).status).toBe(403);
});
