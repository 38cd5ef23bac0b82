/** P3: 1,000 sockets on one sandbox. */
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";
import { makeEvent } from "./sample-event.ts";

const SOCKETS = 1_000;
const EVENTS = 500;
const BATCH = 50;
const POSTERS = 8;
const ROUNDS = 5;

await using drover = await startDrover();
await using clients = startChild("socket-clients.ts");
await using bareClients = startChild("socket-clients.ts");
await using bare = startChild("bare-server.ts");
const bareUrl = await bare.ask<string>("start", undefined);
const sandbox = await drover.createSandbox();
const stream = `${drover.url.replace("http", "ws")}/api/v1/ws/events?entity_ids=${sandbox.id}`;
const headers = { authorization: `Bearer ${sandbox.token}`, "content-type": "application/json" };
let n = 0;

async function post(body: unknown): Promise<void> {
  const reply = await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/events`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
  await reply.arrayBuffer();
}

const next = () => makeEvent(++n, `f-${n}`);

async function postBatches(): Promise<void> {
  for (let sent = 0; sent < EVENTS; sent += BATCH) await post({ events: Array.from({ length: BATCH }, next) });
}

/** One event a request: nothing is joined that did not have to wait. */
async function postSingly(): Promise<void> {
  let left = EVENTS;
  const poster = async () => {
    while (left-- > 0) await post(next());
  };
  await Promise.all(Array.from({ length: POSTERS }, poster));
}

/** Events a second, each at every socket. */
async function rate(given: typeof clients, send: () => Promise<void>): Promise<number> {
  await given.ask("expectMore", EVENTS);
  const since = performance.now();
  await Promise.all([given.ask("waitForAll"), send()]);
  return EVENTS / ((performance.now() - since) / 1_000);
}

const batchesOnce = () => rate(clients, postBatches);
const singlyOnce = () => rate(clients, postSingly);
const floorOnce = () => rate(bareClients, () => bare.ask("broadcast"));

await clients.ask("open", stream, drover.token, SOCKETS);
await bareClients.ask("open", bareUrl.replace("http", "ws"), undefined, SOCKETS);
// The first event turns the sandbox to running, which is one frame more: it is not counted.
await post(next());
await batchesOnce();
const frames = (await clients.ask<string[]>("sample")).slice(-EVENTS);
await bare.ask("setFrames", frames);
await floorOnce();
await singlyOnce();
const samples = { batches: [] as number[], singly: [] as number[], floor: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  samples.batches.push(await batchesOnce());
  samples.floor.push(await floorOnce());
  samples.singly.push(await singlyOnce());
}
const floor = toPercentiles(samples.floor).p50;
for (const [id, arrival, rates, note] of [
  [
    "P3a",
    `in batches of ${BATCH}`,
    samples.batches,
    "a batch is one write to each socket, the floor sends frame by frame",
  ],
  ["P3b", "one by one", samples.singly, `${POSTERS} posters; what waits while another is stored shares a write`],
] as const) {
  const ours = toPercentiles(rates);
  report({
    id,
    title: `${SOCKETS} sockets on one sandbox, events/s at every one of them, arriving ${arrival}`,
    ours: ours.p50,
    floor,
    ratio: ours.p50 / floor,
    target: ">= 0.7 of a bare ws broadcast of the same bytes",
    met: ours.p50 / floor >= 0.7,
    n: ROUNDS,
    ...ours,
    unit: "events/s",
    note: `${EVENTS} events a round, stored durably first; every socket counted every event; ${note}`,
  });
}
