/** The form of a new sandbox: what is missing is said at its place with the way out, and what is made is followed. */
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { eventually, test } from "./browser.ts";

test("what is incomplete, impossible or missing is said at its field, and nothing typed is lost", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(/status of 422/);
  await page.goto(product.url);
  await page.getByRole("heading", { name: "No sandbox yet" }).waitFor();
  await page.keyboard.press("n");
  await page.getByRole("heading", { name: "New sandbox" }).waitFor();
  await page.getByRole("radio", { name: /Claude Agent SDK/ }).waitFor();
  await page.getByText("Claude Agent SDK is not on this machine yet.").waitFor();
  await page.getByRole("button", { name: /Install.*Claude Agent SDK/ }).waitFor();
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("Say what the agent should do.").waitFor();
  const prompt = page.getByRole("textbox", { name: "What should the agent do?" });
  await eventually(() => prompt.evaluate((field) => field === document.activeElement)).toBe(true);
  await prompt.fill("Say hello");
  await page.getByText("Where, and within which limits").click();
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("900");
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("A number above 0, at most 8.").waitFor();
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("1.5");
  // The server knows what the page does not: the agent is not installed.
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("One field needs a look.").waitFor();
  await page
    .getByText(/drover agents install claude/)
    .first()
    .waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.reload();
  await eventually(() => prompt.inputValue()).toBe("Say hello");
  await eventually(() => page.getByRole("textbox", { name: "Memory, GiB" }).inputValue()).toBe("1.5");
  await eventually(() => page.getByRole("region", { name: "curl command" }).textContent()).toContain(
    `"memory_gb": 1.5`,
  );
});

test("a sandbox is made from the form and followed from its first step to the agent", async ({ page, product }) => {
  await page.goto(`${product.url}/sandboxes/new`);
  await page.getByRole("textbox", { name: "What should the agent do?" }).fill("Made by hand");
  await page.getByRole("radio", { name: /Scripted/ }).check();
  await page.getByText("Where, and within which limits").click();
  await page.getByRole("combobox", { name: "Provider" }).selectOption("local");
  await page.getByRole("combobox", { name: "Network" }).selectOption("none");
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("1");
  await page.keyboard.press("Control+Enter");
  await eventually(() => new URL(page.url()).pathname).toMatch(/^\/sandboxes\/drover-/);
  await page.locator("article[data-kind=lifecycle]", { hasText: "Sandbox made" }).waitFor();
  await page.locator("article[data-kind=lifecycle]", { hasText: "Agent started" }).waitFor();
  await page.keyboard.press("7");
  await page.getByRole("row", { name: /^memory 1 GiB request/ }).waitFor();
  await page.goto(`${product.url}/agents`);
  await page.locator("[data-package=claude]").getByText("@anthropic-ai/claude-agent-sdk").waitFor();
  expect(await findViolations(page)).toEqual([]);
});
