/** How an agent's workers beat: heard, silent, missed, failed and odd stand in the quarter of an hour in which they happened. */
import { HEARTBEAT_STEP_SECONDS, type AgentHeartbeats, type HeartbeatStep } from "@drover/contract";
import { expect } from "vitest";
import { test, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { superviseRunsOnce } from "./supervise-runs.ts";

const BEAT = { event_type: "agent.heartbeat", event_data: { status: "running" }, source: "worker" };
const STEP_MS = HEARTBEAT_STEP_SECONDS * 1_000;

const read = async (server: TestServer, query: string, token?: string): Promise<AgentHeartbeats> =>
  (await server.call("GET", `/agents/heartbeats?${query}`, token === undefined ? {} : { token })).body;

const backdate = (server: TestServer, { id }: TestSandbox, hours: number) =>
  server.db.query(
    sql`update events set created_at = created_at - make_interval(hours => ${hours}::int) where sandbox_id = ${id}`,
  );

const sum = (steps: readonly HeartbeatStep[], name: Exclude<keyof HeartbeatStep, "at">) =>
  steps.reduce((all, step) => all + step[name], 0);

test("a worker is heard where it beat, and silent where it ran and did not", async ({ server }) => {
  const projectId = await server.createProject();
  const sandbox = await server.createSandbox({ project_id: projectId, runtime: "codex" });
  await sandbox.post(BEAT);
  await backdate(server, sandbox, 2);
  await sandbox.post(BEAT);
  const { steps, ...rest } = await read(server, `agent_type=codex&project_id=${projectId}`);
  expect(rest).toMatchObject({ agent_type: "codex", step_seconds: HEARTBEAT_STEP_SECONDS, sandboxes: 1 });
  expect(steps).toHaveLength(96);
  expect(steps.map(({ at }) => Date.parse(at))).toEqual(
    steps.map((_, index) => Date.parse(rest.from) + index * STEP_MS),
  );
  const ran = steps.slice(-9);
  expect(ran.map(({ heard }) => heard)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 1]);
  expect(ran.map(({ silent }) => silent)).toEqual([0, 1, 1, 1, 1, 1, 1, 1, 0]);
  expect(sum(steps, "heartbeats")).toBe(2);
  expect(sum(steps.slice(0, -9), "silent")).toBe(0);
});

test("silence that was noted, a failure and an anomaly stand in their step; before the span nothing counts", async ({
  server,
}) => {
  const projectId = await server.createProject();
  const make = () => server.createSandbox({ project_id: projectId, runtime: "gemini" });
  const [lost, failed, old] = [await make(), await make(), await make()];
  await lost.post(BEAT);
  const later = { ...server.deps.clock, now: () => new Date(Date.now() + 54_000) };
  await superviseRunsOnce({ ...server.deps, startedMs: 0, passes: new Map(), clock: later });
  await server.db.query(
    sql`update events set created_at = now() where event_type = 'HEARTBEAT_MISSED' and entity_id = ${`agent-${lost.id}`}`,
  );
  await failed.post({ event_type: "agent.failed", event_data: { error: "no" } });
  await server.db.query(sql`insert into anomalies (id, sandbox_id, project_id, score, severity, parts, readings)
    select 'ano-0000000000aa', id, project_id, 0.8, 'warning', '{}', 3 from sandboxes where id = ${failed.id}`);
  await old.post(BEAT);
  await old.post({ event_type: "agent.failed", event_data: { error: "no" } });
  await backdate(server, old, 3);
  await server.db.query(
    sql`update sandboxes set closed_at = now() - interval '3 hours', last_event_at = now() - interval '3 hours' where id = ${old.id}`,
  );
  const { steps, sandboxes } = await read(server, `agent_type=gemini&hours=1&project_id=${projectId}`);
  expect(steps).toHaveLength(4);
  expect(sandboxes).toBe(2);
  for (const name of ["missed", "failures", "anomalies", "heartbeats"] as const) expect(sum(steps, name), name).toBe(1);
});

test("nobody counts what is another project's", async ({ server }) => {
  const projectId = await server.createProject();
  const sandbox = await server.createSandbox({ project_id: projectId, runtime: "opencode" });
  await sandbox.post(BEAT);
  const mine = (await server.createToken("viewer", projectId)).token;
  const foreign = (await server.createToken("admin", await server.createProject())).token;
  expect((await read(server, "agent_type=opencode", mine)).sandboxes).toBe(1);
  expect((await read(server, "agent_type=opencode", foreign)).sandboxes).toBe(0);
  const refused = await server.call("GET", `/agents/heartbeats?agent_type=opencode&project_id=${projectId}`, {
    token: foreign,
  });
  expect(refused.status).toBe(404);
  expect((await server.call("GET", "/agents/heartbeats?agent_type=opencode&hours=73")).status).toBe(422);
});
