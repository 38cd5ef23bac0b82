/** Budgets hold: reserved before a call, settled after it; who reaches one is paused, and a person is asked. */
import { expect } from "vitest";
import { createHold } from "../../../testkit/src/model/hold.ts";
import { extendByModel } from "../../../testkit/src/model/model-server.ts";
import type { TestSandbox, TestServer } from "../../../testkit/src/server.ts";

const test = extendByModel((model) => ({ config: { anthropicBaseUrl: model.url } }));

/** 100,000 tokens of output: 1.50 USD. */
const DEAR = { text: "a", usage: { input: 0, output: 100_000 } };
const MODEL = "claude-sonnet-4-5";

const ask = (server: TestServer, sandbox: TestSandbox, model = MODEL, max_tokens = 100) =>
  server.call("POST", "/gateway/anthropic/v1/messages", {
    token: sandbox.token,
    body: { model, max_tokens, messages: [{ role: "user", content: "go" }] },
  });

const listTypes = async (server: TestServer, sandbox: TestSandbox, type: string) =>
  (await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=${type}&order=asc`)).body.events;

const readBudget = async (server: TestServer, sandbox: TestSandbox) =>
  (await server.call("GET", `/budgets?scope_type=sandbox&scope_id=${sandbox.id}`)).body.items[0];

test("a budget of one cent stops a run within one call, pauses it, and asks; raised, it goes on", async ({
  server,
  model,
}) => {
  model.setScript(() => DEAR);
  const sandbox = await server.createSandbox({ budget_usd: 0.01 });
  const before = model.requests.length;
  expect(await ask(server, sandbox)).toMatchObject({ status: 200 });
  const refused = await ask(server, sandbox);
  expect(refused).toMatchObject({ status: 402, headers: { "x-should-retry": "false" } });
  expect(refused.body).toMatchObject({ status: 402, error: { type: "billing_error" } });
  expect(refused.body.error.message).toContain("drover budgets set");
  expect(await ask(server, sandbox)).toMatchObject({ status: 402 });
  expect(model.requests.length - before).toBe(1);

  const asked = await listTypes(server, sandbox, "budget.exceeded");
  expect(asked).toHaveLength(1);
  expect(asked[0].event_data).toMatchObject({
    scope_type: "sandbox",
    scope_id: sandbox.id,
    limit_usd: 0.01,
    model: MODEL,
  });
  expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body).toMatchObject({
    state: "paused",
    state_cause: "budget",
  });

  const budget = await readBudget(server, sandbox);
  expect(budget).toMatchObject({ exceeded: true, limit_amount: 0.01, reserved_amount: 0, alert_triggered: true });
  expect(budget.spent_amount).toBeCloseTo(1.5, 9);
  await server.call("PATCH", `/budgets/${budget.id}`, { body: { limit_amount: 100 } });
  expect(await server.call("POST", `/sandboxes/${sandbox.id}/resume`)).toMatchObject({ status: 200 });
  expect(await ask(server, sandbox)).toMatchObject({ status: 200 });
  expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body).toMatchObject({
    state: "running",
    budget_usd: 100,
  });
});

test("calls at the same time do not spend more than there is", async ({ server, model }) => {
  const hold = createHold();
  // Exactly what each call is expected to cost: 100 tokens of output are 0.0015 USD.
  model.setScript(() => ({ text: "a", usage: { input: 0, output: 100 }, holdFirst: hold }));
  const sandbox = await server.createSandbox({ budget_usd: 0.006 });
  const before = model.requests.length;
  let answered = 0;
  const call = async () => {
    const { status } = await ask(server, sandbox);
    answered += 1;
    return status;
  };
  const answers = Promise.all(Array.from({ length: 20 }, call));
  await expect.poll(() => answered + model.requests.length - before, { timeout: 10_000 }).toBe(20);
  expect((await readBudget(server, sandbox)).reserved_amount).toBeGreaterThan(0);
  hold.release();
  const statuses = await answers;
  const passed = statuses.filter((status) => status === 200).length;
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  const budget = await readBudget(server, sandbox);
  expect(budget).toMatchObject({ reserved_amount: 0, exceeded: false });
  expect(budget.spent_amount).toBeCloseTo(passed * 0.0015, 9);
  expect(budget.spent_amount).toBeLessThanOrEqual(0.006);
});

test("people are warned once, at the share that was set", async ({ server, model }) => {
  model.setScript(() => DEAR);
  const sandbox = await server.createSandbox();
  await server.call("POST", "/budgets", {
    body: { scope_type: "sandbox", scope_id: sandbox.id, limit_amount: 4, alert_threshold: 0.5 },
  });
  await ask(server, sandbox);
  expect(await listTypes(server, sandbox, "budget.warning")).toHaveLength(0);
  await ask(server, sandbox);
  const [warning, ...more] = await listTypes(server, sandbox, "budget.warning");
  expect(warning.event_data).toMatchObject({ limit_usd: 4, scope_type: "sandbox", share: 0.75 });
  expect(more).toEqual([]);
});

test("a budget of the project is over all its sandboxes, and over no other project", async ({ server, model }) => {
  model.setScript(() => DEAR);
  const project = await server.createProject();
  const [one, two, other] = [
    await server.createSandbox({ project_id: project }),
    await server.createSandbox({ project_id: project }),
    await server.createSandbox(),
  ];
  await server.call("POST", "/budgets", { body: { scope_type: "project", scope_id: project, limit_amount: 1 } });
  expect(await ask(server, one)).toMatchObject({ status: 200 });
  expect(await ask(server, two)).toMatchObject({ status: 402 });
  expect(await ask(server, other)).toMatchObject({ status: 200 });
  const { body } = await server.call("GET", `/costs/budgets/check?scope_type=project&scope_id=${project}`);
  expect(body).toMatchObject({ available: false, budgets: [{ utilization: 1.5 }] });
});

test("a call that costs nothing gives back what was held", async ({ server, model }) => {
  model.setScript(() => ({ error: { status: 529 } }));
  const sandbox = await server.createSandbox({ budget_usd: 1 });
  expect(await ask(server, sandbox)).toMatchObject({ status: 529 });
  expect(await readBudget(server, sandbox)).toMatchObject({ spent_amount: 0, reserved_amount: 0 });
  expect(await listTypes(server, sandbox, "agent.usage")).toEqual([]);
});

test("a model without a price has no cost that anybody is told, and still cannot break a budget", async ({
  server,
  model,
}) => {
  model.setScript(() => DEAR);
  const sandbox = await server.createSandbox({ budget_usd: 1 });
  expect(await ask(server, sandbox, "somebody-s-model")).toMatchObject({ status: 200 });
  const [used] = await listTypes(server, sandbox, "agent.usage");
  expect(used.event_data).toMatchObject({ cost_usd: null, unpriced: true, output_tokens: 100_000 });
  expect(await ask(server, sandbox, "somebody-s-model")).toMatchObject({ status: 402 });
  expect((await server.call("GET", `/sandboxes/${sandbox.id}`)).body).toMatchObject({
    cost_usd: null,
    unpriced_calls: 1,
  });
  const { body } = await server.call("GET", `/costs/summary?scope_type=sandbox&scope_id=${sandbox.id}`);
  expect(body).toMatchObject({ total_cost: 0, unpriced_count: 1, record_count: 1, total_tokens: 100_000 });

  await server.call("PUT", "/prices", { body: { model: "somebody-s-*", input: 1, output: 2 } });
  const next = await server.createSandbox();
  await ask(server, next, "somebody-s-model");
  expect((await listTypes(server, next, "agent.usage"))[0].event_data.cost_usd).toBeCloseTo(0.2, 9);
  const { body: records } = await server.call("GET", `/costs/records?sandbox_id=${next.id}`);
  expect(records.items).toMatchObject([
    { model: "somebody-s-model", provider: "anthropic", completion_tokens: 100_000 },
  ]);
});

test("people see and set what lies in their own project", async ({ server }) => {
  const over = { scope_type: "global", limit_amount: 5, period_end: "2020-01-01T00:00:00Z" };
  expect((await server.call("POST", "/budgets", { body: over })).status).toBe(422);
  const [mine, theirs] = [await server.createProject(), await server.createProject()];
  const { token } = await server.createToken("operator", mine);
  const body = (scope_id: string) => ({ scope_type: "project", scope_id, limit_amount: 5 });
  const own = await server.call("POST", "/budgets", { token, body: body(mine) });
  expect(own).toMatchObject({ status: 201, body: { project_id: mine } });
  expect(await server.call("POST", "/budgets", { token, body: body(theirs) })).toMatchObject({ status: 404 });
  expect(
    await server.call("POST", "/budgets", { token, body: { scope_type: "global", limit_amount: 1 } }),
  ).toMatchObject({ status: 403 });
  const { body: foreign } = await server.call("POST", "/budgets", { body: body(theirs) });
  expect(await server.call("GET", `/budgets/${foreign.id}`, { token })).toMatchObject({ status: 404 });
  expect(await server.call("DELETE", `/budgets/${foreign.id}`, { token })).toMatchObject({ status: 404 });
  const { body: list } = await server.call("GET", "/budgets", { token });
  expect(list.items.map((budget: { id: string }) => budget.id)).toEqual([own.body.id]);
  expect(await server.call("DELETE", `/budgets/${own.body.id}`, { token })).toMatchObject({ status: 200 });
});

test("budgets of a ticket and of a task are over their sandboxes", async ({ server, model }) => {
  model.setScript(() => DEAR);
  const { body: ticket } = await server.call("POST", "/tickets", { body: { title: "dear" } });
  const { body: task } = await server.call("POST", "/tasks", { body: { title: "dear", ticket_id: ticket.id } });
  const sandbox = await server.createSandbox({ task_id: task.id });
  const limit = (scope_type: string, scope_id: string, limit_amount: number) =>
    server.call("POST", "/budgets", { body: { scope_type, scope_id, limit_amount } });
  await limit("ticket", ticket.id, 2);
  expect((await limit("ticket", task.id, 1)).status).toBe(404);
  expect(await ask(server, sandbox)).toMatchObject({ status: 200 });
  await limit("task", task.id, 0.000_001);
  expect((await ask(server, sandbox)).body.detail).toContain(`task ${task.id}`);
  const { body } = await server.call("GET", `/costs/summary?scope_type=ticket&scope_id=${ticket.id}`);
  const unknown = "/costs/summary?scope_type=ticket&scope_id=00000000-0000-4000-8000-00000000dead";
  expect((await server.call("GET", unknown)).status).toBe(404);
  expect(body).toMatchObject({ record_count: 1, breakdown: [{ model: MODEL }] });
  expect(body.total_cost).toBeCloseTo(1.5, 9);
});

test("a phase has sums and a budget over all projects, and an agent is its sandbox", async ({ server, model }) => {
  model.setScript(() => DEAR);
  const phase = "PHASE_DEPLOYMENT";
  const { body: ticket } = await server.call("POST", "/tickets", { body: { title: "ship it" } });
  const made = { title: "ship it", ticket_id: ticket.id, phase_id: phase };
  const { body: task } = await server.call("POST", "/tasks", { body: made });
  const [sandbox, other] = [await server.createSandbox({ task_id: task.id }), await server.createSandbox()];
  expect(await ask(server, sandbox)).toMatchObject({ status: 200 });
  for (const scope of [`phase&scope_id=${phase}`, `agent&scope_id=${sandbox.id}`])
    expect((await server.call("GET", `/costs/summary?scope_type=${scope}`)).body.record_count, scope).toBe(1);
  expect((await server.call("GET", `/costs/records?agent_id=${sandbox.id}`)).body.items).toHaveLength(1);
  const limited = { scope_type: "phase", scope_id: phase, limit_amount: 0.000_001 };
  const operator = (await server.createToken("operator", await server.createProject())).token;
  expect((await server.call("POST", "/budgets", { body: limited, token: operator })).status).toBe(403);
  expect((await server.call("POST", "/budgets", { body: limited })).status).toBe(201);
  expect((await ask(server, sandbox)).body.detail).toContain(`phase ${phase}`);
  expect(await ask(server, other)).toMatchObject({ status: 200 });
  const own = { scope_type: "agent", scope_id: other.id, limit_amount: 5 };
  expect((await server.call("POST", "/costs/budgets", { body: own })).body).toMatchObject({ scope_type: "sandbox" });
});

test("nothing new is begun under a budget that is used up; raised, it is", async ({ server, model }) => {
  model.setScript(() => DEAR);
  const project_id = await server.createProject();
  const budget = await server.call("POST", "/budgets", {
    body: { scope_type: "project", scope_id: project_id, limit_amount: 1 },
  });
  const first = await server.createSandbox({ project_id });
  expect((await ask(server, first)).status).toBe(200);
  const refused = await server.call("POST", "/sandboxes", { body: { provider: "external", project_id } });
  expect(refused).toMatchObject({ status: 402, body: { type: "urn:drover:error:budget.exceeded" } });
  expect(refused.body.detail).toContain(budget.body.id);
  expect((await server.call("POST", "/sandboxes", { body: { provider: "external" } })).status).toBe(201);

  // A task waits for the money and has not failed.
  await server.call("PATCH", `/projects/${project_id}`, {
    body: { autonomous_execution_enabled: true, settings: { provider: "external" } },
  });
  const { body: ticket } = await server.call("POST", "/tickets", { body: { title: "broke", project_id } });
  const { body: task } = await server.call("POST", "/tasks", { body: { ticket_id: ticket.id, title: "one" } });
  const read = async () => (await server.call("GET", `/tasks/${task.id}`)).body;
  await expect.poll(async () => (await read()).status_reason).toContain("is used up");
  expect(await read()).toMatchObject({ status: "pending", retry_count: 0 });
  await server.call("PATCH", `/budgets/${budget.body.id}`, { body: { limit_amount: 100 } });
  expect((await server.call("POST", "/sandboxes", { body: { provider: "external", project_id } })).status).toBe(201);
});
