import type { TaskId } from "@drover/contract";
import { describe, expect } from "vitest";
import { startTestServer, test, type TestServer } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import type { Deps } from "./deps.ts";
import { findAnomaliesOnce } from "./find-anomalies.ts";
import { measureOnce } from "./measure.ts";

const MINUTE_MS = 60_000;

/** The same server as somebody sees it who looks at that moment. */
const at = (server: TestServer, ms: number): Deps => ({
  ...server.deps,
  clock: { ...server.deps.clock, now: () => new Date(ms) },
});

/** As if nobody had measured yet; the server itself has done so once when it started. */
async function forgetMeasured(server: TestServer): Promise<void> {
  await expect.poll(() => server.deps.passes.get("measure")?.lastDurationMs).toEqual(expect.any(Number));
  await server.db.query(sql`delete from metric_rows`);
  await server.db.query(sql`
    update metric_cursor set at = '-infinity', event_seq = 0, rolled_300 = '-infinity', rolled_3600 = '-infinity'`);
}

const seriesOf = async (server: TestServer, query: string, token?: string) =>
  (await server.call("GET", `/monitor/metrics?${query}`, token === undefined ? {} : { token })).body;
const valuesOf = (body: { series: { metric: string; points: { value: number | null }[] }[] }, metric: string) =>
  body.series.find((one) => one.metric === metric)?.points.flatMap(({ value }) => (value === null ? [] : [value]));

describe("figures over time", () => {
  test("are measured once per half minute whoever measures, by project and over all, and read as points", async () => {
    await using server = await startTestServer();
    const [mine, other] = [await server.createProject(), await server.createProject()];
    const run = await server.createSandbox({ project_id: mine });
    await server.createSandbox({ project_id: other });
    const { body: ticket } = await server.call("POST", "/tickets", { body: { title: "some work", project_id: mine } });
    await server.call("POST", "/tasks", { body: { ticket_id: ticket.id, title: "first" } });
    const start = Date.now() + 10 * MINUTE_MS;
    await forgetMeasured(server);
    await measureOnce(at(server, start));
    await run.post({ events: Array.from({ length: 60 }, () => ({ event_type: "agent.message" })) });
    const both = await Promise.all([
      measureOnce(at(server, start + 30_000)),
      measureOnce(at(server, start + 30_000)),
      measureOnce(at(server, start + 30_000)),
    ]);
    expect(both.filter(({ isMeasured }) => isMeasured)).toHaveLength(1);
    const span = `from=${new Date(start - 5 * MINUTE_MS).toISOString()}&to=${new Date(start + 5 * MINUTE_MS).toISOString()}`;
    const all = await seriesOf(server, `${span}&points=20`);
    expect(all.step_seconds).toBe(30);
    expect(valuesOf(all, "active_sandboxes")).toEqual([2, 2]);
    expect(valuesOf(all, "queue_depth")).toEqual([1, 1]);
    // Sixty events, and the changes of state and of the agent that the first of them makes, in half a minute.
    expect(valuesOf(all, "event_rate")).toEqual([0, expect.closeTo(62 / 30, 9)]);
    expect(valuesOf(all, "alignment")).toEqual([]);
    const { token } = await server.createToken("viewer", other);
    expect(valuesOf(await seriesOf(server, span, token), "active_sandboxes")).toEqual([1, 1]);
    expect(valuesOf(await seriesOf(server, span, token), "queue_depth")).toEqual([]);
    expect((await server.call("GET", `/monitor/metrics?project_id=${mine}`, { token })).status).toBe(404);
  });

  test("are read of one phase, alone and within a project", async () => {
    await using server = await startTestServer();
    const [mine, other] = [await server.createProject(), await server.createProject()];
    const addTask = async (project: string, phase: string) => {
      const body = { title: `${phase} of ${project}`, project_id: project, force_create: true };
      const { body: ticket } = await server.call("POST", "/tickets", { body });
      const made = await server.call("POST", "/tasks", {
        body: { ticket_id: ticket.id, title: "it", phase_id: phase },
      });
      expect([made.status, made.text]).toEqual([201, expect.any(String)]);
      return made.body.id as TaskId;
    };
    const tested = await addTask(mine, "PHASE_TESTING");
    await addTask(mine, "PHASE_DESIGN");
    await addTask(other, "PHASE_TESTING");
    const run = await server.createSandbox({ project_id: mine, task_id: tested });
    await server.createSandbox({ project_id: mine });
    const start = Date.now() + 10 * MINUTE_MS;
    await forgetMeasured(server);
    await measureOnce(at(server, start));
    await run.post({ events: Array.from({ length: 60 }, () => ({ event_type: "agent.message" })) });
    await measureOnce(at(server, start + 30_000));
    const span = `from=${new Date(start - 5 * MINUTE_MS).toISOString()}&to=${new Date(start + 5 * MINUTE_MS).toISOString()}`;
    const read = (more: string, token?: string) => seriesOf(server, `${span}&points=20${more}`, token);
    expect(valuesOf(await read(""), "queue_depth")).toEqual([3, 3]);
    expect(valuesOf(await read("&phase_id=PHASE_TESTING"), "queue_depth")).toEqual([2, 2]);
    expect(valuesOf(await read(`&phase_id=PHASE_TESTING&project_id=${mine}`), "queue_depth")).toEqual([1, 1]);
    expect(valuesOf(await read("&phase_id=PHASE_DEPLOYMENT"), "queue_depth")).toEqual([]);
    expect(valuesOf(await read(`&project_id=${mine}`), "active_sandboxes")).toEqual([2, 2]);
    const testing = await read("&phase_id=PHASE_TESTING");
    expect(valuesOf(testing, "active_sandboxes")).toEqual([1, 1]);
    expect(valuesOf(testing, "event_rate")).toEqual([expect.closeTo(61 / 30, 9)]);
    expect(valuesOf(testing, "event_lag_seconds")).toEqual([]);
    // Who may see one project sees its phases, and no other's.
    const { token } = await server.createToken("viewer", other);
    expect(valuesOf(await read("&phase_id=PHASE_TESTING", token), "active_sandboxes")).toEqual([]);
    expect(valuesOf(await read("&phase_id=PHASE_TESTING", token), "queue_depth")).toEqual([1, 1]);
    expect((await server.call("GET", "/monitor/metrics?phase_id=PHASE_NONE")).status).toBe(422);
  });

  test("grow coarser with age: means stay means, sums stay sums, and what is too old is gone", async () => {
    await using server = await startTestServer();
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    // Ten days ago, one hour measured every half minute: 4 waiting tasks, then 8; 10 tokens each time.
    const from = hour - 240 * 3_600_000;
    await forgetMeasured(server);
    await server.db.query(sql`
      insert into metric_rows (metric, scope, step, at, value)
      select m.metric, '', 30, ${new Date(from)}::timestamptz + make_interval(secs => 30 * i),
        case when m.metric = 'tokens' then 10 when i < 60 then 4 else 8 end
      from generate_series(0, 119) i, (values ('tokens'), ('queue_depth')) as m (metric)`);
    await measureOnce(at(server, hour));
    const span = `from=${new Date(from).toISOString()}&to=${new Date(from + 3_600_000).toISOString()}&metric=tokens&metric=queue_depth`;
    const fine = await seriesOf(server, `${span}&points=12`);
    expect(fine.step_seconds).toBe(300);
    expect(valuesOf(fine, "queue_depth")).toEqual([4, 4, 4, 4, 4, 4, 8, 8, 8, 8, 8, 8]);
    expect(valuesOf(fine, "tokens")).toEqual(Array.from({ length: 12 }, () => 100));
    const kept = await server.db.query(
      sql`select step, count(*)::int as rows from metric_rows where metric = 'tokens' and at < ${new Date(hour)} group by 1 order by 1`,
    );
    expect(kept).toEqual([
      { step: 300, rows: 12 },
      { step: 3600, rows: 1 },
    ]);
    const coarse = await seriesOf(
      server,
      `from=${new Date(hour - 2_400 * 3_600_000).toISOString()}&to=${new Date(hour - 3_600_000).toISOString()}&metric=queue_depth&points=1000`,
    );
    expect(valuesOf(coarse, "queue_depth")).toEqual([6]);
  });

  test("stand in /metrics for those with a credential, with totals that only grow", async () => {
    await using server = await startTestServer();
    await forgetMeasured(server);
    await measureOnce(at(server, Date.now() + MINUTE_MS));
    const token = (await server.createToken("viewer")).token;
    const { text } = await server.request("GET", "/metrics", { token });
    for (const line of [
      "drover_queue_depth 0",
      "drover_active_sandboxes 0",
      "drover_event_lag_seconds 0",
      "drover_cost_usd_total 0",
    ])
      expect(text.split("\n")).toContain(line);
    expect((await server.request("GET", "/metrics")).status).toBe(401);
  });
});

test("one that behaves unlike the others is told after three readings, and acknowledged once", async () => {
  await using server = await startTestServer();
  const sandboxes = await Promise.all(Array.from({ length: 5 }, () => server.createSandbox()));
  const [odd] = sandboxes;
  if (odd === undefined) throw new Error("there is no run");
  for (const [index, run] of sandboxes.entries()) {
    const isOdd = run === odd;
    await run.post({
      events: Array.from({ length: 5 }, (_, call) => [
        {
          event_type: "agent.tool_use",
          event_data: { tool: "Bash", tool_use_id: `c${call}`, input: { command: "x" } },
        },
        { event_type: "agent.tool_result", event_data: { tool_use_id: `c${call}`, result: "", is_error: isOdd } },
      ]).flat(),
    });
    const slow = isOdd ? 240 : 1 + index / 10;
    await server.db.query(sql`update events set created_at = created_at - make_interval(secs => ${slow})
      where sandbox_id = ${run.id} and event_type = 'agent.tool_use'`);
    await server.db.query(
      sql`insert into supervision (sandbox_id, watch, signals) values (${run.id}, '{}', '{}') on conflict do nothing`,
    );
  }
  for (let reading = 1; reading <= 4; reading++) {
    await server.db.query(
      sql`update sandboxes set input_tokens = input_tokens + case when id = ${odd.id} then 100000 else 100 end`,
    );
    await findAnomaliesOnce(server.deps);
  }
  const { body } = await server.call("GET", "/monitor/anomalies");
  expect(body.items).toMatchObject([
    { sandbox_id: odd.id, readings: 3, severity: "warning", parts: { latency: 1, errors: 1, resources: 1, queue: 0 } },
  ]);
  const told = await server.call("GET", `/sandboxes/${odd.id}/events?event_type=monitoring.anomaly.detected`);
  expect(told.body.total_count).toBe(1);
  // It is looked into once, by rule, and goes on working: no task is made for it.
  const runs = (await server.call("GET", "/diagnostic/runs")).body.items;
  expect(runs).toMatchObject([
    {
      id: told.body.events[0].event_data.diagnostic_run_id,
      trigger: "anomaly",
      sandbox_id: odd.id,
      ticket_id: null,
      diagnostic_task_id: null,
      status: "completed",
      diagnosis: { root_cause: "its calls take far longer than those of the others" },
    },
  ]);
  expect((await server.call("GET", "/monitor/dashboard")).body.recent_anomalies).toBe(1);
  const viewer = (await server.createToken("viewer")).token;
  const [anomaly] = body.items;
  // One of them by its id, and all of one run.
  const one = `/monitor/anomalies/${anomaly.id}`;
  expect((await server.call("GET", one, { token: viewer })).body).toEqual(anomaly);
  const ofRun = async (id: string) => (await server.call("GET", `/monitor/anomalies?sandbox_id=${id}`)).body.items;
  expect(await ofRun(odd.id)).toEqual([anomaly]);
  expect(await ofRun(sandboxes[1]?.id ?? "")).toEqual([]);
  const mine = (await server.createToken("viewer", anomaly.project_id)).token;
  expect((await server.call("GET", one, { token: mine })).status).toBe(200);
  // What is another project's is not found, as if it were not there.
  const foreign = (await server.createToken("operator", await server.createProject())).token;
  const refusals = await Promise.all([
    server.call("GET", one, { token: foreign }),
    server.call("POST", `${one}/acknowledge`, { token: foreign }),
    server.call("GET", "/monitor/anomalies/ano-000000000000"),
    server.call("GET", "/monitor/anomalies/ano-1"),
  ]);
  expect(refusals.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  const path = `${one}/acknowledge`;
  expect((await server.call("POST", path, { token: viewer })).status).toBe(403);
  expect((await server.call("POST", path)).body.acknowledged_at).toEqual(expect.any(String));
  expect((await server.call("GET", "/monitor/dashboard")).body.recent_anomalies).toBe(0);
});

test("a look on demand folds, measures and answers; what is not there or not mine is not found", async ({ server }) => {
  const sandbox = await server.createSandbox({ prompt: "Fix the form. Do not touch package.json." });
  await sandbox.post({
    event_type: "agent.file_edited",
    event_data: { turn: 1, file_path: "package.json", lines_added: 1 },
  });
  const { body } = await server.call("POST", `/monitor/intelligent/analyze/${sandbox.id}?force=true`);
  expect(body).toMatchObject({ sandbox_id: sandbox.id, signals: [{ signal: "constraint_broken" }], analysis: null });
  const both = await server.call("POST", "/monitor/intelligent/emergency", { body: [sandbox.id] });
  expect(both.body.items).toMatchObject([{ sandbox_id: sandbox.id, analysis: null }]);
  const foreign = (await server.createToken("operator", await server.createProject())).token;
  expect(
    (await server.call("POST", "/monitor/intelligent/emergency", { body: [sandbox.id], token: foreign })).status,
  ).toBe(404);
  const { body: status } = await server.call("GET", "/monitor/intelligent/status");
  expect(status).toMatchObject({ running: true, config: { guardian_mode: "nudge", judge: false } });
  expect(status.loops.map(({ name }: { name: string }) => name)).toContain("run-guardian");
});

test("a forecast is the price list's, with a fifth more; without a price there is no sum", async ({ server }) => {
  const { body } = await server.call("POST", "/costs/forecast", { body: { pending_task_count: 10 } });
  // 10 tasks of 5,000 tokens and a fifth: 30,000 in at 3 dollars, 30,000 out at 15.
  expect(body).toMatchObject({
    avg_tokens_per_task: 5_000,
    avg_tokens_origin: "default",
    estimated_tokens: 60_000,
    buffer_multiplier: 1.2,
  });
  expect(body.estimated_cost).toBeCloseTo(0.54, 9);
  const unknown = { pending_task_count: 1, model: "nobody-knows", avg_tokens_per_task: 7 };
  expect((await server.call("POST", "/costs/forecast", { body: unknown })).body).toMatchObject({
    estimated_cost: null,
    avg_tokens_origin: "given",
  });
  expect((await server.call("POST", "/costs/forecast", { body: { pending_task_count: 0 } })).status).toBe(422);
});
