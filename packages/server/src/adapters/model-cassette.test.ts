/** Recorded once, answered for ever: without a vendor, without keys, whatever changed in the requests meanwhile.
 *  Broken on purpose, each seen here: a key that the vendor quotes kept, whole or in pieces; refusals kept; answers given by their order alone; replays that
 *  cost something. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test as base } from "vitest";
import { startScriptedModel } from "../../../testkit/src/model/scripted-model.ts";
import { startTestServer, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";

const KEY = "sk-ant-CANARY-recorded";

const test = base.extend<{ file: string }>({
  file: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "cassette-"));
    await use(join(folder, "calls", "run.jsonl"));
    await rm(folder, { recursive: true, force: true });
  },
});

const TOOLS = [{ name: "Write" }];

/** As an agent asks: with what it did so far, and with dates and ids that are never the same. */
const ask = (server: TestServer, sandbox: TestSandbox, steps: number, more: object = {}) =>
  server.call("POST", "/gateway/anthropic/v1/messages", {
    token: sandbox.token,
    body: {
      model: "claude-sonnet-4-5",
      stream: true,
      tools: TOOLS,
      system: `Today is ${performance.now()}, in ${sandbox.id}`,
      messages: [
        { role: "user", content: "do it" },
        ...Array.from({ length: steps }, (_, step) => [
          {
            role: "assistant",
            content: [{ type: "tool_use", id: `id-${performance.now()}`, name: "Write", input: {} }],
          },
          { role: "user", content: [{ type: "tool_result", tool_use_id: `id-${step}`, content: "done" }] },
        ]).flat(),
      ],
      ...more,
    },
  });

const SCRIPT = [
  { text: "first", tools: [{ name: "Write", input: { file_path: "a" } }] },
  // In one piece of the stream; the next in two.
  { text: KEY },
  { text: `A long text that is followed by ${KEY}` },
  { error: { status: 529 } },
];

async function record(file: string): Promise<readonly string[]> {
  await using model = await startScriptedModel({ script: SCRIPT });
  await using server = await startTestServer({
    config: { anthropicBaseUrl: model.url, anthropicApiKey: KEY, cassette: file, cassetteMode: "record" },
  });
  const sandbox = await server.createSandbox();
  const title = await ask(server, sandbox, 0, { tools: [], stream: false });
  const answers = [await ask(server, sandbox, 0), await ask(server, sandbox, 1)];
  // Neither is worth hearing again.
  expect(await ask(server, sandbox, 2)).toMatchObject({ status: 200 });
  expect(await ask(server, sandbox, 2)).toMatchObject({ status: 529 });
  return [title, ...answers].map(({ text }) => text);
}

test("a run is answered from its recording, and costs nobody anything", async ({ file }) => {
  const recorded = await record(file);
  const kept = await readFile(file, "utf8");
  expect(kept.trim().split("\n")).toHaveLength(3);
  expect(kept).toContain("***");
  expect(kept).not.toContain(KEY);
  expect(kept).not.toContain("A long text");
  expect(kept).not.toContain("do it");

  await using server = await startTestServer({ config: { cassette: file } });
  for (const sandbox of [await server.createSandbox(), await server.createSandbox({ budget_usd: 1 })]) {
    const answers = [
      await ask(server, sandbox, 0),
      await ask(server, sandbox, 1),
      await ask(server, sandbox, 0, { tools: [], stream: false }),
    ];
    expect(answers.map(({ text }) => text)).toEqual(
      [recorded[1], recorded[2]?.replace(KEY, "***"), recorded[0]].map((text) => text),
    );
    expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body).toMatchObject({
      cost_usd: 0,
      unpriced_calls: 0,
      tokens: { input: 300, output: 60 },
    });
    const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.usage`);
    expect(body.events[0].event_data).toMatchObject({ replayed: true, cost_usd: 0 });
  }
  const resumed = await ask(server, await server.createSandbox(), 1);
  expect(resumed.text).toBe(recorded[2]?.replace(KEY, "***"));
  const asked = await ask(server, await server.createSandbox(), 0, { stream: false });
  expect(asked).toMatchObject({ status: 422 });
  expect(asked.body.detail).toContain("the recording has no answer");
});

test("one sandbox has a recording of its own, beside others with a vendor", async ({ file }) => {
  await record(file);
  await using model = await startScriptedModel({ script: () => ({ text: "from the vendor" }) });
  await using server = await startTestServer({ config: { anthropicBaseUrl: model.url } });
  const [played, other] = [await server.createSandbox(), await server.createSandbox()];
  await server.db.query({
    text: "update sandboxes set spec = spec || jsonb_build_object('cassette', $1::text) where id = $2",
    values: [file, played.id],
  });
  expect((await ask(server, played, 0)).text).toContain("first");
  expect((await ask(server, other, 0)).text).toContain("from the vendor");
  expect(model.requests).toHaveLength(1);
});
