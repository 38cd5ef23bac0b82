/** The way to models: passed on as it comes, without the keys, metered and told in the log.
 *  Broken on purpose, each seen here: the agent's own headers passed on, credentials among them; keys in the query passed on. */
import { expect } from "vitest";
import { extendByModel } from "../../../testkit/src/model/model-server.ts";
import type { TestSandbox, TestServer } from "../../../testkit/src/server.ts";

const KEYS = { anthropic: "sk-ant-CANARY-a", openai: "sk-CANARY-o", gemini: "AIza-CANARY-g" };

const test = extendByModel((model) => ({
  config: {
    anthropicBaseUrl: model.url,
    anthropicApiKey: KEYS.anthropic,
    openaiBaseUrl: `${model.url}/v1`,
    openaiApiKey: KEYS.openai,
    geminiBaseUrl: model.url,
    geminiApiKey: KEYS.gemini,
  },
}));

const SAYS = { text: "hello", usage: { input: 100, output: 20, cacheRead: 40, cacheWrite: 0 } };

const CALLS = [
  {
    name: "anthropic",
    path: "/gateway/anthropic/v1/messages?beta=true",
    body: { model: "claude-sonnet-4-5", max_tokens: 10, messages: [{ role: "user", content: "hi" }] },
    arrives: "/v1/messages?beta=true",
    cost: (100 * 3 + 40 * 0.3 + 20 * 15) / 1e6,
  },
  {
    name: "responses",
    path: "/gateway/openai/v1/responses",
    body: { model: "gpt-5", input: "hi" },
    arrives: "/v1/responses",
    cost: (100 * 1.25 + 40 * 0.125 + 20 * 10) / 1e6,
  },
  {
    name: "chat",
    path: "/gateway/openai/chat/completions",
    body: { model: "gpt-5", messages: [{ role: "user", content: "hi" }] },
    arrives: "/v1/chat/completions",
    cost: (100 * 1.25 + 40 * 0.125 + 20 * 10) / 1e6,
  },
  {
    name: "gemini",
    path: "/gateway/gemini/v1beta/models/gemini-2.5-pro:generateContent",
    streamPath: "/gateway/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse&key=dummy",
    body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] },
    arrives: "/v1beta/models/gemini-2.5-pro:generateContent",
    cost: (100 * 1.25 + 40 * 0.125 + 20 * 10) / 1e6,
  },
];

const listUsage = async (server: TestServer, sandbox: TestSandbox) =>
  (await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.usage&order=asc`)).body.events;

test.for(CALLS)(
  "$name: whole and streamed calls pass, with the server's key, and are metered",
  async (call, { server, model, sandbox }) => {
    model.setScript([SAYS, SAYS]);
    const before = model.requests.length;
    const whole = await server.call("POST", call.path, {
      token: sandbox.token,
      body: call.body,
      headers: { "x-secret-of-the-sandbox": "no", "anthropic-beta": "yes" },
    });
    expect(whole).toMatchObject({ status: 200 });
    expect(whole.text).toContain("hello");
    const streamed = await server.call("POST", call.streamPath ?? call.path, {
      token: sandbox.token,
      body: { ...call.body, stream: true },
    });
    expect(streamed.headers["content-type"]).toContain("text/event-stream");
    expect(streamed.text).toContain("hello");

    const [first, second] = model.requests.slice(before);
    expect(first?.path).toBe(call.arrives);
    expect(second?.path).not.toContain("dummy");
    const sent = JSON.stringify([first?.headers, second?.headers]);
    expect(sent).toContain(
      KEYS[call.name === "chat" || call.name === "responses" ? "openai" : (call.name as "gemini")],
    );
    expect(sent).not.toContain(sandbox.token);
    expect(sent).not.toContain("x-secret-of-the-sandbox");

    const usage = await listUsage(server, sandbox);
    expect(usage).toHaveLength(2);
    for (const { event_data, source } of usage) {
      expect(source).toBe("server");
      expect(event_data).toMatchObject({
        model: first?.model,
        input_tokens: 100,
        output_tokens: 20,
        cache_read_tokens: 40,
        cache_write_tokens: 0,
      });
      expect(event_data.is_estimate).toBeUndefined();
      expect(event_data.cost_usd).toBeCloseTo(call.cost, 10);
    }
    const { body: seen } = await server.call("GET", `/sandboxes/${sandbox.id}`);
    expect(seen.tokens).toEqual({ input: 200, output: 40, cache_read: 80, cache_write: 0, total: 320 });
    expect(seen.cost_usd).toBeCloseTo(2 * call.cost, 10);
  },
);
