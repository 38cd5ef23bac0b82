/** P2: from a POST to a WebSocket client at 200 events a second. */
import { Agent, request } from "node:http";
import { WebSocket } from "ws";
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";
import { makeEvent } from "./sample-event.ts";

const RATE = 200;
const ROUND_EVENTS = 300;
const ROUNDS = 12;

const agent = new Agent({ keepAlive: true });
const pause = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));

function post(url: URL, token: string, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    request(url, { method: "POST", agent, headers }, (reply) => {
      reply
        .resume()
        .on("end", () => (reply.statusCode === 200 ? resolve() : reject(new Error(`status ${reply.statusCode}`))));
    })
      .on("error", reject)
      .end(body);
  });
}

let n = 0;

/** Milliseconds from the start of each POST to its frame. */
async function measure(postUrl: URL, token: string, socket: WebSocket): Promise<readonly number[]> {
  const started = new Map<string, number>();
  const samples: number[] = [];
  const done = Promise.withResolvers<void>();
  const listen = (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as { type: string; payload?: { mark?: string } };
    const since = started.get(frame.payload?.mark ?? "");
    if (frame.type !== "event" || since === undefined) return;
    samples.push(performance.now() - since);
    if (samples.length === ROUND_EVENTS) done.resolve();
  };
  socket.on("message", listen);
  const begin = performance.now();
  const posts: Promise<void>[] = [];
  for (let index = 0; index < ROUND_EVENTS; index += 1) {
    const due = begin + (index * 1_000) / RATE;
    if (performance.now() < due) await pause(due - performance.now());
    const { client_event_id: _, ...event } = makeEvent(++n, "");
    const mark = `m${n}`;
    started.set(mark, performance.now());
    posts.push(post(postUrl, token, JSON.stringify({ ...event, event_data: { ...event.event_data, mark } })));
  }
  await Promise.all([...posts, done.promise]);
  socket.off("message", listen);
  return samples;
}

const connect = (url: string, headers = {}) =>
  new Promise<WebSocket>((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.once("open", () => resolve(socket)).once("error", reject);
  });

await using drover = await startDrover();
await using bare = startChild("bare-server.ts");
const bareUrl = await bare.ask<string>("start", drover.databaseUrl);
const sandbox = await drover.createSandbox();
const oursUrl = new URL(`${drover.url}/api/v1/sandboxes/${sandbox.id}/events`);
const ours = await connect(`${drover.url.replace("http", "ws")}/api/v1/ws/events?entity_ids=${sandbox.id}`, {
  authorization: `Bearer ${drover.token}`,
});
const floor = await connect(bareUrl.replace("http", "ws"));
await measure(oursUrl, sandbox.token, ours);
await measure(new URL(bareUrl), "", floor);
const samples = { ours: [] as number[], floor: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  samples.ours.push(...(await measure(oursUrl, sandbox.token, ours)));
  samples.floor.push(...(await measure(new URL(bareUrl), "", floor)));
}
ours.terminate();
floor.terminate();
const [a, b] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
for (const [id, name, key] of [
  ["P2a", "p50", "p50"],
  ["P2b", "p99", "p99"],
] as const) {
  report({
    id,
    title: `POST to WebSocket client at ${RATE} events/s, ${name}`,
    ours: a[key],
    floor: b[key],
    ratio: a[key] / b[key],
    target: "<= 2x bare HTTP + committed insert + ws send",
    met: a[key] / b[key] <= 2,
    n: samples.ours.length,
    ...a,
    unit: "ms",
    note: `${ROUNDS} rounds of ${ROUND_EVENTS} each, taken in turns`,
  });
}
agent.destroy();
