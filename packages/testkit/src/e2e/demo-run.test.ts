/** The first minute of a new user: one click, and an agent works from beginning to end. */
import { expect } from "vitest";
import { eventually, test } from "../browser/browser.ts";

test("the demo runs to its end on the page, with a plan, edits, commands and no error", async ({ page, product }) => {
  await page.goto(product.url);
  await page.getByRole("button", { name: "Run the demo" }).click();
  await eventually(() => new URL(page.url()).pathname).toMatch(/^\/sandboxes\/drover-/);
  await page.locator("article[data-kind=message]").first().waitFor();
  await page.locator("[data-state=running]").waitFor();
  await page.getByTestId("feed").getByText("Anything else? Write to me").waitFor({ timeout: 150_000 });
  await page.getByRole("textbox", { name: "Message" }).fill("thank you");
  await page.keyboard.press("Enter");
  await page.getByTestId("feed").getByText("You're welcome.").waitFor();
  await page.locator("[data-state=completed]").waitFor({ timeout: 150_000 });
  const counts = page.getByRole("group", { name: "Show only" });
  for (const group of ["messages", "commands", "edits", "tools"]) {
    expect(
      Number((await counts.getByRole("button", { name: group }).textContent())?.replace(/\D/g, "")),
    ).toBeGreaterThan(0);
  }
  await page.getByTestId("connection").click();
  await eventually(() => page.getByTestId("proof").textContent()).toMatch(/head (\d+) = server \1/);
}, 300_000);
