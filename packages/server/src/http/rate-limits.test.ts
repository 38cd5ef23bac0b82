import { startTestServer, test } from "../../../testkit/src/server.ts";

const batch = (from: number, count: number) => ({
  events: Array.from({ length: count }, (_, n) => ({ event_type: "agent.message", client_event_id: `e${from + n}` })),
});

test.concurrent("too many events are 429 with the time to wait, all or none, and nothing is lost by coming again", async ({
  expect,
}) => {
  await using server = await startTestServer({ config: { eventsPerSecond: 100, eventBurst: 150 } });
  const [sandbox, other] = [await server.createSandbox(), await server.createSandbox()];
  expect((await sandbox.post(batch(0, 150))).status).toBe(200);
  const refused = await sandbox.post(batch(150, 100));
  expect([refused.status, refused.body.type]).toEqual([429, "urn:drover:error:request.rate_limited"]);
  const seconds = Number(refused.headers["retry-after"]);
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(2);
  // Another sandbox has its own allowance.
  expect((await other.post(batch(0, 100))).status).toBe(200);
  await expect
    .poll(async () => (await sandbox.post(batch(150, 100))).status, { timeout: 20_000, interval: 200 })
    .toBe(200);
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.message`);
  expect(body.total_count).toBe(250);
});

test.concurrent("a heartbeat counts as an event", async ({ expect }) => {
  await using server = await startTestServer({ config: { eventsPerSecond: 1, eventBurst: 2 } });
  const { id, token } = await server.createSandbox();
  const beat = async () => (await server.call("POST", `/sandboxes/${id}/heartbeat`, { token })).status;
  expect([await beat(), await beat(), await beat()]).toEqual([200, 200, 429]);
});
