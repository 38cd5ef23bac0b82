/** The scripted model says one turn in each protocol, whole and streamed, and fails as it is told. */
import { expect, test } from "vitest";
import { createHold } from "./hold.ts";
import { startScriptedModel } from "./scripted-model.ts";

const TURN = { thinking: "hm", text: "I write it.", tools: [{ name: "Write", input: { file_path: "a.js" } }] };
const SAID = ["I write it.", "Write", "file_path", "a.js"];

const PROTOCOLS = [
  { name: "anthropic", path: "/v1/messages", body: { tools: [{ name: "Write" }] } },
  { name: "responses", path: "/v1/responses", body: { tools: [{ name: "Write" }] } },
  { name: "chat", path: "/v1/chat/completions", body: { tools: [{ function: { name: "Write" } }] } },
  {
    name: "gemini",
    path: "/v1beta/models/gemini-2.5-pro:generateContent",
    streamPath: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
    body: { tools: [{ functionDeclarations: [{ name: "Write" }] }] },
  },
];

const post = (url: string, body: unknown, signal?: AbortSignal) =>
  fetch(url, { method: "POST", body: JSON.stringify(body), ...(signal === undefined ? {} : { signal }) });

/** The pieces of a stream put together again. */
const join = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.stringify(JSON.parse(line.slice(6))))
    .join("")
    .replaceAll("\\", "");

test.each(PROTOCOLS)("$name: a turn comes whole and as a stream", async ({ path, streamPath, body }) => {
  await using model = await startScriptedModel({ script: [TURN, TURN] });
  const whole = await (await post(model.url + path, body)).text();
  const streamed = await post(model.url + (streamPath ?? path), { ...body, stream: true });
  expect(streamed.headers.get("content-type")).toContain("text/event-stream");
  const text = join(await streamed.text());
  for (const word of SAID) {
    expect(whole).toContain(word);
    expect(text).toContain(word);
  }
  expect(model.requests.map((request) => request.toolNames)).toEqual([["Write"], ["Write"]]);
});

test("requests without tools take no turn; token counts and models are answered", async () => {
  await using model = await startScriptedModel({ script: [TURN] });
  const title = await post(`${model.url}/v1/messages`, { messages: [{ role: "user", content: "a title" }] });
  expect(await title.json()).toMatchObject({ content: [{ text: "ok" }] });
  const counted = await post(`${model.url}/v1/messages/count_tokens`, { messages: [] });
  expect(await counted.json()).toMatchObject({ input_tokens: expect.any(Number) });
  expect(await (await fetch(`${model.url}/v1/models`)).json()).toMatchObject({ object: "list" });
  expect(model.calls).toHaveLength(3);
  expect(model.requests).toHaveLength(1);
});

test("an answer waits at a hold until the test releases it", async () => {
  const hold = createHold();
  await using model = await startScriptedModel({ script: () => ({ text: "now", holdFirst: hold }) });
  let isAnswered = false;
  const answer = post(`${model.url}/v1/messages`, { messages: [] }).then((reply) => {
    isAnswered = true;
    return reply.text();
  });
  await hold.reached;
  expect(isAnswered).toBe(false);
  hold.release();
  expect(await answer).toContain("now");
});

test("a hanging stream is noted as aborted when the caller hangs up; a broken one breaks", async () => {
  await using model = await startScriptedModel({ script: () => ({ text: "half", end: "hang" }) });
  const stop = new AbortController();
  const reply = await post(`${model.url}/v1/messages`, { stream: true, messages: [] }, stop.signal);
  await reply.body?.getReader().read();
  stop.abort();
  expect(await (await model.nthRequest(1)).ended).toBe("aborted");

  model.setScript(() => ({ text: "half", end: "break" }));
  const broken = await post(`${model.url}/v1/messages`, { stream: true, messages: [] });
  await expect(broken.text()).rejects.toThrow();
});

test("an error comes with its status, its headers and the vendor's body", async () => {
  await using model = await startScriptedModel({
    script: () => ({ error: { status: 429, headers: { "retry-after": "7" } } }),
  });
  const reply = await post(`${model.url}/v1/messages`, { messages: [] });
  expect(reply.status).toBe(429);
  expect(reply.headers.get("retry-after")).toBe("7");
  expect(await reply.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
});
