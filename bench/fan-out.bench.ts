/** P3: 1,000 sockets on one sandbox. */
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";
import { makeEvent } from "./sample-event.ts";

const SOCKETS = 1_000;
const EVENTS = 500;
const BATCH = 50;
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

async function postAll(): Promise<void> {
  for (let sent = 0; sent < EVENTS; sent += BATCH) {
    const events = Array.from({ length: BATCH }, () => makeEvent(++n, `f-${n}`));
    const reply = await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/events`, {
      method: "POST",
      headers,
      body: JSON.stringify({ events }),
    });
    if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
    await reply.arrayBuffer();
  }
}

/** Events a second, each at every socket. */
async function rate(given: typeof clients, send: () => Promise<void>): Promise<number> {
  await given.ask("expectMore", EVENTS);
  const since = performance.now();
  await Promise.all([given.ask("waitForAll"), send()]);
  return EVENTS / ((performance.now() - since) / 1_000);
}

const oursOnce = () => rate(clients, postAll);
const floorOnce = () => rate(bareClients, () => bare.ask("broadcast"));

await clients.ask("open", stream, drover.token, SOCKETS);
await bareClients.ask("open", bareUrl.replace("http", "ws"), undefined, SOCKETS);
// The first event turns the sandbox to running, which is one frame more: it is not counted.
await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/events`, {
  method: "POST",
  headers,
  body: JSON.stringify(makeEvent(++n, `f-${n}`)),
});
await oursOnce();
const frames = (await clients.ask<string[]>("sample")).slice(-EVENTS);
await bare.ask("setFrames", frames);
await floorOnce();
const samples = { ours: [] as number[], floor: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  samples.ours.push(await oursOnce());
  samples.floor.push(await floorOnce());
}
const [ours, floor] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
report({
  id: "P3",
  title: `${SOCKETS} sockets on one sandbox, events/s at every one of them`,
  ours: ours.p50,
  floor: floor.p50,
  ratio: ours.p50 / floor.p50,
  target: ">= 0.7 of a bare ws broadcast of the same bytes",
  met: ours.p50 / floor.p50 >= 0.7,
  n: ROUNDS,
  ...ours,
  unit: "events/s",
  note: `${EVENTS} events a round, stored durably first; every socket counted every event`,
});
