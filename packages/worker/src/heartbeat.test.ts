import { expect, test } from "vitest";
import { type Activity, foldActivity, IDLE } from "./activity.ts";
import { noFault } from "./fault.ts";
import { createManualClock } from "./fixtures/manual-clock.ts";
import { createMemoryDisk } from "./fixtures/memory-disk.ts";
import { startHeartbeat, toHeartbeat } from "./heartbeat.ts";
import { openOutbox } from "./outbox.ts";
import type { Call, Transport } from "./transport.ts";

const clock = createManualClock();

async function setUp(activity: Activity = IDLE) {
  const disk = createMemoryDisk();
  const calls: Call[] = [];
  const transport: Transport = {
    send: async (call) => (calls.push(call), { kind: "reply", status: 200, retryAfterSeconds: undefined, body: "{}" }),
    close: () => {},
  };
  const outbox = await openOutbox({
    disk,
    clock,
    fault: noFault,
    openId: "open",
    limitBytes: 1_000,
    compactAtBytes: 1e9,
    onTrouble: () => {},
  });
  const ending = new AbortController();
  const heartbeat = startHeartbeat(
    {
      outbox,
      transport,
      sandboxId: "s",
      clock,
      everyMs: 30_000,
      getActivity: () => activity,
      getTurn: () => 3,
      measureLoad: () => undefined,
    },
    ending.signal,
  );
  const beats = () =>
    outbox.peek(100, 1e9).map((entry) => JSON.parse(entry.json).event_data as Record<string, unknown>);
  const end = async () => {
    ending.abort();
    await heartbeat.done;
  };
  return { disk, outbox, calls, beats, end };
}

test("a heartbeat is recorded at the start and then every interval", async () => {
  const { outbox, beats, end } = await setUp();
  await clock.sleeping();
  expect(beats()).toHaveLength(1);
  outbox.ack(outbox.last);
  clock.advance(30_000);
  await clock.sleeping();
  expect(beats()).toHaveLength(1);
  expect(outbox.last).toBe(2);
  await end();
});

test("an outage leaves one heartbeat that is up to date, not one per interval", async () => {
  const { outbox, beats, end } = await setUp();
  for (let beat = 0; beat < 100; beat++) {
    await clock.sleeping();
    clock.advance(30_000);
  }
  await clock.sleeping();
  expect(outbox.last).toBe(1);
  expect(beats()[0]?.timestamp).toBe(clock.now().toISOString());
  await end();
});

test("when nothing can be recorded the server is told directly that the worker is degraded", async () => {
  const { outbox, calls, end } = await setUp();
  await clock.sleeping();
  outbox.ack(outbox.last);
  await outbox.append([{ event_type: "agent.message", source: "agent", event_data: { text: "x".repeat(5_000) } }]);
  clock.advance(30_000);
  await clock.sleeping();
  expect(calls.map((call) => call.path)).toEqual(["/api/v1/sandboxes/s/heartbeat"]);
  expect(JSON.parse(String(calls[0]?.body))).toMatchObject({ status: "degraded" });
  await end();
});

test("a heartbeat names the turn, the running tool and its age, and what the sandbox uses", () => {
  const since = new Date("2026-01-01T00:00:00Z");
  const use = { event_type: "agent.tool_use", event_data: { tool: "Bash", tool_use_id: "t1" } };
  const busy = foldActivity(IDLE, use, since);
  const later = new Date("2026-01-01T00:01:30Z");
  expect(
    toHeartbeat({ activity: busy, turn: 3, eventCount: 7, load: { memoryBytes: 5_000, cpuPercent: 41 } }, later)
      .event_data,
  ).toEqual({
    turn: 3,
    timestamp: later.toISOString(),
    status: "running",
    event_count: 7,
    tool: "Bash",
    tool_age_s: 90,
    memory_bytes: 5_000,
    cpu_percent: 41,
  });
  const done = foldActivity(busy, { event_type: "agent.tool_result", event_data: { tool_use_id: "t1" } }, later);
  expect(toHeartbeat({ activity: done, turn: 3, eventCount: 8, load: undefined }, later).event_data).not.toHaveProperty(
    "tool",
  );
  expect(foldActivity(done, { event_type: "agent.waiting", event_data: {} }, later)).toEqual(IDLE);

  // A short tool beside a long one: its end leaves the long one running.
  const second = { event_type: "agent.tool_use", event_data: { tool: "Read", tool_use_id: "t2" } };
  const both = foldActivity(busy, second, later);
  expect(toHeartbeat({ activity: both, turn: 3, eventCount: 8, load: undefined }, later).event_data).toMatchObject({
    tool: "Read",
    tool_age_s: 0,
  });
  const one = foldActivity(both, { event_type: "agent.tool_result", event_data: { tool_use_id: "t2" } }, later);
  expect(toHeartbeat({ activity: one, turn: 3, eventCount: 9, load: undefined }, later).event_data).toMatchObject({
    status: "running",
    tool: "Bash",
    tool_age_s: 90,
  });
});
