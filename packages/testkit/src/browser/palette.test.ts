/** The palette and the keyboard: everything is reached by a few letters, and a move is taken back. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

test("a few letters find pages, actions, sandboxes and tickets, and Enter goes there", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const worker = await product.startWorker({ prompt: "Shear the black sheep" });
  const ticket = await client.createTicket({ body: { title: "Sheep without wool", force_create: true } });
  await page.goto(product.url);
  await page.getByText("Shear the black sheep").waitFor();
  await page.keyboard.press("Control+k");
  const field = page.getByRole("combobox", { name: "Find anything" });
  await field.waitFor();
  expect(await findViolations(page)).toEqual([]);
  await field.fill("sheep");
  await page.getByRole("option", { name: /Shear the black sheep/ }).waitFor();
  await page.getByRole("option", { name: /Sheep without wool/ }).click();
  await eventually(() => new URL(page.url()).pathname).toBe(`/tasks/tickets/${ticket.id}`);

  await page.keyboard.press("Control+k");
  await field.fill("black sh");
  await page.getByRole("option", { name: /Shear the black sheep/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await eventually(() => new URL(page.url()).pathname).toBe(`/sandboxes/${worker.id}`);

  await page.keyboard.press("Control+k");
  await field.fill("zzzz");
  await page.getByText("Nothing is called that.").waitFor();
  await field.fill("cos");
  await page.getByRole("option", { name: /Costs/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Costs" }).waitFor();

  // What a page can do is found there, too: with its key, or without one.
  await page.goto(`${product.url}/sandboxes/${worker.id}`);
  await page.getByRole("button", { name: "Terminate" }).waitFor();
  await page.keyboard.press("Control+k");
  await field.fill("write a mess");
  await page.getByRole("option", { name: /Write a message/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await eventually(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Message");
  await page.keyboard.press("Control+k");
  await field.fill("terminate");
  await page.getByRole("option", { name: /Terminate the sandbox/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("alertdialog", { name: "Terminate this sandbox?" }).waitFor();
});

test("the palette opens from a field, gives the focus back, and does not hear single keys", async ({
  page,
  product,
}) => {
  await page.goto(`${product.url}/sandboxes/new`);
  const prompt = page.getByRole("textbox", { name: "What should the agent do?" });
  await prompt.fill("Half a sentence");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).pressSequentially("theme");
  await page.getByRole("option", { name: /Switch the theme/, selected: true }).waitFor();
  await page.keyboard.press("Escape");
  await eventually(() => prompt.evaluate((field) => field === document.activeElement)).toBe(true);
  expect(await prompt.inputValue()).toBe("Half a sentence");
  expect(await page.locator("html.dark").count()).toBe(0);
});

test("a priority that was changed by key is taken back by key, and by the button that is shown", async ({
  page,
  product,
}) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const ticket = await client.createTicket({
    body: { title: "Undone in time", phase_id: "PHASE_BACKLOG", priority: "LOW", force_create: true },
  });
  const read = async () => (await client.getTicket({ params: { ticket_id: ticket.id } })).priority;
  await page.goto(`${product.url}/tasks`);
  const card = page.locator(`[data-ticket="${ticket.id}"]`);
  await card.getByRole("link").focus();
  await page.keyboard.press("+");
  await eventually(read).toBe("MEDIUM");
  await page.getByText("Undone in time is now medium").waitFor();
  await page.keyboard.press("z");
  await eventually(read).toBe("LOW");
  await card.locator("[data-priority=LOW]").waitFor();
  await eventually(() => page.getByRole("button", { name: "Undo" }).count()).toBe(0);
  await card.getByRole("link").focus();
  await page.keyboard.press("+");
  await eventually(read).toBe("MEDIUM");
  await page.getByRole("button", { name: "Undo" }).click();
  await eventually(read).toBe("LOW");
});

test("on a phone the places that have no room in the bar are one tap away", async ({ open, product }) => {
  const page = await open({ width: 390, height: 844 });
  await page.goto(product.url);
  await page.getByRole("button", { name: "More" }).click();
  const sheet = page.getByRole("dialog", { name: "More places" });
  await sheet.getByRole("link", { name: "Settings" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await sheet.getByRole("link", { name: "Costs" }).click();
  await page.getByRole("heading", { name: "Costs" }).waitFor();

  // And what stands beside a run where there is room is a sheet above it.
  const worker = await product.startWorker({ prompt: "Seen on a phone" });
  await worker.post(say("On my way."), {
    event_type: "agent.tool_use",
    event_data: {
      tool: "TodoWrite",
      tool_use_id: "t",
      input: { todos: [{ content: "Count them", status: "pending" }] },
    },
  });
  await page.goto(`${product.url}/sandboxes/${worker.id}`);
  await page.getByText("On my way.").waitFor();
  const about = page.getByRole("complementary", { name: "About this run" });
  expect(await about.count()).toBe(0);
  const button = page.getByRole("button", { name: "About this run" });
  await button.click();
  await about.getByText("Count them").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await eventually(() => about.count()).toBe(0);
  await eventually(() => button.evaluate((element) => element === document.activeElement)).toBe(true);
});
