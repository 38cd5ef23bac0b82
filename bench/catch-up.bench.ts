/** P4: a client that is 30,000 events behind. */
import { WebSocket } from "ws";
import { startChild } from "./child.ts";
import { startDrover } from "./drover.ts";
import { report, toPercentiles } from "./result.ts";
import { makeEvent } from "./sample-event.ts";

const EVENTS = 30_000;
const BATCH = 1_000;
const ROUNDS = 7;

await using drover = await startDrover();
await using bare = startChild("bare-server.ts");
const bareUrl = await bare.ask<string>("start", drover.databaseUrl);
const sandbox = await drover.createSandbox();
for (let sent = 0; sent < EVENTS; sent += BATCH) {
  const events = Array.from({ length: BATCH }, (_, index) => makeEvent(sent + index, `c-${sent + index}`));
  const headers = { authorization: `Bearer ${sandbox.token}`, "content-type": "application/json" };
  const reply = await fetch(`${drover.url}/api/v1/sandboxes/${sandbox.id}/events`, {
    method: "POST",
    headers,
    body: JSON.stringify({ events }),
  });
  if (reply.status !== 200) throw new Error(`${reply.status} ${await reply.text()}`);
}

/** Milliseconds from the connection's start to the frame that says everything is there. */
function catchUp(url: string, headers = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const since = performance.now();
    let count = 0;
    const socket = new WebSocket(url, { headers, perMessageDeflate: false });
    socket.on("error", reject).on("message", (data: Buffer) => {
      if (data.includes('"type":"event"')) count += 1;
      else if (data.includes('"type":"sync"')) {
        socket.terminate();
        if (count < EVENTS) reject(new Error(`only ${count} events came`));
        else resolve(performance.now() - since);
      }
    });
  });
}

const oursOnce = () =>
  catchUp(`${drover.url.replace("http", "ws")}/api/v1/ws/events?after_seq=0&entity_ids=${sandbox.id}`, {
    authorization: `Bearer ${drover.token}`,
  });
const floorOnce = () => catchUp(`${bareUrl.replace("http", "ws")}/?all=${sandbox.id}`);
await oursOnce();
await floorOnce();
const samples = { ours: [] as number[], floor: [] as number[] };
for (let round = 0; round < ROUNDS; round += 1) {
  samples.ours.push(await oursOnce());
  samples.floor.push(await floorOnce());
}
const [ours, floor] = [toPercentiles(samples.ours), toPercentiles(samples.floor)];
report({
  id: "P4",
  title: "a client 30,000 events behind catches up",
  ours: ours.p50,
  floor: floor.p50,
  ratio: ours.p50 / floor.p50,
  target: "<= 2x raw select + send",
  met: ours.p50 / floor.p50 <= 2,
  n: ROUNDS,
  ...ours,
  unit: "ms",
  note: "rounds in turns; the floor sends unfiltered pages of 1,000",
});
