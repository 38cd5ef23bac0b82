/** Keys, projects, providers and prices are looked at and changed where they stand, each under an address of its own. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";

test("a project is made, changed, and leads to its work", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await page.goto(`${product.url}/settings`);
  await page.getByRole("link", { name: "Projects" }).click();
  await page.getByRole("button", { name: "New project" }).click();
  const form = page.getByRole("dialog", { name: "New project" });
  await form.getByLabel("Name").fill("Wool");
  await form.getByLabel("Network").selectOption("none");
  await form.getByLabel("New tickets wait for a person").check();
  await form.getByRole("button", { name: "Create project" }).click();
  await page.getByText("network none").waitFor();
  const find = async () => (await client.listProjects({ query: {} })).items.find(({ name }) => name === "Wool");
  expect(await find()).toMatchObject({ settings: { network: "none", ticket_human_review: true } });
  await page.getByRole("button", { name: "Edit Wool" }).click();
  const edit = page.getByRole("dialog", { name: "Wool" });
  await edit.getByLabel("Tasks at once").fill("many");
  await edit.getByText("A whole number from 1 to 999.").waitFor();
  await edit.getByLabel("Tasks at once").fill("3");
  await edit.getByLabel("Network").selectOption("");
  await edit.getByRole("button", { name: "Keep changes" }).click();
  await eventually(async () => (await find())?.settings).toMatchObject({ max_concurrent_tasks: 3 });
  expect((await find())?.settings.network).toBeUndefined();
  await page.reload();
  const line = page.locator("[data-project]", { hasText: "Wool" });
  await line.getByRole("link", { name: "Tasks" }).click();
  await page.getByRole("heading", { name: "No ticket yet" }).waitFor();
  expect(new URL(page.url()).searchParams.get("project")).toBe((await find())?.id);
});

test("providers are looked at now, and one that is not here says what helps", async ({ page, product }) => {
  await page.goto(`${product.url}/settings?section=providers`);
  await page.locator("[data-provider=daytona]").getByText("set DAYTONA_API_KEY").waitFor();
  await page.locator("[data-provider=local]").getByText("unless another is named").waitFor();
  await page.getByRole("button", { name: "Look again" }).click();
  await page.locator("[data-provider=daytona]").getByText("not here").waitFor();
});

test("a price is set by hand, told apart from the list's, and forgotten", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await page.goto(`${product.url}/settings?section=models`);
  await page.getByRole("button", { name: "New price" }).click();
  const form = page.getByRole("dialog", { name: "New price" });
  await form.getByLabel("Model").fill("merino-1");
  await form.getByLabel("Input").fill("-1");
  await form.getByText("A number, 0 or more.").waitFor();
  await form.getByLabel("Input").fill("1.5");
  await form.getByLabel("Output").fill("6");
  await form.getByRole("button", { name: "Keep price" }).click();
  const row = page.locator('[data-price="merino-1"]');
  await row.getByText("your own").waitFor();
  const read = async () => (await client.listPrices({})).items.filter(({ model }) => model === "merino-1");
  expect(await read()).toMatchObject([{ input: 1.5, output: 6, cache_read: null, origin: "edited" }]);
  await row.getByRole("button", { name: "merino-1" }).click();
  await page.getByRole("button", { name: "Forget it" }).click();
  await eventually(() => row.count()).toBe(0);
  expect(await read()).toEqual([]);
});

test("all keys stand on a page of their own, where those of one letter are switched off and on", async ({
  page,
  product,
}) => {
  await page.goto(`${product.url}/settings`);
  await page.getByRole("link", { name: "Keyboard" }).click();
  await page.getByText("Jump to live and follow").waitFor();
  expect(new URL(page.url()).search).toBe("?section=keyboard");
  const keys = page.getByRole("group", { name: "Single-key shortcuts" });
  await keys.getByText("Off").click();
  await page.keyboard.press("?");
  // A key with a modifier works on, and what it opens proves that the one before it did nothing.
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).waitFor();
  expect(await page.getByRole("dialog", { name: "Keyboard" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Find anything" }).waitFor({ state: "detached" });
  await keys.getByText("On").click();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
});

test("notifications say what they tell, and whether this browser lets them", async ({ page, product }) => {
  // By its path, as one would guess it.
  await page.goto(`${product.url}/settings/notifications`);
  await page.getByText("An agent that waits").waitFor();
  expect(page.url()).toBe(`${product.url}/settings?section=notifications`);
  await page.context().grantPermissions(["notifications"], { origin: product.url });
  const notices = page.getByRole("group", { name: "Notices on this desktop" });
  await notices.getByText("On", { exact: true }).click();
  await page.getByText("This browser shows them, also while you look elsewhere.").waitFor();
  await page.reload();
  await notices.getByRole("radio", { name: "On", checked: true }).waitFor();
  await notices.getByText("Off", { exact: true }).click();
  await page.getByText("The browser asks once, as soon as you switch them on.").waitFor();
});
