/** The monitor: figures lead to what is behind them, evidence leads to the event, and the address keeps what one looks at. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";
import { say } from "./fake-worker.ts";
import { plantFindings } from "./findings.ts";

test("an event named as evidence is one address away: the run opens at it", async ({ page, product }) => {
  const worker = await product.startWorker({ prompt: "Cited" });
  const other = await product.startWorker({ prompt: "Counts the log on" });
  await other.post(say("one"), say("two"), say("three"));
  await worker.post(say("before"), say("the evidence itself"), say("after"));
  const { events } = await createClient({ baseUrl: product.url, token: ADMIN_TOKEN }).listSandboxEvents({
    params: { sandbox_id: worker.created.id },
    query: {},
  });
  const cited = events.find(({ event_data: data }) => data["content"] === "the evidence itself");
  expect(cited?.seq).not.toBe(cited?.sandbox_seq);
  await page.goto(`${product.url}/sandboxes/${worker.id}?seq=${cited?.seq}`);
  await eventually(() => new URL(page.url()).search).toBe(`?e=${cited?.sandbox_seq}`);
  await page.locator(`article[data-seq="${cited?.sandbox_seq}"]`).getByText("the evidence itself").waitFor();
});

test("figures lead to the list behind them; tab and range are in the address and survive a reload", async ({
  page,
  product,
}) => {
  const worker = await product.startWorker({ prompt: "Counted by the monitor" });
  await worker.post(say("working"));
  await page.goto(product.url);
  await page.getByText("Counted by the monitor").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("m");
  await page.getByRole("heading", { name: "Monitor" }).waitFor();
  await page.getByRole("group", { name: "Range" }).getByText("24h").click();
  await page.locator('[data-chart="Active sandboxes"]').waitFor();
  await page.reload();
  expect(new URL(page.url()).search).toBe("?range=24h");
  await page.getByRole("radio", { name: "24h", checked: true }).waitFor();
  const figures = page.getByTestId("figures");
  await figures.getByRole("link", { name: /until at work, p95/ }).waitFor();
  await eventually(() => figures.getByRole("link", { name: /spent in a day/ }).textContent()).toMatch(/^\$0\.00/);
  await page.getByRole("link", { name: "All verdicts" }).waitFor();
  await page
    .getByTestId("figures")
    .getByRole("link", { name: /agents at work/ })
    .click();
  await page.getByRole("button", { name: /^Working/, pressed: true }).waitFor();
  await page.getByText("Counted by the monitor").waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "Supervision" }).click();
  await page.locator("[data-loop=run-guardian]").waitFor();
  expect(new URL(page.url()).search).toBe("?tab=passes");
});

test("a chart is read by keyboard: the arrows move one crosshair over all of them", async ({ page, product }) => {
  await page.goto(`${product.url}/monitor`);
  const chart = page.locator('[data-chart="Active sandboxes"]');
  await chart.getByRole("img").focus();
  await page.keyboard.press("ArrowLeft");
  // A day and a time stand below each chart as soon as the crosshair stands somewhere.
  await chart.getByText(/\d{4}, \d\d:\d\d: /).waitFor();
  await page
    .locator('[data-chart="Cost"]')
    .getByText(/\d{4}, \d\d:\d\d: /)
    .waitFor();
});

test("figures that are paused stay as they are and say of when; then they go on", async ({ page, product }) => {
  await page.clock.install();
  let asked = 0;
  page.on("request", (request) => {
    if (request.url().endsWith("/monitor/dashboard")) asked += 1;
  });
  await page.goto(`${product.url}/monitor`);
  await page
    .getByTestId("figures")
    .getByRole("link", { name: /^\d+ ?agents at work/ })
    .waitFor();
  await page.getByRole("button", { name: "Pause the figures" }).click();
  await page.getByText(/^as of \d\d:\d\d:\d\d$/).waitFor();
  const before = asked;
  await page.clock.fastForward(60_000);
  expect(asked).toBe(before);
  await page.getByRole("button", { name: "Go on" }).click();
  await eventually(() => asked).toBeGreaterThan(before);
  const after = asked;
  await page.clock.fastForward(60_000);
  await eventually(() => asked).toBeGreaterThan(after);
});

test("a rule over a figure is made, switched off and taken away", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await page.goto(`${product.url}/monitor?tab=alerts`);
  await page.getByRole("button", { name: "New rule" }).click();
  const form = page.getByRole("dialog", { name: "New rule" });
  await form.getByLabel("Name").fill("Too many wait");
  await form.getByLabel("Limit").fill("many");
  await form.getByText("A number.").waitFor();
  await form.getByLabel("Limit").fill("20");
  await form.getByLabel("For minutes").fill("5");
  await form.getByRole("button", { name: "Create rule" }).click();
  const line = page.locator('[data-rule="Too many wait"]');
  await line.getByText("queue depth above 20 for 5m").waitFor();
  const read = async () =>
    (await client.listAlertRules({ query: { limit: 100 } })).items.filter(({ name }) => name === "Too many wait");
  expect(await read()).toMatchObject([{ metric: "queue_depth", threshold: 20, for_seconds: 300, enabled: true }]);
  await line.getByRole("button", { name: "Switch off" }).click();
  await line.getByRole("button", { name: "Switch on" }).waitFor();
  expect(await read()).toMatchObject([{ enabled: false }]);
  await line.getByRole("button", { name: "Remove Too many wait" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await eventually(() => line.count()).toBe(0);
  expect(await read()).toEqual([]);
});

test("an anomaly has a page: what makes it, what was done around it, and that it was seen", async ({
  page,
  product,
}) => {
  const worker = await product.startWorker({ prompt: "Slower than the others" });
  const { anomalyId } = await plantFindings(product.db, worker.id);
  await page.goto(`${product.url}/monitor?tab=anomalies`);
  const line = page.locator(`[data-anomaly="${anomalyId}"]`);
  await line.getByRole("link", { name: "score 0.82 in 3 readings" }).click();
  await page.getByRole("heading", { name: "Slower than the others stands out" }).waitFor();
  await page.locator('[data-part="latency"]').getByText("0.90").waitFor();
  await page.locator("[data-intervention]").getByText("It rewrites what it was told to keep.").waitFor();
  await page.getByRole("button", { name: "Seen" }).click();
  await page.getByText(/^seen by /).waitFor();
  await page.getByRole("link", { name: "Anomalies", exact: true }).click();
  await line.getByText(/^seen by /).waitFor();
});

test("a run that stands out is steered, its anomaly acknowledged by key, and the run stopped, from the line", async ({
  page,
  product,
}) => {
  const worker = await product.startWorker({ prompt: "Fails more than the others" });
  const { anomalyId } = await plantFindings(product.db, worker.id);
  await page.goto(`${product.url}/monitor?tab=anomalies`);
  const line = page.locator(`[data-anomaly="${anomalyId}"]`);
  await line.getByRole("button", { name: "Steer" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Message" }).fill("Read the error first");
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await eventually(async () => (await worker.receive()).map(({ content }) => content)).toContain(
    "Read the error first",
  );
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await line.getByRole("link", { name: /^score/ }).focus();
  await page.keyboard.press("a");
  await line.getByText(/^seen by /).waitFor();
  await line.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Terminate" }).click();
  await line.getByRole("button", { name: "Steer" }).waitFor({ state: "detached" });
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  expect(await client.getSandbox({ params: { sandbox_id: worker.created.id } })).toMatchObject({ state: "terminated" });
});

test("a verdict has a page: the events it cites, and what the word to the agent changed", async ({ page, product }) => {
  const worker = await product.startWorker({ prompt: "Wanders off" });
  await worker.post(say("I rewrite the build."), say("I go back to the parser."));
  const { analysisId, nextId, cited } = await plantFindings(product.db, worker.id);
  await page.goto(`${product.url}/monitor/guardian/${analysisId}`);
  await page.getByRole("heading", { name: "Wanders off drifts" }).waitFor();
  await page.getByTestId("recommendation").getByText("Leave the build alone.").waitFor();
  await page.getByTestId("next-verdict").getByText("Alignment went from 0.30 to 0.90").waitFor();
  const way = page.getByRole("list", { name: "How far it came" });
  await way.locator('[data-step="sent"] time').waitFor();
  await way.locator('[data-step="seen"]').getByText("not seen yet").waitFor();
  await page.locator(`[data-verdict="${nextId}"]`).getByRole("link").click();
  await page.getByRole("heading", { name: "Wanders off keeps to its goal" }).waitFor();
  await page.goBack();
  await page
    .getByRole("link", { name: `Event ${cited}` })
    .first()
    .click();
  await page.locator("article").getByText("I rewrite the build.").waitFor();
});

test("a finding that is not there says so, and leads to those that are", async ({ page, product, complaints }) => {
  complaints.allow(/status of 4(?:04|22)/);
  for (const [path, title] of [
    ["/monitor/anomalies/ano-000000000000", "There is no such anomaly"],
    ["/monitor/guardian/no-id-at-all", "There is no such verdict"],
  ] as const) {
    await page.goto(product.url + path);
    await page.getByText(title).waitFor();
    await page.getByRole("link", { name: "All that are there" }).waitFor();
  }
});

test("an agent's page shows how its workers beat, and what was noticed", async ({ page, product }) => {
  const worker = await product.startWorker({ prompt: "Heard and lost", runtime: "codex" });
  await worker.post({ event_type: "agent.heartbeat", event_data: { status: "running" } });
  await worker.post({ event_type: "agent.failed", event_data: { error: "no" } });
  await page.goto(`${product.url}/agents/codex`);
  await page.getByTestId("heartbeats").getByText("1 heartbeat of 1 sandbox, 0 restarts, 1 failure").waitFor();
  await page.getByRole("list", { name: "What was noticed" }).getByText("1 failed").waitFor();
  await page.goto(`${product.url}/agents/gemini`);
  await page.getByTestId("heartbeats").getByText("Nobody was at work").waitFor();
  await page.getByRole("link", { name: "Configuration" }).click();
  await page.getByText("npm package").waitFor();
  expect(new URL(page.url()).search).toBe("?tab=config");
  expect(await findViolations(page)).toEqual([]);
  await page.goto(`${product.url}/agents/codex?tab=runs`);
  await page.getByRole("link", { name: "Heard and lost" }).waitFor();
  await page.getByRole("link", { name: "Health" }).click();
  await page.getByText("Nobody works now").waitFor();
  expect(await findViolations(page)).toEqual([]);
});
