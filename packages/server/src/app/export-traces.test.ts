/** Runs as traces: read off the log, told once to a collector that speaks the published protocol. Broken on purpose and seen to fail here: a
 *  run that is not marked as told, content that is sent unasked, ids that are drawn anew. */
import { expect } from "vitest";
import { startOtlpReceiver, type ReceivedSpan } from "../../../testkit/src/otlp-receiver.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { writeSandboxEvents } from "./change-state.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { exportTracesOnce } from "./export-traces.ts";

const SECRET = "what-nobody-asked-to-send";
const signal = () => new AbortController().signal;

/** A turn with a tool that fails and a model call, then its end. */
async function runOnce(server: TestServer): Promise<string> {
  const sandbox = await server.createSandbox({ prompt: SECRET, runtime: "scripted" });
  const post = (event_type: string, event_data: object) => sandbox.post({ event_type, event_data });
  await post("agent.started", { turn: 1 });
  await post("agent.tool_use", { turn: 1, tool_use_id: "t1", tool: "Bash", input: { command: SECRET } });
  await post("agent.tool_completed", { turn: 1, tool_use_id: "t1", tool: "Bash", is_error: true, result: SECRET });
  const data = { turn: 1, provider: "gemini", model: "m", input_tokens: 12, output_tokens: 3, cost_usd: 0.25 };
  await writeSandboxEvents(server.deps, sandbox.id, (row) => [
    draftSandboxEvent(server.deps.ids, row, { eventType: "agent.usage", data }),
  ]);
  await post("agent.message", { turn: 1, content: SECRET });
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  return sandbox.id;
}

const names = (spans: readonly ReceivedSpan[]) => spans.map(({ name }) => name);

test("a run is one trace, told once whatever dies, without content unless it is asked for", async () => {
  await using database = await createDatabase();
  await using receiver = await startOtlpReceiver();
  receiver.answer(400);
  const config = { otelEndpoint: `${receiver.url}/`, otelServiceName: "drover of a test" };
  const first = await startTestServer({ database, config });
  try {
    const id = await runOnce(first);
    // A collector that refuses is asked about later, and nothing else notices.
    await expect.poll(() => receiver.requests()).toBeGreaterThan(0);
    await expect
      .poll(async () => (await database.db.query(sql`select sent_at, next_try_at > now() as rests from run_traces`))[0])
      .toEqual({ sent_at: null, rests: true });
    receiver.answer(200);
    await database.db.query(sql`update run_traces set next_try_at = now() - interval '1 second'`);
    await exportTracesOnce(first.deps, signal());
    await expect.poll(() => receiver.spans.length).toBe(4);
    const [run, turn, tool, call] = receiver.spans;
    expect(names(receiver.spans)).toEqual(["invoke_agent scripted", "turn 1", "execute_tool Bash", "chat m"]);
    expect(new Set(receiver.spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect(run?.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect([turn?.parentSpanId, tool?.parentSpanId, call?.parentSpanId]).toEqual([
      run?.spanId,
      turn?.spanId,
      turn?.spanId,
    ]);
    expect(run).toMatchObject({ parentSpanId: "", service: "drover of a test", kind: 1, status: 0 });
    expect(run?.attributes).toMatchObject({ "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": id });
    expect(tool).toMatchObject({ status: 2, attributes: { "gen_ai.tool.call.id": "t1", "error.type": "tool_failed" } });
    expect(call).toMatchObject({
      kind: 3,
      attributes: {
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 3,
        "drover.cost_usd": 0.25,
      },
    });
    for (const span of receiver.spans) expect(span.endNs >= span.startNs && span.startNs > 0n, span.name).toBe(true);
    expect(JSON.stringify(receiver.spans.map(({ attributes }) => attributes))).not.toContain(SECRET);
    expect(await exportTracesOnce(first.deps, signal())).toEqual({ told: 0 });
  } finally {
    await first.stop();
  }
  // A server that died between telling and noting tells again: under the same ids.
  await database.db.query(sql`update run_traces set sent_at = null, next_try_at = now()`);
  await using second = await startTestServer({ database, config: { ...config, otelCaptureContent: true } });
  await expect.poll(() => receiver.spans.length).toBe(8);
  const [once, again] = [receiver.spans.slice(0, 4), receiver.spans.slice(4)];
  expect(again.map(({ spanId }) => spanId)).toEqual(once.map(({ spanId }) => spanId));
  expect(again[2]?.attributes).toMatchObject({ "gen_ai.tool.call.result": SECRET });
  await expect
    .poll(async () => (await database.db.query(sql`select sent_at from run_traces`))[0]?.["sent_at"])
    .not.toBeNull();
  expect(await exportTracesOnce(second.deps, signal())).toEqual({ told: 0 });
});

test("without a collector nothing is loaded and nothing is noted", async ({ server }) => {
  expect(server.deps.traces).toBeUndefined();
  await runOnce(server);
  expect(await exportTracesOnce(server.deps, signal())).toEqual({ told: 0 });
  expect(await server.db.query(sql`select 1 as found from run_traces`)).toEqual([]);
});
