/** A sandbox of this machine on its page: how it was made, what limits it, and what a person does with it. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";

const SCRIPT = { steps: [{ text: "I wait." }, { wait_for_message: { seconds: 600 } }] };

test("a sandbox is made, shown with its limits, paused, resumed and terminated", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const { id } = await client.createSandbox({
    body: { provider: "local", runtime: "scripted", prompt: "Wait for me", script: SCRIPT },
  });
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.goto(`${product.url}/sandboxes/${id}`);
  await page.locator("[data-state=running]").waitFor();
  for (const step of ["Sandbox made", "Worker started"])
    await page.locator("article[data-kind=lifecycle]", { hasText: step }).waitFor();

  const about = page.getByRole("complementary", { name: "About this run" });
  await eventually(() => about.textContent()).toMatch(/memory4 GiB(cgroup|watchdog)/);
  expect(await about.textContent()).toMatch(/isolationnamespaces/);
  expect(await page.getByText("isolation: unsafe").count()).toBe(0);

  await page.getByRole("button", { name: "Open preview" }).click();
  const preview = page.getByRole("dialog", { name: "Open preview" });
  await preview.getByLabel("Port").fill("many");
  await preview.getByText("A number from 1 to 65535.").waitFor();
  await preview.getByLabel("Port").fill("3456");
  await preview.getByRole("button", { name: "Open", exact: true }).click();
  await preview.getByText("Nothing listens on port 3456 yet.").waitFor();
  await page.keyboard.press("Escape");
  await preview.waitFor({ state: "detached" });

  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator("[data-state=paused]").waitFor();
  expect((await client.getSandbox({ params: { sandbox_id: id } })).state).toBe("paused");
  expect(await page.getByRole("button", { name: "Pause" }).count()).toBe(0);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator("[data-state=running]").waitFor();

  await page.getByRole("button", { name: "Terminate" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Terminate" }).click();
  await page.locator("[data-state=terminated]").waitFor();
  await page.locator("article[data-kind=lifecycle]", { hasText: "Sandbox terminated" }).waitFor();
  for (const name of ["Pause", "Resume", "Terminate"])
    expect(await page.getByRole("button", { name, exact: true }).count()).toBe(0);
});

test("a sandbox that nothing isolates says so", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const { id } = await client.createSandbox({ body: { provider: "external", prompt: "Not isolated" } });
  // No provider of this machine is unsafe: the server's answer is changed on its way.
  await page.route(`**/api/v1/sandboxes/${id}`, async (route) => {
    const response = await route.fetch();
    const sandbox = (await response.json()) as object;
    await route.fulfill({ response, json: { ...sandbox, provider: "local", enforced_by: { isolation: "unsafe" } } });
  });
  await page.goto(`${product.url}/sandboxes/${id}`);
  await page.getByText("isolation: unsafe").waitFor();
});
