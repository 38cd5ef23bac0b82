/** The list of sandboxes: the first thing a person sees. */
import { expect } from "vitest";
import type { Page } from "playwright-core";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";
import { say, startFakeWorker } from "./fake-worker.ts";

const openList = async (page: Page, product: Product) => {
  await page.goto(`${product.url}/sandboxes`);
  await page.getByRole("heading", { name: "Sandboxes" }).waitFor();
};

test("an empty installation offers the demo and a command", async ({ page, product }) => {
  await page.goto(`${product.url}/sandboxes`);
  await page.getByRole("heading", { name: "No sandbox yet" }).waitFor();
  await page.getByRole("button", { name: "Run the demo" }).waitFor();
  await page.getByText(`curl -X POST ${product.url}/api/v1/sandboxes`).waitFor();
});

test("a new external sandbox tells its worker's credentials once, and they work", async ({ page, product }) => {
  await openList(page, product);
  await page.keyboard.press("n");
  await page.getByRole("button", { name: "Bring your own worker instead" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("Typed in a dialog");
  await page.getByRole("button", { name: "Create sandbox" }).click();
  const read = (name: string) => page.locator(`[data-env=${name}]`).textContent();
  const [id, token] = [await read("SANDBOX_ID"), await read("SANDBOX_TOKEN")];
  await page.keyboard.press("Escape");
  await eventually(() => page.content()).not.toContain(token);
  await page.goto(`${product.url}/sandboxes`);
  const card = page.getByRole("listitem").filter({ hasText: "Typed in a dialog" });
  await card.locator("[data-state=creating]").waitFor();
  const response = await fetch(`${product.url}/api/v1/sandboxes/${id}/events`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(say("Hello from a worker")),
  });
  expect(response.status).toBe(200);
  await card.locator("[data-state=running]").waitFor();
  await card.getByText("Hello from a worker").waitFor();
});

test("lines follow what happens: a new sandbox, its moves, its end", async ({ page, product }) => {
  await page.goto(`${product.url}/sandboxes`);
  const worker = await product.startWorker({ prompt: "Watched from the list" });
  const card = page.getByRole("listitem").filter({ hasText: "Watched from the list" });
  await card.waitFor();
  await worker.post({
    event_type: "agent.tool_use",
    event_data: { tool: "Bash", tool_use_id: "x", input: { command: "make all" }, turn: 7 },
  });
  await card.getByText("$ make all").waitFor();
  await card.getByText("7", { exact: true }).waitFor();
  await worker.post({ event_type: "agent.failed", event_data: { error: "out of memory" } });
  await card.locator("[data-state=failed]").waitFor();
});

test("search and state are in the address and survive a reload", async ({ page, product }) => {
  await product.startWorker({ prompt: "Find the needle" });
  await product.startWorker({ prompt: "Only hay" });
  await openList(page, product);
  // The field to search in comes with the list; letters typed before it has the focus would be commands.
  await page.getByText("Only hay").waitFor();
  await page.keyboard.press("/");
  const hasFocus = () => page.getByRole("searchbox").evaluate((field) => field === document.activeElement);
  await eventually(hasFocus).toBe(true);
  await page.keyboard.type("needle");
  await eventually(() => page.getByRole("listitem").filter({ hasText: "Only hay" }).count()).toBe(0);
  await page.getByText("Find the needle").waitFor();
  await page.getByRole("button", { name: "Completed" }).click();
  await page.getByText("No sandbox matches.").waitFor();
  await page.reload();
  await page.getByText("No sandbox matches.").waitFor();
  expect(new URL(page.url()).search).toBe("?state=completed&q=needle");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.getByText("Only hay").waitFor();
});

test("an agent's sandboxes are told from others, with their counts, by an address", async ({ page, product }) => {
  await product.startWorker({ prompt: "Worked on by Codex", runtime: "codex" });
  await product.startWorker({ prompt: "Worked on by Claude", runtime: "claude" });
  await openList(page, product);
  await page.getByText("Worked on by Claude").waitFor();
  await page.getByRole("combobox", { name: "Agent" }).selectOption("codex");
  await eventually(() => page.getByText("Worked on by Claude").count()).toBe(0);
  await page.getByText("Worked on by Codex").waitFor();
  await page.getByRole("button", { name: "All 1", exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe("?agent=codex");
  await page.reload();
  await page.getByText("Worked on by Codex").waitFor();
  expect(await page.getByRole("combobox", { name: "Agent" }).inputValue()).toBe("codex");
  expect(await findViolations(page)).toEqual([]);
});

test("keys walk the list, open a run and come back", async ({ page, product }) => {
  const worker = await product.startWorker({ prompt: "Reached by keyboard" });
  await page.goto(`${product.url}/sandboxes`);
  await page.getByText("Reached by keyboard").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await eventually(() => page.url()).toContain(`/sandboxes/${worker.id}`);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await eventually(() => new URL(page.url()).pathname).toBe("/sandboxes");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).getByText("Jump to live and follow").waitFor();
});

test("filters tell how many they hide, and what is selected is ended together after one question", async ({
  page,
  product,
}) => {
  const workers = [
    await product.startWorker({ prompt: "Herd one" }),
    await product.startWorker({ prompt: "Herd two" }),
    await product.startWorker({ prompt: "Herd three" }),
  ];
  for (const worker of workers) await worker.post(say("working"));
  await page.goto(`${product.url}/sandboxes?q=Herd`);
  const lines = page.getByRole("list", { name: "Sandboxes" }).getByRole("listitem");
  await eventually(() => lines.count()).toBe(3);
  await page.getByRole("button", { name: "Working 3" }).waitFor();
  await page.getByRole("button", { name: "Ended 0" }).waitFor();
  await page.getByRole("checkbox", { name: "Select Herd one" }).check();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  const bar = page.getByRole("toolbar", { name: "Selected sandboxes" });
  await bar.getByText("2 selected").waitFor();
  expect(await findViolations(page)).toEqual([]);
  const kept: string[] = [];
  page.on("download", (download) => kept.push(download.suggestedFilename()));
  await bar.getByRole("button", { name: "Archive 2" }).click();
  await eventually(() => kept.length).toBe(2);
  expect(kept.every((name) => /^drover-.*\.drover\.tar$/.test(name))).toBe(true);
  await bar.getByRole("button", { name: "Terminate 2" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Terminate" }).click();
  await page.getByRole("button", { name: "Ended 2" }).waitFor();
  await page.getByRole("button", { name: "Working 1" }).waitFor();
  await lines.filter({ hasText: "Herd two" }).locator("[data-state=running]").waitFor();
});

test("a list that cannot be read says so with a request id, and a retry brings it", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(/status of 500/);
  await startFakeWorker(product.url, ADMIN_TOKEN, { prompt: "Behind an error" });
  await page.route("**/api/v1/sandboxes?*", (route) =>
    route.fulfill({
      status: 500,
      contentType: "application/problem+json",
      body: JSON.stringify({ type: "x", title: "t", status: 500, detail: "It broke", request_id: "req-the-one" }),
    }),
  );
  await page.goto(`${product.url}/sandboxes`);
  await page.getByText("It broke").waitFor();
  await page.getByText("req-the-one").waitFor();
  await page.unroute("**/api/v1/sandboxes?*");
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("Behind an error").waitFor();
});

test("rows stay where they are while somebody is in the list; filters are kept by name; two runs are compared, all are told", async ({
  page,
  product,
}) => {
  const workers = [
    await product.startWorker({ prompt: "Flock a" }),
    await product.startWorker({ prompt: "Flock b" }),
    await product.startWorker({ prompt: "Flock c" }),
  ];
  for (const worker of workers) await worker.post(say("grazing"));
  await page.goto(`${product.url}/sandboxes?q=Flock`);
  const lines = page.getByRole("list", { name: "Sandboxes" }).getByRole("listitem");
  await eventually(() => lines.count()).toBe(3);
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
  await lines.first().getByRole("link").focus();
  await product.startWorker({ prompt: "Flock d" });
  await page.getByRole("button", { name: "1 update, sort again" }).waitFor();
  expect(await lines.count()).toBe(3);
  await page.getByRole("button", { name: "1 update, sort again" }).click();
  await eventually(() => lines.count()).toBe(4);

  await page.getByRole("button", { name: "Saved filters" }).click();
  await page.getByRole("textbox", { name: "Name of this filter" }).fill("My flock");
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await openList(page, product);
  await page.getByRole("button", { name: "Saved filters" }).click();
  await page.getByRole("button", { name: "My flock", exact: true }).click();
  await eventually(() => new URL(page.url()).search).toBe("?q=Flock");

  await page.getByRole("checkbox", { name: "Select Flock c" }).check();
  await page.getByRole("checkbox", { name: "Select Flock a" }).click({ modifiers: ["Shift"] });
  const bar = page.getByRole("toolbar", { name: "Selected sandboxes" });
  await bar.getByText("3 selected").waitFor();
  await bar.getByRole("button", { name: "Message 3" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Message" }).fill("Come home");
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  await page.getByText("Sent to 3 sandboxes").waitFor();
  const told = await Promise.all(workers.map((worker) => worker.receive()));
  expect(told.map(([message]) => message?.content)).toEqual(["Come home", "Come home", "Come home"]);
  await page.getByRole("checkbox", { name: "Select Flock b" }).uncheck();
  await page.keyboard.press("c");
  await eventually(() => new URL(page.url()).pathname).toBe("/compare");
  const pair = new URL(page.url()).searchParams;
  expect([pair.get("a"), pair.get("b")]).toEqual([workers[2]?.id, workers[0]?.id]);
});
