/** The server is killed while it sends webhooks: afterwards every event has been told, each as one message, under one signature. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { expect, test } from "vitest";
import { startDrover } from "../drover-process.ts";
import { createDatabase } from "../postgres.ts";
import { startReceiver } from "../webhook-receiver.ts";

const TOKEN = "drv_u_the-admin-of-the-killed-server";
const COUNT = 25;
const FACT = { timeout: 90_000, interval: 100 };

test("no event is lost and none becomes two messages when the server dies between", async () => {
  const database = await createDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "drover-webhooks-"));
  // Until the kill the receiver takes everything and answers nothing: the server dies with messages under way.
  let isSilent = true;
  await using receiver = await startReceiver(() => (isSilent ? undefined : 204));
  const env = { DROVER_WEBHOOK_ALLOW: `127.0.0.1:${receiver.port}`, DROVER_WEBHOOK_RETRY_SECONDS: "1,1,1,1,1" };
  const start = () => startDrover({ databaseUrl: database.url, dataDir, adminToken: TOKEN, environment: env });
  let drover = await start();
  const connect = () => createClient({ baseUrl: `http://127.0.0.1:${drover.port}`, token: TOKEN });
  try {
    const { id, worker_token } = await connect().createSandbox({ body: { provider: "external" } });
    const hook = await connect().createWebhook({ body: { url: receiver.url, event_types: ["agent.message"] } });
    const worker = createClient({ baseUrl: `http://127.0.0.1:${drover.port}`, token: worker_token });
    const events = Array.from({ length: COUNT }, (_, n) => ({ event_type: "agent.message", event_data: { n } }));
    await worker.ingestEvents({ params: { sandbox_id: id }, body: { events } });
    await expect.poll(() => receiver.received.length, FACT).toBeGreaterThan(0);
    await drover.kill();
    const before = receiver.received.length;
    isSilent = false;

    drover = await start();
    const input = { params: { webhook_id: hook.id }, query: { limit: 500 } };
    const delivered = async () => {
      const { items } = await connect().listDeliveries(input);
      return items.filter(({ state }) => state === "delivered").length;
    };
    await expect.poll(delivered, FACT).toBe(COUNT);
    const taken = receiver.received.slice(before);
    expect(new Set(taken.map(({ event }) => event.data["event_data"]).map((data) => JSON.stringify(data))).size).toBe(
      COUNT,
    );
    // A message that was under way comes again under its own id: a receiver knows what it has.
    const ids = new Map(receiver.received.map(({ event, headers }) => [headers["webhook-id"], event.id]));
    expect(ids.size).toBe(COUNT);
    expect(new Set(ids.values()).size).toBe(COUNT);
  } finally {
    await drover.stop();
    await rm(dataDir, { recursive: true, force: true });
    await database.drop();
  }
});
