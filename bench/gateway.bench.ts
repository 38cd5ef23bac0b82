/** P12: a streamed model call through the gateway against the same call made directly. */
import { Agent, request } from "node:http";
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";

const CALLS = 150;
const ROUNDS = 4;
const AT_ONCE = 16;
const EVENTS = 300;
const EVERY_MS = 10;
/** Its end comes apart from its beginning: before the end what was used is put on record. */
const SHORT = { events: 3, every_ms: 5 };

const agent = new Agent({ keepAlive: true });

interface Side {
  readonly url: URL;
  readonly token: string;
}

/** A prompt of the size that agents send. */
const toBody = (metadata: object) =>
  JSON.stringify({
    model: "claude-sonnet-4-5",
    stream: true,
    max_tokens: 1_000,
    metadata,
    messages: [{ role: "user", content: "x".repeat(50_000) }],
  });

/** Milliseconds to the first byte, and bytes in all. */
function call({ url, token }: Side, metadata: object): Promise<{ firstMs: number; bytes: number }> {
  const body = toBody(metadata);
  return new Promise((resolve, reject) => {
    const begin = performance.now();
    let firstMs = 0;
    let bytes = 0;
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    request(url, { method: "POST", agent, headers }, (reply) => {
      reply.on("data", (chunk: Buffer) => {
        if (bytes === 0) firstMs = performance.now() - begin;
        bytes += chunk.length;
      });
      reply.on("end", () =>
        reply.statusCode === 200 ? resolve({ firstMs, bytes }) : reject(new Error(`status ${reply.statusCode}`)),
      );
    })
      .on("error", reject)
      .end(body);
  });
}

/** Bytes a second of many calls at once. */
async function measureRate(sides: readonly Side[], metadata: object): Promise<number> {
  const begin = performance.now();
  const answers = await Promise.all(sides.map((side) => call(side, metadata)));
  return (answers.reduce((sum, one) => sum + one.bytes, 0) * 1_000) / (performance.now() - begin);
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

await using model = startChild("serve-model.ts");
const modelUrl = await model.ask<string>("start");
await using drover = await startDrover(undefined, { ANTHROPIC_BASE_URL: modelUrl });
const direct: Side = { url: new URL(`${modelUrl}/v1/messages`), token: "none" };
const gatewayUrl = new URL(`${drover.url}/api/v1/gateway/anthropic/v1/messages`);
/** One agent each. */
const agents: Side[] = [];
for (let n = 0; n < AT_ONCE; n += 1) agents.push({ url: gatewayUrl, token: (await drover.createSandbox()).token });
const [ours = direct] = agents;
const directs = agents.map(() => direct);

const firsts = { direct: [] as number[], ours: [] as number[] };
for (let warm = 0; warm < 20; warm += 1) for (const side of [direct, ours]) await call(side, SHORT);
for (let n = 0; n < CALLS; n += 1) {
  firsts.direct.push((await call(direct, SHORT)).firstMs);
  firsts.ours.push((await call(ours, SHORT)).firstMs);
}
const [oursFirst, directFirst] = [toPercentiles(firsts.ours), toPercentiles(firsts.direct)];
report({
  id: "P12a",
  title: "gateway: first byte of a streamed model call",
  unit: "ms",
  ours: oursFirst.p50,
  floor: directFirst.p50,
  ratio: oursFirst.p50 / directFirst.p50,
  target: "<= 5 ms more than a direct call",
  met: oursFirst.p50 - directFirst.p50 <= 5,
  n: CALLS,
  ...oursFirst,
  note: `${(oursFirst.p50 - directFirst.p50).toFixed(1)} ms more at p50, ${(oursFirst.p95 - directFirst.p95).toFixed(1)} at p95; prompts of 50 KB`,
});

const paced = { events: EVENTS, every_ms: EVERY_MS };
const full = { events: 20_000 };
const rates = { direct: [] as number[], ours: [] as number[] };
const fullRates = { direct: [] as number[], ours: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  rates.direct.push(await measureRate(directs, paced));
  rates.ours.push(await measureRate(agents, paced));
  fullRates.direct.push(await measureRate(directs, full));
  fullRates.ours.push(await measureRate(agents, full));
}
const ratio = mean(rates.ours) / mean(rates.direct);
report({
  id: "P12b",
  title: `gateway: throughput of ${AT_ONCE} streamed calls at once`,
  unit: "bytes/s",
  ours: mean(rates.ours),
  floor: mean(rates.direct),
  ratio,
  target: ">= 0.9 of direct calls",
  met: ratio >= 0.9,
  n: ROUNDS,
  ...toPercentiles(rates.ours),
  note: `each answer ${EVENTS} events at the pace of a model, one every ${EVERY_MS} ms; with no pace at all (a vendor faster than any) the gateway passes ${Math.round(mean(fullRates.ours) / 2 ** 20)} MiB/s, ${(mean(fullRates.ours) / mean(fullRates.direct)).toFixed(2)} of direct`,
});
agent.destroy();
