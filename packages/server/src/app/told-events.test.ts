/** The server's own events are told when what they name happens, with what the documents promise. Broken on purpose, each seen to fail here:
 *  one of the two names of a ticket's step is left out; a status is told that did not change; two replicas tell one
 *  silence; a server that was away says that somebody was heard again; a pass that fails again is told again. */
import type { StoredEvent } from "@drover/contract";
import { expect, vi } from "vitest";
import { isEvent, isSync } from "../../../testkit/src/live-stream.ts";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { createWork } from "../../../testkit/src/work.ts";
import { sql } from "../store/sql.ts";
import type { Deps } from "./deps.ts";
import { superviseRunsOnce } from "./supervise-runs.ts";

vi.setConfig({ testTimeout: 60_000 });

const FACT_MS = 40_000;
const MINUTE_MS = 60_000;

const listTold = async (server: TestServer, type: string, agentId?: string) =>
  ((await server.call("GET", `/events?event_type=${type}&limit=500&order=asc`)).body.events as StoredEvent[])
    .map(({ event_data }) => event_data)
    .filter((data) => agentId === undefined || data["agent_id"] === agentId);

/** The same server as somebody sees it who looks so many minutes later. */
const later = (server: TestServer, minutes: number): Deps => ({
  ...server.deps,
  startedMs: 0,
  passes: new Map(),
  clock: { ...server.deps.clock, now: () => new Date(Date.now() + minutes * MINUTE_MS) },
});

test("a step of a ticket is told by both of its names, each state on the way", async ({ server }) => {
  const { ticketId } = await createWork(server);
  const stream = await server.openStream({ query: { entity_ids: ticketId } });
  await stream.next(isSync);
  await server.call("POST", `/tickets/${ticketId}/transition`, { body: { to_status: "analyzing", reason: "why" } });
  const step = { from_status: "backlog", to_status: "analyzing", phase_id: "PHASE_REQUIREMENTS", reason: "why" };
  for (const event_type of ["TICKET_STATUS_CHANGED", "ticket.status_transitioned"])
    expect(await stream.next((frame) => isEvent(frame) && frame.event_type === event_type)).toMatchObject({
      entity_type: "ticket",
      entity_id: ticketId,
      payload: step,
    });
});

test("an agent's status is told when it changes, beside its sandbox's log and not in it", async ({ server }) => {
  const sandbox = await server.createSandbox();
  const stream = await server.openStream({ query: { entity_types: "agent", entity_ids: `agent-${sandbox.id}` } });
  await stream.next(isSync);
  await sandbox.post({ event_type: "agent.started", event_data: {} });
  await sandbox.post({ event_type: "agent.message", event_data: { turn: 1, content: "a" } });
  // Completing and completed are two states; the agent works in the first.
  await sandbox.post({ event_type: "agent.completed", event_data: { turn: 1 } });
  await server.call("POST", `/sandboxes/${sandbox.id}/cancel`);
  const statuses: unknown[] = [];
  while (statuses.at(-1) !== "TERMINATED") {
    const frame = await stream.next(isEvent);
    expect(frame).toMatchObject({ event_type: "AGENT_STATUS_CHANGED", sandbox_seq: null });
    const { payload } = frame as unknown as { payload: { old_status: string; new_status: string } };
    expect(payload.old_status).not.toBe(payload.new_status);
    statuses.push(payload.new_status);
  }
  expect(statuses).toEqual(["RUNNING", "IDLE", "TERMINATED"]);
  const { events } = (await server.call("GET", `/sandboxes/${sandbox.id}/events?limit=500&order=asc`)).body;
  expect(events.map((one: StoredEvent) => one.sandbox_seq)).toEqual(
    events.map((_: unknown, index: number) => index + 1),
  );
  expect(JSON.stringify(events)).not.toContain("AGENT_STATUS_CHANGED");
});

test("a heartbeat of an agent that speaks as older programs do is told as they listen for it", async ({
  server,
  sandbox,
}) => {
  const body = { agent_id: sandbox.id, sequence_number: 7, status: "running", current_task_id: null };
  const beaten = await server.call("POST", `/agents/${sandbox.id}/heartbeat`, { token: sandbox.token, body });
  expect(beaten.status).toBe(200);
  expect(await listTold(server, "HEARTBEAT_RECEIVED", sandbox.id)).toMatchObject([
    { sequence_number: 7, status: "running", timestamp: beaten.body.timestamp },
  ]);
});

test("silence is told rung by rung, by one replica, and its end when the worker is heard", async ({
  server,
  sandbox,
}) => {
  const beat = { event_type: "agent.heartbeat", event_data: { status: "running" }, source: "worker" };
  await sandbox.post(beat);
  for (const minutes of [0, 0.9, 0.9, 1.5])
    await Promise.all([superviseRunsOnce(later(server, minutes)), superviseRunsOnce(later(server, minutes))]);
  const missed = await listTold(server, "HEARTBEAT_MISSED", sandbox.id);
  expect(missed.map(({ action }) => action)).toEqual(["warned", "degraded"]);
  expect(missed[0]).toMatchObject({ missed_count: 1, seconds_since_heartbeat: expect.any(Number) });
  const listDegraded = async () =>
    (await listTold(server, "AGENT_STATUS_CHANGED", sandbox.id)).filter((data) =>
      JSON.stringify(data).includes("DEGRADED"),
    );
  expect(await listDegraded()).toMatchObject([{ old_status: "RUNNING", new_status: "DEGRADED" }]);
  // A server that was away until just now has heard nobody.
  await superviseRunsOnce({ ...later(server, 60), startedMs: Date.now() + 59.9 * MINUTE_MS });
  expect(await listDegraded()).toHaveLength(1);
  await superviseRunsOnce(later(server, 0.9));
  await sandbox.post(beat);
  await superviseRunsOnce(later(server, 0));
  expect((await listDegraded()).at(-1)).toMatchObject({ old_status: "DEGRADED", new_status: "RUNNING" });
});

test("supervision tells that it watches, a pass that fails once per spell, a look that was asked for, and its end", async () => {
  const server = await startTestServer();
  const { db } = server;
  const [started] = await listTold(server, "monitoring.started");
  expect(started).toMatchObject({ instance: server.deps.instance, interval_seconds: { "supervise-runs": 5 } });
  const { id } = await server.createSandbox();
  expect((await server.call("POST", "/monitor/intelligent/emergency", { body: [id] })).status).toBe(200);
  expect(await listTold(server, "monitoring.system.updated")).toMatchObject([{ active_agents: 1, agent_ids: [id] }]);
  await db.query(sql`alter table supervision rename to away`);
  const countFailed = () => {
    server.deps.wake("supervise-runs");
    return server.deps.passes.get("supervise-runs")?.failedInRow;
  };
  await expect.poll(countFailed, { timeout: FACT_MS }).toBeGreaterThan(1);
  const failed = await listTold(server, "monitoring.cycle.failed");
  expect(failed.filter(({ loop }) => loop === "supervise-runs")).toHaveLength(1);
  await db.query(sql`alter table away rename to supervision`);
  await server.running.stop();
  const stopped = await db.query(sql`select entity_id from events where event_type = 'monitoring.stopped'`);
  expect(stopped).toEqual([{ entity_id: server.deps.instance }]);
  await server.stop();
});
