/** What a webhook is told: its events and no others, again until they are taken, and again when somebody asks. */
import { Webhook as Verifier } from "standardwebhooks";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { startReceiver, type Received, type WebhookReceiver } from "../../../testkit/src/webhook-receiver.ts";

const startHooked = (receiver: WebhookReceiver) =>
  startTestServer({ config: { webhookAllow: `127.0.0.1:${receiver.port}`, webhookRetrySeconds: "0,0,0" } });

async function hook(server: TestServer, body: Readonly<Record<string, unknown>>) {
  const answer = await server.call("POST", "/webhooks", { body });
  expect(answer.status, answer.text).toBe(201);
  return answer.body;
}

const listLog = async (server: TestServer, id: string, query = "") =>
  (await server.call("GET", `/webhooks/${id}/deliveries${query}`)).body.items;

const typesOf = (received: readonly Received[]) => received.map(({ event }) => event.type);

test("a webhook is told the events of its project that it names, as signed CloudEvents, until they are taken", async () => {
  await using receiver = await startReceiver(({ event }, count) =>
    event.type === "drover.agent.message" && count < 3 ? 500 : 204,
  );
  await using server = await startHooked(receiver);
  const projectId = await server.createProject();
  const mine = await server.createSandbox({ project_id: projectId });
  const foreign = await server.createSandbox();
  await mine.post({ event_type: "agent.message", event_data: { text: "before it was made" } });
  const made = await hook(server, {
    url: receiver.url,
    project_id: projectId,
    event_types: ["agent.*", "STATE_CHANGED"],
  });

  await foreign.post({ event_type: "agent.message", event_data: { text: "not yours" } });
  await mine.post({ event_type: "command.output", event_data: { chunk: "not asked for" } });
  const { body: told } = await mine.post({ event_type: "agent.message", event_data: { text: "hello" } });
  await expect.poll(() => typesOf(receiver.received)).toEqual(Array(3).fill("drover.agent.message"));
  await expect
    .poll(() => listLog(server, made.id))
    .toMatchObject([{ event_id: told.event_id, seq: told.seq, state: "delivered", attempts: 3, last_status: 204 }]);

  const [first, second, third] = receiver.received;
  expect(new Set([first, second, third].map((one) => one?.headers["webhook-id"])).size).toBe(1);
  expect(third?.headers["content-type"]).toBe("application/cloudevents+json; charset=utf-8");
  expect(new Verifier(made.secret).verify(third?.text ?? "", { ...third?.headers })).toMatchObject({
    specversion: "1.0",
    id: told.event_id,
    source: `${server.url}/api/v1/sandboxes/${mine.id}`,
    type: "drover.agent.message",
    subject: `sandbox/${mine.id}`,
    time: expect.any(String),
    datacontenttype: "application/json",
    projectid: projectId,
    data: { event_type: "agent.message", event_data: { text: "hello" }, seq: told.seq, sandbox_id: mine.id },
  });

  const [delivery] = await listLog(server, made.id);
  await server.call("POST", `/webhooks/${made.id}/deliveries/${delivery.id}/redeliver`);
  await expect.poll(() => receiver.received.length).toBe(4);
  expect(receiver.received[3]?.headers["webhook-id"]).toBe(third?.headers["webhook-id"]);

  const { body: rotated } = await server.call("POST", `/webhooks/${made.id}/rotate-secret`);
  await server.call("POST", `/webhooks/${made.id}/ping`);
  await expect.poll(() => typesOf(receiver.received)).toContain("drover.webhook.ping");
  const ping = receiver.received[4];
  expect(() => new Verifier(made.secret).verify(ping?.text ?? "", { ...ping?.headers })).toThrow();
  expect(new Verifier(rotated.secret).verify(ping?.text ?? "", { ...ping?.headers })).toMatchObject({ data: {} });
});

test("what is never taken has failed, who is gone is told nothing more, and the secret is told once", async () => {
  await using receiver = await startReceiver(({ path }) => (path === "/gone" ? 410 : 503));
  await using server = await startHooked(receiver);
  const refused = await hook(server, { url: receiver.url });
  const gone = await hook(server, { url: receiver.url.replace("/hook", "/gone") });
  expect(refused.secret).toMatch(/^whsec_/);
  expect((await server.call("GET", `/webhooks/${refused.id}`)).body).not.toHaveProperty("secret");
  const sandbox = await server.createSandbox();
  await expect.poll(async () => (await listLog(server, refused.id, "?state=failed")).length).toBeGreaterThan(0);
  const [failed] = await listLog(server, refused.id, "?state=failed");
  expect(failed).toMatchObject({ attempts: 4, last_status: 503, next_try_at: null });
  const isGone = async () => (await server.call("GET", `/webhooks/${gone.id}`)).body;
  await expect.poll(isGone).toMatchObject({ is_enabled: false, disabled_reason: expect.stringContaining("410") });
  const seen = receiver.received.filter(({ path }) => path === "/gone").length;
  await sandbox.post({ event_type: "agent.message" });
  // The other one has been told of it; this one would have been too.
  const told = () =>
    listLog(server, refused.id).then((log) => log.map((one: { event_type: string }) => one.event_type));
  await expect.poll(told).toContain("agent.message");
  expect(receiver.received.filter(({ path }) => path === "/gone")).toHaveLength(seen);
});

test("a receiver that never answers keeps no other waiting", async () => {
  await using receiver = await startReceiver(({ path }) => (path === "/deaf" ? undefined : 204));
  await using server = await startHooked(receiver);
  const deaf = await hook(server, { url: receiver.url.replace("/hook", "/deaf"), event_types: ["agent.*"] });
  await hook(server, { url: receiver.url, event_types: ["agent.*"] });
  const sandbox = await server.createSandbox();
  const events = Array.from({ length: 25 }, () => ({ event_type: "agent.message" }));
  await sandbox.post({ events });
  const taken = () => receiver.received.filter(({ path }) => path === "/hook").length;
  await expect.poll(taken).toBe(25);
  // More than is sent at once: the other waited for none of these.
  const tried = (await listLog(server, deaf.id)).filter(({ attempts }: { attempts: number }) => attempts > 0);
  expect(tried.map(({ attempts, last_error }: Record<string, unknown>) => [attempts, last_error])).toEqual(
    Array(10).fill([1, null]),
  );
});

test("whoever administers one project sees and makes webhooks of that one, and no inner address is taken", async () => {
  await using receiver = await startReceiver(() => 204);
  await using server = await startHooked(receiver);
  const projectId = await server.createProject();
  const everywhere = await hook(server, { url: receiver.url, is_enabled: false });
  const [{ token }, operator] = [await server.createToken("admin", projectId), await server.createToken("operator")];
  const made = await server.call("POST", "/webhooks", {
    token,
    body: { url: "https://receiver.example/", is_enabled: false },
  });
  expect(made.body.project_id).toBe(projectId);
  const { body: seen } = await server.call("GET", "/webhooks", { token });
  expect(seen.items.map(({ id }: { id: string }) => id)).toEqual([made.body.id]);
  expect((await server.call("GET", `/webhooks/${everywhere.id}`, { token })).status).toBe(404);
  expect((await server.call("GET", "/webhooks", { token: operator.token })).status).toBe(403);
  const inside = await server.call("POST", "/webhooks", { body: { url: "https://169.254.169.254/latest" } });
  expect(inside).toMatchObject({ status: 422, body: { type: "urn:drover:error:webhook.refused" } });
});
