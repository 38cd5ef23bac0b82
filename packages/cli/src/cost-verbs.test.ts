/** What models cost and may cost, on the command line. */
import { expect, test } from "vitest";
import { toTrial } from "../test/terminal-double.ts";
import { runCommand } from "./run-command.ts";

const TOTALS = {
  total_cost: 0.0123,
  total_tokens: 120,
  prompt_tokens: 100,
  completion_tokens: 20,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  record_count: 2,
  unpriced_count: 1,
};
const UNKNOWN = {
  ...TOTALS,
  provider: "openai",
  model: "new-model",
  record_count: 1,
  unpriced_count: 1,
  total_cost: 0,
};
const SUMMARY = {
  scope_type: "global",
  scope_id: null,
  ...TOTALS,
  breakdown: [{ ...TOTALS, provider: "anthropic", model: "claude-x", record_count: 1, unpriced_count: 0 }, UNKNOWN],
};
const BUDGET = {
  id: "bud-000000000001",
  scope_type: "global",
  scope_id: null,
  project_id: null,
  limit_amount: 5,
  spent_amount: 5,
  reserved_amount: 0,
  remaining_amount: 0,
  utilization: 1,
  exceeded: true,
  alert_threshold: 0.8,
  alert_triggered: true,
  unpriced_count: 0,
  period_start: "2026-01-01T00:00:00Z",
  period_end: null,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
};

test("costs are shown by model, and an unknown price is not a zero", async () => {
  const { context, out } = toTrial({}, () => Response.json(SUMMARY));
  expect(await runCommand(context, ["costs"])).toBe(0);
  expect(out.join("\n")).toMatch(/\$0\.0123 +1 +100 +20 +claude-x\n *unknown +1 +100 +20 +new-model\n/);
  expect(out.at(-1)).toContain("1 calls of models without a price");
  const json = toTrial({}, () => Response.json(SUMMARY));
  expect(await runCommand(json.context, ["costs", "task", "a-task", "--json"])).toBe(0);
  expect(JSON.parse(json.out.join("\n"))).toEqual(SUMMARY);
  expect(json.requests[0]?.url.search).toBe("?scope_type=task&scope_id=a-task");
});

test("a budget is made, raised and shown", async () => {
  const made = toTrial({}, () => Response.json(BUDGET, { status: 201 }));
  expect(await runCommand(made.context, ["budgets", "create", "global", "--limit", "5"])).toBe(0);
  expect(made.requests[0]?.body).toMatchObject({ scope_type: "global", limit_amount: 5 });
  expect(made.out.at(-1)).toMatch(/^bud-000000000001 +\$5\.00 +\$5\.00 +used up +global$/);
  const raised = toTrial({}, () => Response.json(BUDGET));
  expect(await runCommand(raised.context, ["budgets", "set", BUDGET.id, "--limit", "7.5"])).toBe(0);
  expect(raised.requests[0]).toMatchObject({ method: "PATCH", body: { limit_amount: 7.5 } });
  const wrong = toTrial();
  expect(await runCommand(wrong.context, ["budgets", "set", BUDGET.id, "--limit", "much"])).not.toBe(0);
  expect(wrong.err.join("\n")).toContain("--limit takes an amount of dollars");
});

test("a price is set for a million tokens", async () => {
  const price = {
    model: "m-*",
    input: 3,
    output: 15,
    cache_read: null,
    cache_write: null,
    origin: "edited",
    as_of: "2026-01-01",
  };
  const { context, out, requests } = toTrial({}, () => Response.json(price));
  expect(await runCommand(context, ["prices", "set", "m-*", "--input", "3", "--output", "15"])).toBe(0);
  expect(requests[0]).toMatchObject({ method: "PUT", body: { model: "m-*", input: 3, output: 15, cache_read: null } });
  expect(out.at(-1)).toMatch(/^3 +15 +- +- +edited 2026-01-01 +m-\*$/);
});
