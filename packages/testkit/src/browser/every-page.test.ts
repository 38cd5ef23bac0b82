/** Every page as it is shipped, in one visit each: nothing that axe finds, in light and in dark; nothing wider than a phone; no word on the
 *  console. */
import { createClient } from "@drover/client";
import type { Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { findFaintness, findFaintnessAtHighContrast, findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";
import { say, type FakeWorker } from "./fake-worker.ts";
import { plantFindings } from "./findings.ts";

const fill = (worker: FakeWorker) =>
  worker.post(
    { event_type: "agent.started", event_data: { sdk: "scripted" }, source: "worker" },
    { event_type: "agent.heartbeat", source: "worker" },
    say(
      "A **message** with `code`, a [link](https://example.org) and\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst x = 1;\n```\n\n- [x] done\n- [ ] open",
    ),
    { event_type: "agent.thinking", event_data: { content: "A thought" } },
    { event_type: "agent.tool_use", event_data: { tool: "Read", tool_use_id: "r", input: { file_path: "a.ts" } } },
    {
      event_type: "agent.tool_use",
      event_data: {
        tool: "TodoWrite",
        tool_use_id: "t",
        input: {
          todos: [
            { content: "One", status: "completed" },
            { content: "Two", status: "in_progress" },
          ],
        },
      },
    },
    { event_type: "agent.tool_use", event_data: { tool: "Bash", tool_use_id: "b", input: { command: "npm test" } } },
    {
      event_type: "agent.tool_completed",
      event_data: {
        tool_use_id: "b",
        tool_response: {
          stdout: "\u001b[31mred\u001b[0m \u001b[32mgreen\u001b[0m \u001b[33myellow\u001b[0m \u001b[90mgrey\u001b[0m",
          exit_code: 1,
        },
      },
    },
    {
      event_type: "agent.file_edited",
      event_data: {
        file_path: "src/a.ts",
        change_type: "modified",
        lines_added: 1,
        lines_removed: 1,
        full_diff: "@@ -1,2 +1,2 @@\n-old\n+new\n same\n",
      },
    },
    {
      event_type: "agent.subagent_invoked",
      event_data: { tool: "Task", tool_use_id: "s", input: { subagent_type: "reviewer", prompt: "Look at it" } },
    },
    { event_type: "agent.message", event_data: { content: "Looked at.", parent_tool_use_id: "s" } },
    { event_type: "agent.permission_requested", event_data: { request_id: "p", question: "May I?", tool: "Bash" } },
    { event_type: "agent.error", event_data: { error: "Something failed" } },
    { event_type: "future.event", event_data: { a: 1 } },
  );

/** Looked at on a phone by all rules as well: what people do there. */
const ON_A_PHONE = new Set(["/", "/settings?section=access"]);

/** An address below the product's, and a text that tells that the page is there. */
type Place = readonly [path: string, shows: string | RegExp];

async function seed(product: Product): Promise<readonly Place[]> {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const worker = await product.startWorker({ prompt: "Watched on every page", runtime: "claude" });
  await worker.post(say("working"), {
    event_type: "agent.permission_requested",
    event_data: { request_id: "p-1", tool: "Bash", input: { command: "make" } },
  });
  const full = await product.startWorker({ prompt: "With a row of every kind", runtime: "claude" });
  await fill(full);
  const failed = await product.startWorker({ prompt: "One that failed", runtime: "claude" });
  await failed.post(say("trying"), { event_type: "agent.failed", event_data: { error: "no" } });
  await client.createBudget({ body: { scope_type: "global", limit_amount: 5 } });
  const ticket = await client.createTicket({
    body: { title: "Looked at", description: "**Why** not", force_create: true },
  });
  const first = await client.createTask({ body: { ticket_id: ticket.id, title: "First step" } });
  const second = await client.createTask({
    body: { ticket_id: ticket.id, title: "Second step", dependencies: { depends_on: [first.id] } },
  });
  const stuck = await client.createTicket({ body: { title: "Does not get on", force_create: true } });
  const lost = await client.createTask({ body: { ticket_id: stuck.id, title: "Fails for good", max_retries: 0 } });
  await client.failTask({ params: { task_id: lost.id }, body: { reason: "no such module" } });
  const { anomalyId, analysisId } = await plantFindings(product.db, failed.id);
  return [
    [`/sandboxes/${full.id}`, "future.event"],
    [`/sandboxes/${full.id}?tab=git`, "No branch"],
    ["/", "wants to use Bash"],
    ["/sandboxes", "Watched on every page"],
    ["/sandboxes?q=nothing-is-called-that", "No sandbox matches."],
    ["/sandboxes/new", "What should the agent do?"],
    ["/tasks", "Looked at"],
    ["/tasks?view=list", "First step"],
    [`/tasks?view=graph&project=${ticket.project_id}`, "First step"],
    ["/tasks?new=true", "What you want; its tasks say how."],
    [`/tasks/tickets/${ticket.id}`, "What waits for what"],
    [`/tasks/${second.id}`, "Attempts"],
    ["/monitor", "agents at work"],
    ["/monitor?tab=guardian", "It is back at the parser."],
    ["/monitor?tab=conductor", "Analyses"],
    ["/monitor?tab=anomalies", "in 3 readings"],
    [`/monitor/anomalies/${anomalyId}`, "stands out"],
    [`/monitor/guardian/${analysisId}`, "What the intervention changed"],
    ["/monitor?tab=alerts", "Fired alerts"],
    ["/monitor?tab=stuck", "Does not get on"],
    ["/monitor?tab=passes", "Configuration"],
    ["/compare", "Choose two runs"],
    ["/agents", "Built in"],
    ["/agents/claude", "One that failed"],
    ["/costs", "of $5.00"],
    ["/settings", "System follows your desktop."],
    ["/settings?section=keyboard", "Single-key shortcuts"],
    ["/settings?section=notifications", "An alert that fires"],
    ["/settings?section=projects", "unless another is named"],
    ["/settings?section=providers", "This machine"],
    ["/settings?section=models", "Price table"],
    ["/settings?section=access", "New token"],
    ["/settings?section=webhooks", "No webhook yet"],
    ["/nowhere", "There is nothing at this address"],
  ];
}

const isTooWide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

async function look(page: Page, path: string, sign: Locator, isForPhones: boolean): Promise<readonly string[]> {
  const found: string[] = [];
  const note = (where: string, complaints: readonly string[]) => {
    for (const complaint of complaints) found.push(`${path} ${where}: ${complaint}`);
  };
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto(path);
  await sign.waitFor();
  await eventually(() => page.locator(".skeleton").count()).toBe(0);
  note("light", await findViolations(page));
  await page.emulateMedia({ colorScheme: "dark" });
  await eventually(() => page.locator("html.dark").count()).toBe(1);
  note("dark", await findFaintness(page));
  await page.setViewportSize({ width: 390, height: 844 });
  if (await isTooWide(page)) note("on a phone", ["it is wider"]);
  if (!isForPhones) return found;
  note("on a phone in dark", await findFaintness(page));
  await page.emulateMedia({ colorScheme: "light" });
  await eventually(() => page.locator("html.dark").count()).toBe(0);
  note("on a phone", await findViolations(page));
  return found;
}

/** Somebody who asked for notices of the desktop and looks at the wall; what the browser was asked to show is kept. */
async function listen(open: () => Promise<Page>, product: Product) {
  const page = await open();
  await page.context().grantPermissions(["notifications"], { origin: product.url });
  await page.addInitScript(() => {
    const shown: string[] = [];
    const { Notification: Real } = window;
    window.Notification = class extends Real {
      constructor(title: string, options?: NotificationOptions) {
        super(title, options);
        shown.push(`${title}: ${options?.body ?? ""}`);
        document.documentElement.dataset["shown"] = JSON.stringify(shown);
      }
    };
  });
  await page.goto(`${product.url}/settings?section=notifications`);
  await page.getByRole("group", { name: "Notices on this desktop" }).getByText(/^on$/i).click();
  await page.goto(product.url);
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
  return page;
}

/** Found firing, told on the desktop, and seen to. */
async function expectAlert(listener: Page, product: Product): Promise<void> {
  await eventually(() => listener.locator("html").getAttribute("data-shown")).toContain(
    "Somebody works: active_sandboxes is beyond its limit.",
  );
  await listener.goto(`${product.url}/monitor?tab=alerts`);
  const line = listener.locator("[data-alert]").filter({ hasText: "Somebody works" });
  await line.getByText("critical").waitFor();
  await line.getByRole("button", { name: "Seen" }).click();
  await line.getByText(/^seen by /).waitFor();
  await listener.reload();
  await line.getByText(/^seen by /).waitFor();
}

test("no page has a finding of axe in light or dark, is wider than a phone, or complains; what fires meanwhile is told and seen to", async ({
  open,
  product,
  complaints,
}) => {
  complaints.allow(/status of 401/);
  const places = await seed(product);
  const listener = await listen(open, product);
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await client.createAlertRule({
    body: {
      name: "Somebody works",
      metric: "active_sandboxes",
      comparison: "above",
      threshold: 0,
      severity: "critical",
      channels: [{ kind: "desktop" }],
    },
  });
  // Two at a time: while one is drawn, the other is judged.
  const next = places.values();
  const walk = async () => {
    const page = await open();
    const found: string[] = [];
    for (const [path, shows] of next) {
      const sign = path.endsWith("models") ? page.getByRole("region", { name: shows }) : page.getByText(shows).first();
      const isForPhones = ON_A_PHONE.has(path) || shows === "future.event";
      found.push(...(await look(page, `${product.url}${path}`, sign, isForPhones)));
    }
    return found;
  };
  const door = await open({ isLoggedIn: false });
  const heading = door.getByRole("heading", { name: "Log in" });
  const found = await Promise.all([walk(), walk(), look(door, `${product.url}/login`, heading, true)]);
  expect(found.flat()).toEqual([]);
  // Figures are taken every half minute: by now, or soon.
  await expectAlert(listener, product);
}, 180_000);

test("at high contrast all text stands out seven to one, in light and in dark, and the choice is kept", async ({
  page,
  product,
  worker,
}) => {
  await fill(worker);
  await page.goto(`${product.url}/settings`);
  await page.getByRole("group", { name: "Contrast" }).getByText("High").click();
  const found: string[] = [];
  for (const [path, shows] of [
    ["/settings", "Contrast"],
    ["/", "Fake work"],
    ["/monitor", "agents at work"],
    [`/sandboxes/${worker.id}`, "future.event"],
    [`/sandboxes/${worker.id}?tab=changes`, "src/a.ts"],
  ] as const) {
    await page.goto(`${product.url}${path}`);
    await page.getByText(shows).first().waitFor();
    await page.locator("html.contrast").waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await eventually(() => page.locator("html.dark").count()).toBe(colorScheme === "dark" ? 1 : 0);
      for (const complaint of await findFaintnessAtHighContrast(page))
        found.push(`${path} ${colorScheme}: ${complaint}`);
    }
  }
  expect(found).toEqual([]);
});

test("dialogs have no violation and give the focus back", async ({ page, product, worker }) => {
  await fill(worker);
  await page.goto(`${product.url}/sandboxes/new`);
  const button = page.getByRole("button", { name: "Bring your own worker instead" });
  await button.click();
  await page.getByRole("dialog").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.goto(product.url);
  await page.getByText("Fake work").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("a stuck ticket is looked into by hand, and what was found out stands below", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const ticket = await client.createTicket({ body: { title: "Stands still", force_create: true } });
  const task = await client.createTask({ body: { ticket_id: ticket.id, title: "Ends badly", max_retries: 0 } });
  await client.failTask({ params: { task_id: task.id }, body: { reason: "2 tests fail" } });
  await page.goto(`${product.url}/monitor?tab=stuck`);
  const line = page.locator(`[data-stuck="${ticket.id}"]`);
  await line.getByText("1 of 1 task failed").waitFor();
  await line.getByRole("button", { name: "Look into it" }).click();
  const read = async () => (await client.listDiagnosticRuns({ query: { ticket_id: ticket.id } })).items;
  await eventually(async () => (await read()).length).toBe(1);
  const [run] = await read();
  const diagnosis = page.locator(`[data-diagnosis="${run?.id}"]`);
  await diagnosis
    .getByText(run?.diagnosis.root_cause ?? "a cause", { exact: true })
    .first()
    .waitFor();
  // Its task is open now, so nothing is stuck any more.
  await eventually(() => line.count()).toBe(0);
  await diagnosis.getByRole("link", { name: "The task that is to help" }).click();
  await eventually(() => new URL(page.url()).pathname).toBe(`/tasks/${run?.diagnostic_task_id}`);
});
