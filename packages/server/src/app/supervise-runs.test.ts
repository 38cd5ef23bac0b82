import type { SandboxId } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import type { Deps } from "./deps.ts";
import { recordPass } from "./pass-record.ts";
import { runGuardianOnce } from "./run-guardian.ts";
import { superviseRunsOnce } from "./supervise-runs.ts";

const MINUTE_MS = 60_000;
const never = new AbortController().signal;

/** The same server as somebody sees it who looks so many minutes later. */
const later = (server: TestServer, minutes: number, config: Partial<Deps["config"]> = {}): Deps => ({
  ...server.deps,
  config: { ...server.deps.config, ...config },
  startedMs: 0,
  passes: new Map(),
  clock: { ...server.deps.clock, now: () => new Date(Date.now() + minutes * MINUTE_MS) },
});

/** Makes what happened so far older than it is. */
async function age(server: TestServer, id: SandboxId, minutes: number): Promise<void> {
  await server.db.query(
    sql`update events set created_at = created_at - make_interval(mins => ${minutes}) where sandbox_id = ${id}`,
  );
  await server.db.query(
    sql`update sandboxes set started_at = started_at - make_interval(mins => ${minutes}) where id = ${id}`,
  );
}

const stateOf = async (server: TestServer, id: SandboxId) => (await server.call("GET", `/sandboxes/${id}`)).body;
const supervisionOf = async (server: TestServer, id: SandboxId) =>
  (await server.call("GET", `/sandboxes/${id}/supervision`)).body;
const messagesOf = async (server: TestServer, { id }: TestSandbox) =>
  (await server.call("GET", `/sandboxes/${id}/messages/history`)).body.items;
const interventionsOf = async (server: TestServer, id: SandboxId) =>
  (await server.call("GET", `/guardian/interventions?sandbox_id=${id}`)).body.items;

const beat = (status: string, more: object = {}) => ({
  event_type: "agent.heartbeat",
  event_data: { status, ...more },
  source: "worker",
});
const call = (index: number, command: string, result: string, is_error = false) => [
  {
    event_type: "agent.tool_use",
    event_data: { turn: index, tool: "Bash", tool_use_id: `t${index}`, input: { command } },
  },
  { event_type: "agent.tool_result", event_data: { turn: index, tool_use_id: `t${index}`, result, is_error } },
];

test("a worker that is silent is late, then warned, then dead, and its token is void", async ({ server, sandbox }) => {
  await sandbox.post(beat("running"));
  for (const [minutes, condition] of [
    [0, "alive"],
    [0.9, "late"],
    [1.5, "warned"],
  ] as const) {
    await superviseRunsOnce(later(server, minutes));
    expect((await supervisionOf(server, sandbox.id)).condition).toBe(condition);
  }
  expect((await stateOf(server, sandbox.id)).state).toBe("running");
  await superviseRunsOnce(later(server, 2));
  expect(await stateOf(server, sandbox.id)).toMatchObject({ state: "failed", state_cause: "heartbeat_timeout" });
  expect((await sandbox.post(beat("running"))).status).toBe(401);
});

test("a server that was away holds nobody's silence against them", async ({ server, sandbox }) => {
  await sandbox.post(beat("running"));
  const returned = { ...later(server, 60), startedMs: Date.now() + 59.5 * MINUTE_MS };
  await superviseRunsOnce(returned);
  expect(await stateOf(server, sandbox.id)).toMatchObject({ state: "running" });
});

test("a server that slept does neither: it counts from when it woke", async ({ server, sandbox }) => {
  await sandbox.post(beat("running"));
  let minutes = 0;
  const clock = { ...server.deps.clock, now: () => new Date(Date.now() + minutes * MINUTE_MS) };
  const deps: Deps = { ...later(server, 0), clock };
  const watch = recordPass(deps.passes, clock, { name: "supervise-runs", everyMs: 5_000 }, () =>
    superviseRunsOnce(deps),
  );
  await watch(never);
  for (minutes of [60, 60.4, 60.8, 61.2, 61.6]) await watch(never);
  expect(await stateOf(server, sandbox.id)).toMatchObject({ state: "running" });
  minutes = 62;
  await watch(never);
  expect(await stateOf(server, sandbox.id)).toMatchObject({ state: "failed", state_cause: "heartbeat_timeout" });
});

test("a build of forty minutes whose heartbeats name it is left alone", async ({ server, sandbox }) => {
  await sandbox.post({ events: call(1, "make world", "").slice(0, 1) });
  await age(server, sandbox.id, 40);
  await sandbox.post(beat("running", { tool: "Bash", tool_age_s: 2_400 }));
  expect(await superviseRunsOnce(later(server, 0))).toMatchObject({ nudged: 0, ended: 0 });
  expect((await supervisionOf(server, sandbox.id)).condition).toBe("busy");
  await runGuardianOnce(later(server, 0), never);
  expect(await interventionsOf(server, sandbox.id)).toEqual([]);
});

test("an idle agent is nudged once, and stopped only if that does not move it", async ({ server }) => {
  const [lazy, brave] = [await server.createSandbox(), await server.createSandbox()];
  for (const one of [lazy, brave]) {
    await one.post({ event_type: "agent.message", event_data: { turn: 1, content: "hm" } });
    await age(server, one.id, 11);
    await one.post(beat("idle"));
  }
  await superviseRunsOnce(later(server, 0));
  expect((await stateOf(server, lazy.id)).health).toBe("idle");
  expect((await server.call("GET", "/sandboxes?limit=2")).body.items).toMatchObject([
    { id: brave.id, health: "idle" },
    { id: lazy.id, health: "idle" },
  ]);
  await superviseRunsOnce(later(server, 0));
  expect(await messagesOf(server, lazy)).toMatchObject([{ message_type: "guardian_nudge", sender: "guardian" }]);
  await brave.post({ event_type: "agent.tool_use", event_data: { turn: 2, tool: "Read", tool_use_id: "r" } });
  await superviseRunsOnce(later(server, 0.4));
  expect(await stateOf(server, lazy.id)).toMatchObject({ state: "running" });
  expect(await stateOf(server, brave.id)).toMatchObject({ state: "running", health: "alive" });
  // Six minutes on, both still beat.
  const beats = sql`update sandboxes set last_contact_at = now() + interval '6 minutes' where id = any(${[lazy.id, brave.id]}::text[])`;
  await server.db.query(beats);
  await superviseRunsOnce(later(server, 6));
  expect(await stateOf(server, lazy.id)).toMatchObject({ state: "failed", state_cause: "idle_timeout" });
  expect(await stateOf(server, brave.id)).toMatchObject({ state: "running" });
});

test("a completed run never becomes a failed one, and work after completion voids it", async ({ server }) => {
  const [done, again] = [await server.createSandbox(), await server.createSandbox()];
  for (const one of [done, again]) await one.post({ event_type: "agent.completed", event_data: { turn: 1 } });
  await again.post({ event_type: "agent.tool_use", event_data: { turn: 2, tool: "Read", tool_use_id: "r" } });
  await superviseRunsOnce(later(server, 10));
  expect(await stateOf(server, done.id)).toMatchObject({ state: "terminated" });
  expect(await stateOf(server, again.id)).toMatchObject({ state: "failed", state_cause: "heartbeat_timeout" });
});

test("an agent that breaks what it was told is nudged in its turn; it follows, and the record says that it helped", async ({
  server,
}) => {
  const sandbox = await server.createSandbox({ prompt: "Fix the form. Do not touch package.json." });
  await sandbox.post({
    event_type: "agent.file_edited",
    event_data: { turn: 1, file_path: "package.json", lines_added: 1 },
  });
  await runGuardianOnce(later(server, 0), never);
  const [intervention] = await interventionsOf(server, sandbox.id);
  expect(intervention).toMatchObject({
    signal: "constraint_broken",
    rung: "nudge",
    outcome: "pending",
    injected_seq: null,
  });
  const { body: events } = await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=agent.file_edited`);
  expect(intervention.seqs).toEqual([events.events[0].seq]);

  const [message] = (await server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=30`, { token: sandbox.token }))
    .body;
  expect(message).toMatchObject({ id: intervention.message_id, message_type: "guardian_nudge" });
  const given = { turn: 2, message_id: message.id, message_type: "guardian_nudge", content: message.content };
  await sandbox.post({ event_type: "agent.message_injected", event_data: given });
  await runGuardianOnce(later(server, 1), never);
  expect(await interventionsOf(server, sandbox.id)).toMatchObject([
    { outcome: "pending", injected_seq: expect.any(Number) },
  ]);
  await sandbox.post({
    events: [1, 2, 3, 4, 5].flatMap((index) => call(index, `step ${"x".repeat(index)}`, `ok ${index}`)),
  });
  // It is over before the guardian looks again, and has been folded by others.
  await sandbox.post({ event_type: "agent.completed", event_data: { turn: 3 } });
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  await superviseRunsOnce(later(server, 2));
  await runGuardianOnce(later(server, 2), never);
  expect(await interventionsOf(server, sandbox.id)).toMatchObject([
    { outcome: "helped", settled_at: expect.any(String) },
  ]);
});

test("a loop is nudged once while nobody knows whether that helped; if it goes on, a person is asked", async ({
  server,
  sandbox,
}) => {
  const commands = ["npm test", "cat a.ts", "git status"];
  const loop = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => call(from + index, commands[index % 3] ?? "", `${index % 3}`)).flat();
  await sandbox.post({ events: loop(1, 18) });
  await runGuardianOnce(later(server, 0), never);
  await runGuardianOnce(later(server, 0), never);
  const [first, ...more] = await interventionsOf(server, sandbox.id);
  expect([first.rung, more.length]).toEqual(["nudge", 0]);
  const given = { turn: 7, message_id: first.message_id, message_type: "guardian_nudge", content: "" };
  await sandbox.post({ event_type: "agent.message_injected", event_data: given });
  // It goes on as before, not yet for long enough to be a loop again: that is no success.
  await sandbox.post({ events: loop(30, 6) });
  await runGuardianOnce(later(server, 1), never);
  expect(await interventionsOf(server, sandbox.id)).toMatchObject([{ rung: "nudge", outcome: "pending" }]);
  await sandbox.post({ events: loop(40, 15) });
  await runGuardianOnce(later(server, 6), never);
  expect(await interventionsOf(server, sandbox.id)).toMatchObject([
    { rung: "ask", outcome: "pending", message_id: null },
    { rung: "nudge", outcome: "no_effect" },
  ]);
});

test("in shadow the guardian notes and says nothing", async ({ server, sandbox }) => {
  await sandbox.post({ events: Array.from({ length: 8 }, (_, index) => call(index, "npm test", "1 failed")).flat() });
  await runGuardianOnce(later(server, 0, { guardianMode: "shadow" }), never);
  await runGuardianOnce(later(server, 1, { autoSteeringEnabled: false }), never);
  expect(await interventionsOf(server, sandbox.id)).toMatchObject([
    { rung: "note", mode: "shadow", outcome: "no_effect" },
  ]);
  expect(await messagesOf(server, sandbox)).toEqual([]);
});

test("interventions of another project do not exist for a person", async ({ server, sandbox }) => {
  await sandbox.post({ events: Array.from({ length: 8 }, (_, index) => call(index, "npm test", "1 failed")).flat() });
  await runGuardianOnce(later(server, 0), never);
  const { token } = await server.createToken("viewer", await server.createProject());
  const mine = await server.call("GET", `/guardian/interventions`, { token });
  expect(mine.body).toEqual({ items: [], next_cursor: null });
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/supervision`, { token })).status).toBe(404);
});
