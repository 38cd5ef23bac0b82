/** What happens to an answer on its way: hang-ups, broken streams, slow readers, vendors' errors, messages that are seen.
 *  Broken on purpose, each seen here: nothing booked when the agent hangs up; usage booked after the last word; a message that still waits
 *  taken for seen; one seen whatever the request says; none ever seen. */
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { expect } from "vitest";
import { createHold } from "../../../testkit/src/model/hold.ts";
import { extendByModel } from "../../../testkit/src/model/model-server.ts";
import type { TestSandbox, TestServer } from "../../../testkit/src/server.ts";

const test = extendByModel((model) => ({
  config: { anthropicBaseUrl: model.url, openaiBaseUrl: model.url, geminiBaseUrl: model.url },
}));

const ANTHROPIC = "/api/v1/gateway/anthropic/v1/messages";
const BODY = { model: "claude-sonnet-4-5", stream: true, messages: [{ role: "user", content: "go" }] };

/** A call whose answer is read, or not, by the test. */
async function open(server: TestServer, sandbox: TestSandbox, path = ANTHROPIC, body: unknown = BODY) {
  const outgoing = request(server.url + path, {
    method: "POST",
    agent: false,
    headers: { authorization: `Bearer ${sandbox.token}`, "content-type": "application/json" },
  });
  outgoing.on("error", () => undefined);
  outgoing.end(JSON.stringify(body));
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  answer.on("error", () => undefined);
  return { outgoing, answer };
}

const listUsage = async (server: TestServer, sandbox: TestSandbox) =>
  (await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.usage`)).body.events;

const untilUsed = async (server: TestServer, sandbox: TestSandbox) => {
  await expect.poll(() => listUsage(server, sandbox), { timeout: 10_000 }).toHaveLength(1);
  return (await listUsage(server, sandbox))[0].event_data;
};

const STREAMS = [
  { name: "anthropic", path: ANTHROPIC, body: BODY, input: 1_000 },
  {
    name: "chat",
    path: "/api/v1/gateway/openai/v1/chat/completions",
    body: { ...BODY, model: "gpt-5" },
    input: expect.any(Number),
  },
  {
    name: "responses",
    path: "/api/v1/gateway/openai/v1/responses",
    body: { model: "gpt-5", stream: true, input: "go" },
    input: expect.any(Number),
  },
  {
    name: "gemini",
    path: "/api/v1/gateway/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    body: { contents: [] },
    input: 1_000,
  },
];

test.for(STREAMS)(
  "$name: who hangs up in the middle has still used what was said, and the vendor hears of it",
  async (call, { server, model, sandbox }) => {
    model.setScript([{ text: "x".repeat(400), usage: { input: 1_000, output: 900 }, end: "hang" }]);
    const n = model.requests.length + 1;
    const { outgoing, answer } = await open(server, sandbox, call.path, call.body);
    let text = "";
    for await (const chunk of answer) {
      text += String(chunk);
      if ((text.match(/x/g) ?? []).length >= 400) break;
    }
    outgoing.destroy();
    expect(await (await model.nthRequest(n)).ended).toBe("aborted");
    const used = await untilUsed(server, sandbox);
    expect(used).toMatchObject({ is_estimate: true, input_tokens: call.input });
    expect(used.output_tokens).toBeGreaterThanOrEqual(100);
    expect(used.cost_usd).toBeGreaterThan(0);
  },
);

test("a vendor that breaks off breaks the answer, and what it said counts", async ({ server, model, sandbox }) => {
  model.setScript([{ text: "half of it", end: "break" }]);
  const { answer } = await open(server, sandbox);
  const closed = new Promise<void>((resolve) => void answer.once("close", resolve));
  answer.resume();
  await closed;
  expect(answer.complete).toBe(false);
  expect(await untilUsed(server, sandbox)).toMatchObject({ input_tokens: 100, is_estimate: true });
});

test("words arrive as they are said, and what was used is on record before the last of them", async ({
  server,
  model,
  sandbox,
}) => {
  const hold = createHold();
  model.setScript([{ text: "first words", holdLast: hold }]);
  const { answer } = await open(server, sandbox);
  const chunks = answer[Symbol.asyncIterator]();
  let text = "";
  while (!text.includes("first words")) text += String((await chunks.next()).value);
  expect(await listUsage(server, sandbox)).toEqual([]);
  hold.release();
  while (!text.includes("message_stop")) text += String((await chunks.next()).value);
  expect(await listUsage(server, sandbox)).toMatchObject([{ event_data: { output_tokens: 20 } }]);
});

/** Many turns of the event loop: whatever could go on by itself has gone on. */
async function settle(turns = 300): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

test("a reader that does not read stops the vendor from sending", async ({ server, model, sandbox }) => {
  const SIZE = 48 * 1024 * 1024;
  model.setScript([{ text: "x".repeat(SIZE) }]);
  const n = model.requests.length + 1;
  const { answer } = await open(server, sandbox);
  const asked = await model.nthRequest(n);
  let before = -1;
  // Until nothing moves any more: all that lies between the two ends is full.
  while (asked.sentBytes() !== before) {
    before = asked.sentBytes();
    await settle();
  }
  expect(asked.sentBytes()).toBeLessThan(SIZE / 2);
  let read = 0;
  for await (const chunk of answer) read += (chunk as Buffer).length;
  expect(read).toBeGreaterThan(SIZE);
});

test("a vendor's refusal is told as it is: status, body, when to come again", async ({ server, model, sandbox }) => {
  model.setScript([
    {
      error: {
        status: 429,
        body: { type: "error", error: { type: "rate_limit_error", message: "slower" } },
        headers: { "retry-after": "7", "anthropic-ratelimit-requests-remaining": "0", "set-cookie": "a=b" },
      },
    },
  ]);
  const answer = await server.call("POST", "/gateway/anthropic/v1/messages", { token: sandbox.token, body: BODY });
  expect(answer.status).toBe(429);
  expect(answer.body).toEqual({ type: "error", error: { type: "rate_limit_error", message: "slower" } });
  expect(answer.headers).toMatchObject({ "retry-after": "7", "anthropic-ratelimit-requests-remaining": "0" });
  expect(answer.headers["set-cookie"]).toBeUndefined();
  expect(await listUsage(server, sandbox)).toEqual([]);
});

test("chat completions are metered also for agents that do not ask for usage, and those are told none", async ({
  server,
  model,
  sandbox,
}) => {
  model.setScript([{ text: "hello" }, { text: "hello" }]);
  const path = "/gateway/openai/v1/chat/completions";
  const body = { model: "gpt-5", stream: true, messages: [] };
  const quiet = await server.call("POST", path, { token: sandbox.token, body });
  expect(quiet.text).not.toContain('"usage"');
  expect(quiet.text).toMatch(/hello[\s\S]*data: \[DONE\]\n\n$/);
  const asking = { ...body, stream_options: { include_usage: true } };
  expect((await server.call("POST", path, { token: sandbox.token, body: asking })).text).toContain('"usage"');
  expect(await listUsage(server, sandbox)).toMatchObject([
    { event_data: { output_tokens: 20 } },
    { event_data: { output_tokens: 20 } },
  ]);
});

test("a message that was handed out is seen once it stands in a request, and not before", async ({
  server,
  model,
  sandbox,
}) => {
  model.setScript(() => ({ text: "ok" }));
  const content = 'Stop: "café" ☕ first\nthen tests';
  const { body: sent } = await server.call("POST", `/sandboxes/${sandbox.id}/messages`, { body: { content } });
  const readState = async () =>
    (await server.call("GET", `/sandboxes/${sandbox.id}/messages/history`)).body.items[0].state;
  const ask = async (...messages: readonly object[]) => {
    const answer = await server.call("POST", "/gateway/anthropic/v1/messages", {
      token: sandbox.token,
      body: { ...BODY, messages },
    });
    expect(answer.status).toBe(200);
  };
  const said = { role: "user", content: [{ type: "text", text: `The user sent a new message: ${content}` }] };
  // Still in the queue: whatever the request says, it was not this message.
  await ask(said);
  expect(await readState()).toBe("queued");
  await server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=60`, { token: sandbox.token });
  await ask({ role: "user", content: "something else" });
  expect(await readState()).toBe("leased");
  await ask({ role: "user", content: "go" }, { role: "assistant", content: "yes" }, said);
  await expect.poll(readState, { timeout: 10_000 }).toBe("seen");
  // The worker knows in which turn: its word is kept, and told to nobody again.
  const ack = { token: sandbox.token, body: { status: "seen", turn: 7 } };
  await server.call("POST", `/sandboxes/${sandbox.id}/messages/${sent.message_id}/ack`, ack);
  const { body: history } = await server.call("GET", `/sandboxes/${sandbox.id}/messages/history`);
  expect(history.items).toMatchObject([{ state: "seen", turn: 7 }]);
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=MESSAGE_STATE_CHANGED`);
  expect(body.events).toMatchObject([{ event_data: { message_id: sent.message_id, state: "seen" } }]);
});
