/** Supervision on the command line: figures, alerts, stuck tickets, emergencies. */
import { expect, test } from "vitest";
import { toTrial } from "../test/terminal-double.ts";
import { runCommand } from "./run-command.ts";

const at = "2026-01-01T00:00:00.000Z";
const TASK = "00000000-0000-4000-8000-000000000001";
const RULE = {
  id: "rule-000000000001",
  project_id: null,
  name: "Agents are stuck",
  metric: "stuck_sandboxes",
  comparison: "above",
  threshold: 0,
  for_seconds: 600,
  cool_down_seconds: 1_800,
  severity: "warning",
  channels: [{ kind: "log" }, { kind: "webhook", url: "https://example.com/hook" }],
  enabled: true,
  has_secret: false,
  created_by: "drover",
  created_at: at,
  updated_at: at,
};
const ACTION = {
  action_id: "act-000000000001",
  action_type: "cancel_task",
  target_entity: TASK,
  project_id: "project-00000000-0000-4000-8000-000000000000",
  authority_level: 4,
  authority_name: "GUARDIAN",
  reason: "it burns money",
  initiated_by: "tok-000000000001",
  approved_by: "tok-000000000000",
  executed_at: at,
  reverted_at: null,
  audit_log: { before: {}, after: {}, reverted_by: null, revert_reason: null },
  created_at: at,
};
const fits = (out: readonly string[]) => expect(out.filter((line) => Array.from(line).length > 80)).toEqual([]);

test("figures over time are charts of one line, and what was not measured is no zero", async () => {
  const points = [null, 0, 4, 8].map((value, index) => ({ at: new Date(index * 30_000).toISOString(), value }));
  const found = {
    from: at,
    to: at,
    step_seconds: 30,
    series: [
      { metric: "queue_depth", unit: "tasks", points },
      { metric: "alignment", unit: "share", points: points.map((one) => ({ ...one, value: null })) },
    ],
  };
  const { context, out, requests } = toTrial({}, () => Response.json(found));
  expect(await runCommand(context, ["monitor", "metrics", "queue_depth", "alignment", "--hours", "2"])).toBe(0);
  expect(requests[0]?.url.searchParams.getAll("metric")).toEqual(["queue_depth", "alignment"]);
  expect(out[1]).toMatch(/^queue_depth +8 +8 +tasks +·▁▅█$/);
  expect(out[2]).toMatch(/^alignment +- +- +share +not measured$/);
  fits(out);
  const wrong = toTrial();
  expect(await runCommand(wrong.context, ["monitor", "metrics", "happiness"])).not.toBe(0);
  expect(wrong.err.join("\n")).toContain("happiness is not measured");
});

test("rules are listed, added and switched off", async () => {
  const listed = toTrial({}, () => Response.json({ items: [RULE], next_cursor: null }));
  expect(await runCommand(listed.context, ["monitor", "rules"])).toBe(0);
  expect(listed.out[1]).toContain("stuck_sandboxes > 0");
  fits(listed.out);
  const added = toTrial({}, () => Response.json(RULE, { status: 201 }));
  const words = ["monitor", "rules", "add", "tokens", "above", "1e6", "burning", "--for", "60", "--critical"];
  expect(await runCommand(added.context, [...words, "--webhook", "https://example.com/x"])).toBe(0);
  expect(added.requests[0]?.body).toMatchObject({
    metric: "tokens",
    comparison: "above",
    threshold: 1_000_000,
    for_seconds: 60,
    severity: "critical",
    channels: [{ kind: "log" }, { kind: "desktop" }, { kind: "webhook", url: "https://example.com/x" }],
  });
  const off = toTrial({}, () => Response.json({ ...RULE, enabled: false }));
  expect(await runCommand(off.context, ["monitor", "rules", "off", RULE.id, "--json"])).toBe(0);
  expect(off.requests[0]).toMatchObject({ method: "PATCH", body: { enabled: false } });
  expect(JSON.parse(off.out.join("\n"))).toMatchObject({ id: RULE.id, enabled: false });
});

test("stuck tickets are listed with what is done about them", async () => {
  const stuck = {
    ticket_id: TASK,
    project_id: ACTION.project_id,
    title: "a title that is much longer than a line of eighty columns would ever allow it to be",
    total_tasks: 3,
    done_tasks: 1,
    failed_tasks: 2,
    seconds_since_last_task: 90,
    diagnostic_runs: 3,
    verdict: "gave_up",
  };
  const { context, out } = toTrial({}, () => Response.json({ items: [stuck], next_cursor: null }));
  expect(await runCommand(context, ["monitor", "stuck"])).toBe(0);
  expect(out[1]).toMatch(new RegExp(`^${TASK} +2 +1 of 3 +gave up +a title`));
  fits(out);
});

test("an emergency needs a reason, and is told as it was kept", async () => {
  const bare = toTrial();
  expect(await runCommand(bare.context, ["guardian", "cancel", TASK])).not.toBe(0);
  expect(bare.err.join("\n")).toContain("--reason says why");
  const done = toTrial({}, () => Response.json(ACTION));
  expect(await runCommand(done.context, ["guardian", "cancel", TASK, "--reason", "it burns money"])).toBe(0);
  expect(done.requests[0]?.body).toEqual({ task_id: TASK, reason: "it burns money" });
  expect(done.out[1]).toMatch(/^act-000000000001 .* cancel task +no +it burns money$/);
  fits(done.out);
  const moved = toTrial({}, () => Response.json({ ...ACTION, action_type: "reallocate_capacity" }));
  const words = ["guardian", "reallocate", "drover-00000000-000001", ACTION.project_id];
  expect(await runCommand(moved.context, [...words, "two", "--reason", "x"])).not.toBe(0);
  expect(await runCommand(moved.context, [...words, "2", "--reason", "it is late"])).toBe(0);
  const body = { from_agent_id: words[2], to_agent_id: words[3], capacity: 2, reason: "it is late" };
  expect(moved.requests.map((one) => [one.url.pathname, one.body])).toEqual([
    ["/api/v1/guardian/intervention/reallocate", body],
  ]);
});

test("costs are broken down and forecast", async () => {
  const totals = { total_cost: 1.5, total_tokens: 120, prompt_tokens: 100, completion_tokens: 20 };
  const more = { cache_read_tokens: 0, cache_write_tokens: 0, record_count: 2, unpriced_count: 0 };
  const items = [{ key: "2026-01-01", label: "2026-01-01", ...totals, ...more }];
  const days = toTrial({}, () => Response.json({ by: "day", items }));
  expect(await runCommand(days.context, ["costs", "--by", "day"])).toBe(0);
  expect(days.out).toEqual(["COST   CALLS  TOKENS  DAY", "$1.50  2      120     2026-01-01"]);
  const forecast = {
    pending_task_count: 10,
    avg_tokens_per_task: 5_000,
    avg_tokens_origin: "default",
    provider: "anthropic",
    model: "claude-sonnet-4.5",
    buffer_multiplier: 1.2,
    estimated_tokens: 60_000,
    estimated_cost: 0.54,
  };
  const told = toTrial({}, () => Response.json(forecast));
  expect(await runCommand(told.context, ["costs", "forecast", "10"])).toBe(0);
  expect(told.out[0]).toContain("$0.54");
});
