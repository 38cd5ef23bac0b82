/** Who falls silent at the gateway is given up in time, and told so as a vendor would: an agent in its request, a vendor before or in its answer.
 *  Broken on purpose, each seen here: no timer in front of the body; none before the first word; a reader that is slow taken for a silent vendor. */
import { once } from "node:events";
import { request } from "node:http";
import { connect } from "node:net";
import { expect } from "vitest";
import { createHold } from "../../../testkit/src/model/hold.ts";
import { extendByModel } from "../../../testkit/src/model/model-server.ts";

/** Long enough that a busy machine is no silence. */
const SILENCE_S = 1;

const test = extendByModel((model) => ({
  config: {
    anthropicBaseUrl: model.url,
    openaiBaseUrl: model.url,
    geminiBaseUrl: model.url,
    modelRequestSilenceSeconds: SILENCE_S,
    modelSilenceSeconds: SILENCE_S,
  },
}));

const ANTHROPIC = "/api/v1/gateway/anthropic/v1/messages";
const GEMINI = "/api/v1/gateway/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

test.for([
  ["one that says how long it is", "content-length: 1000", '{"model":'],
  ["one in pieces", "transfer-encoding: chunked", '9\r\n{"model":\r\n'],
] as const)(
  "%s and stops in the middle is refused, and its connection closed",
  async ([, header, half], { server, model, sandbox }) => {
    const before = model.calls.length;
    const { hostname, port, host } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `POST ${ANTHROPIC} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${sandbox.token}\r\ncontent-type: application/json\r\n${header}\r\n\r\n${half}`,
    );
    let text = "";
    // The socket ends from the other side: nothing is left open.
    for await (const chunk of socket) text += String(chunk);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text.toLowerCase()).toContain("connection: close");
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({
      status: 408,
      error: { type: "timeout_error", message: expect.stringContaining(`did not come within ${SILENCE_S} s`) },
    });
    expect(model.calls.length).toBe(before);
  },
);

test.for([
  ["anthropic", ANTHROPIC, { model: "claude-sonnet-4-5", messages: [] }, { type: "timeout_error" }],
  ["openai", "/api/v1/gateway/openai/v1/responses", { model: "gpt-5", input: "go" }, { code: "model.timed_out" }],
  ["gemini", GEMINI, { contents: [] }, { code: 504, status: "DEADLINE_EXCEEDED" }],
] as const)(
  "%s: a vendor that never says a word is hung up on, and the agent told in its own words",
  async ([, path, body, error], { server, model, sandbox }) => {
    const hold = createHold();
    model.setScript([{ text: "too late", holdFirst: hold }]);
    const n = model.requests.length + 1;
    const answer = await server.call("POST", path.replace("/api/v1", ""), { token: sandbox.token, body });
    expect(answer.status).toBe(504);
    expect(answer.body).toMatchObject({ status: 504, error });
    hold.release();
    expect(await (await model.nthRequest(n)).ended).toBe("aborted");
  },
);

test.for([
  ["anthropic", ANTHROPIC, { model: "claude-sonnet-4-5", stream: true, messages: [] }, "event: error\ndata: "],
  [
    "openai",
    "/api/v1/gateway/openai/v1/chat/completions",
    { model: "gpt-5", stream: true, messages: [] },
    "event: error\ndata: ",
  ],
  ["gemini", GEMINI, { contents: [] }, "data: "],
] as const)(
  "%s: one that falls silent in the middle ends the stream with an error, and what it said counts",
  async ([, path, body, start], { server, model, sandbox }) => {
    model.setScript([{ text: "half of it", end: "hang" }]);
    const n = model.requests.length + 1;
    const answer = await server.call("POST", path.replace("/api/v1", ""), { token: sandbox.token, body });
    expect(answer.text).toContain("half of it");
    const last = answer.text.slice(answer.text.lastIndexOf(start) + start.length);
    expect(JSON.parse(last)).toMatchObject({
      error: { message: expect.stringContaining(`said nothing for ${SILENCE_S} s`) },
    });
    expect(await (await model.nthRequest(n)).ended).toBe("aborted");
    const listUsage = async () =>
      (await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.usage`)).body.events;
    await expect.poll(listUsage).toMatchObject([{ event_data: { is_estimate: true } }]);
  },
);

test("a reader that takes longer than that is no silence of the vendor", async ({ server, model, sandbox }) => {
  const size = 24 * 1024 * 1024;
  model.setScript([{ text: "x".repeat(size) }, { text: "waits", end: "hang" }]);
  const headers = { authorization: `Bearer ${sandbox.token}`, "content-type": "application/json" };
  const body = JSON.stringify({ model: "claude-sonnet-4-5", stream: true, messages: [] });
  const outgoing = request(server.url + ANTHROPIC, { method: "POST", agent: false, headers });
  outgoing.end(body);
  const [answer] = await once(outgoing, "response");
  // For longer than a silence: another call has been given up meanwhile.
  await server.call("POST", ANTHROPIC.replace("/api/v1", ""), { token: sandbox.token, body: JSON.parse(body) });
  let read = 0;
  for await (const chunk of answer) read += chunk.length;
  expect(read).toBeGreaterThan(size);
});
