/** Every page as it is shipped: nothing that axe finds, in light and in dark; nothing wider than a phone; no word on the console. */
import { createClient } from "@drover/client";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { findFaintness, findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";
import { say } from "./fake-worker.ts";

/** An address below the product's, and a text that tells that the page is there. */
type Place = readonly [path: string, shows: string | RegExp];

async function seed(product: Product): Promise<readonly Place[]> {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const worker = await product.startWorker({ prompt: "Watched on every page", runtime: "claude" });
  await worker.post(say("working"), {
    event_type: "agent.permission_requested",
    event_data: { request_id: "p-1", tool: "Bash", input: { command: "make" } },
  });
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
  return [
    ["/", "wants to use Bash"],
    ["/sandboxes", "Watched on every page"],
    ["/sandboxes?q=nothing-is-called-that", "No sandbox matches."],
    ["/sandboxes/new", "What should the agent do?"],
    ["/work", "Looked at"],
    ["/work?view=tasks", "First step"],
    [`/work?view=graph&project=${ticket.project_id}`, "First step"],
    ["/work?new=true", "What you want; its tasks say how."],
    [`/work/tickets/${ticket.id}`, "What waits for what"],
    [`/work/tasks/${second.id}`, "Attempts"],
    ["/monitor", "agents at work"],
    ["/monitor?tab=guardian", "No run was judged yet"],
    ["/monitor?tab=conductor", "Analyses"],
    ["/monitor?tab=anomalies", "Nobody stands out"],
    ["/monitor?tab=alerts", "What fired"],
    ["/monitor?tab=passes", "How it is set"],
    ["/agents", "Always here"],
    ["/agents/claude", "One that failed"],
    ["/costs", "of $5.00"],
    ["/settings", "Single-key shortcuts"],
    ["/settings?section=projects", "unless another is named"],
    ["/settings?section=providers", "This machine"],
    ["/settings?section=models", "Price table"],
    ["/settings?section=access", "New token"],
    ["/settings?section=webhooks", "No other program is told"],
    ["/nowhere", "There is nothing at this address"],
  ];
}

const isTooWide = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

test("no page has a finding of axe in light or dark, is wider than a phone, or complains", async ({
  page,
  product,
}) => {
  const places = await seed(product);
  const found: string[] = [];
  for (const [path, shows] of places) {
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${product.url}${path}`);
    const sign = path.endsWith("models") ? page.getByRole("region", { name: shows }) : page.getByText(shows).first();
    await sign.waitFor();
    await eventually(() => page.locator(".skeleton").count()).toBe(0);
    for (const violation of await findViolations(page)) found.push(`${path} light: ${violation}`);
    await page.emulateMedia({ colorScheme: "dark" });
    await eventually(() => page.locator("html.dark").count()).toBe(1);
    for (const violation of await findFaintness(page)) found.push(`${path} dark: ${violation}`);
    await page.setViewportSize({ width: 390, height: 844 });
    if (await isTooWide(page)) found.push(`${path} is wider than a phone`);
  }
  expect(found).toEqual([]);
}, 180_000);
