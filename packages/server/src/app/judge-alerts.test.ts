import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { startReceiver } from "../../../testkit/src/webhook-receiver.ts";
import { sql } from "../store/sql.ts";
import { deliverAlertsOnce } from "./deliver-alerts.ts";
import type { Deps } from "./deps.ts";
import { measureOnce } from "./measure.ts";

const MINUTE_MS = 60_000;
const never = new AbortController().signal;

/** Measured at moments that lie far enough ahead that the server's own measuring does not come between. */
async function openClock(server: TestServer, hear: (message: string) => void = () => undefined) {
  // The first look of the server itself is over: two do not measure at once.
  await expect.poll(() => server.deps.passes.get("measure")?.lastDurationMs).toEqual(expect.any(Number));
  const startMs = Date.now() + 60 * MINUTE_MS;
  return (minutes: number): Deps => ({
    ...server.deps,
    clock: { ...server.deps.clock, now: () => new Date(startMs + minutes * MINUTE_MS) },
    log: { ...server.deps.log, warn: (message) => hear(message) },
  });
}

const alertsOf = async (server: TestServer) => (await server.call("GET", "/monitor/alerts")).body.items;
const eventsOf = async (server: TestServer, type: string) =>
  (await server.call("GET", `/events?event_type=${type}&order=asc`)).body.events;
const RULE = { name: "sandboxes", metric: "active_sandboxes", comparison: "above", threshold: 0, for_seconds: 60 };

test("a rule fires when its condition has held for long enough, once, is told where it says, and ends", async () => {
  await using receiver = await startReceiver((_, count) => (count === 1 ? 500 : 204));
  await using server = await startTestServer({ config: { webhookAllow: `127.0.0.1:${receiver.port}` } });
  const logged: string[] = [];
  const at = await openClock(server, (message) => logged.push(message));
  const secret = `whsec_${randomBytes(24).toString("base64")}`;
  const channels = [{ kind: "log" }, { kind: "desktop" }, { kind: "webhook", url: receiver.url }];
  const { body: rule } = await server.call("POST", "/monitor/alert-rules", {
    body: { ...RULE, severity: "critical", cool_down_seconds: 600, channels, secret },
  });
  expect(rule).toMatchObject({ has_secret: true, channels });
  expect(JSON.stringify(rule)).not.toContain(secret);
  const sandbox = await server.createSandbox();
  await measureOnce(at(0));
  expect(await alertsOf(server)).toEqual([]);
  // It does not hold for a moment, and the time begins again.
  await server.call("PATCH", `/monitor/alert-rules/${rule.id}`, { body: { threshold: 5 } });
  await measureOnce(at(0.5));
  await server.call("PATCH", `/monitor/alert-rules/${rule.id}`, { body: { threshold: 0 } });
  await measureOnce(at(1));
  expect(await alertsOf(server)).toEqual([]);
  await measureOnce(at(2));
  await measureOnce(at(3));
  const [alert] = await alertsOf(server);
  expect(await alertsOf(server)).toMatchObject([
    { rule_id: rule.id, state: "firing", value: 1, is_quiet: false, severity: "critical" },
  ]);
  expect(await eventsOf(server, "alert.fired")).toMatchObject([
    { event_data: { alert_id: alert.id, desktop: true, metric: "active_sandboxes", value: 1 } },
  ]);
  expect(logged).toEqual(["alert.fired"]);
  expect((await server.call("GET", "/monitor/dashboard")).body.critical_alerts).toBe(1);

  // Refused once, the same message comes again, signed as the library of the standard wants it.
  await expect
    .poll(async () => {
      await deliverAlertsOnce(at(10), never);
      return (await alertsOf(server))[0].deliveries;
    })
    .toMatchObject([{ kind: "fired", status: "delivered", attempts: 2, error: null }]);
  const [first, second] = receiver.received;
  expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"]);
  expect(new Webhook(secret).verify(second?.text ?? "", second?.headers ?? {})).toMatchObject({
    type: "alert.fired",
    data: { alert_id: alert.id, name: "sandboxes" },
  });

  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  await measureOnce(at(11));
  expect(await alertsOf(server)).toMatchObject([{ state: "resolved", resolved_at: expect.any(String) }]);
  expect(await eventsOf(server, "alert.resolved")).toHaveLength(1);
  const { body: seen } = await server.call("POST", `/monitor/alerts/${alert.id}/acknowledge`);
  expect(seen.acknowledged_at).toEqual(expect.any(String));
});

test("within the cool-down the next one is kept and nobody is told; a rule that is switched off rests", async () => {
  await using server = await startTestServer();
  const at = await openClock(server);
  const body = { ...RULE, for_seconds: 0, cool_down_seconds: 600 };
  const { body: rule } = await server.call("POST", "/monitor/alert-rules", { body });
  const spell = async (minutes: number) => {
    const sandbox = await server.createSandbox();
    await measureOnce(at(minutes));
    await server.call("DELETE", `/sandboxes/${sandbox.id}`);
    await measureOnce(at(minutes + 1));
  };
  for (const minutes of [0, 4, 20]) await spell(minutes);
  const quiet = (await alertsOf(server)).map((one: { is_quiet: boolean }) => one.is_quiet);
  expect(quiet).toEqual([false, true, false]);
  const told = (await eventsOf(server, "alert.fired")).map((one: { event_data: object }) => one.event_data);
  expect(told).toMatchObject([{ desktop: true }, { desktop: false }, { desktop: true }]);
  await server.call("PATCH", `/monitor/alert-rules/${rule.id}`, { body: { enabled: false } });
  await spell(60);
  expect(await alertsOf(server)).toHaveLength(3);
});

test("an address inside the network is refused when it is named, and a project's rules are its own", async () => {
  await using server = await startTestServer();
  const post = (more: object, token?: string) =>
    server.call("POST", "/monitor/alert-rules", {
      body: { ...RULE, ...more },
      ...(token === undefined ? {} : { token }),
    });
  for (const url of ["http://127.0.0.1:9/", "http://169.254.169.254/latest", "http://[::1]/", "ftp://example.com/"])
    expect((await post({ channels: [{ kind: "webhook", url }] })).status, url).toBe(422);
  const [mine, other] = [await server.createProject(), await server.createProject()];
  const operator = (await server.createToken("operator", mine)).token;
  expect((await post({}, operator)).status).toBe(403);
  expect((await post({ project_id: other }, operator)).status).toBe(404);
  const own = await post({ project_id: mine }, operator);
  expect(own.status).toBe(201);
  const foreign = await post({ project_id: other });
  const path = (id: string) => `/monitor/alert-rules/${id}`;
  expect((await server.call("GET", path(foreign.body.id), { token: operator })).status).toBe(404);
  const [ofAll] = (await server.db.query(
    sql`select id from alert_rules where project_id is null order by id limit 1`,
  )) as {
    id: string;
  }[];
  expect((await server.call("GET", path(ofAll?.id ?? ""), { token: operator })).status).toBe(200);
  const off = { body: { enabled: false }, token: operator };
  expect((await server.call("PATCH", path(ofAll?.id ?? ""), off)).status).toBe(403);
  expect((await server.call("PATCH", path(own.body.id), off)).body.enabled).toBe(false);
  expect((await server.call("DELETE", path(own.body.id), { token: operator })).status).toBe(200);
  expect((await server.call("GET", path(own.body.id))).status).toBe(404);
});
