/** A credential that ends while a page is open. */
import { expect } from "vitest";
import { createClient } from "@drover/client";
import { ADMIN_TOKEN, eventually, openRun, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

test("a revoked token leads to the door, and after the next login page and draft are as before", async ({
  open,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(/status of 401/, /WebSocket/);
  const admin = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const token = await admin.createToken({ body: { name: "soon revoked", role: "operator" } });
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/login`);
  await page.getByLabel("Token").fill(token.token);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Wall" }).waitFor();
  await worker.post(say("before"));
  await openRun(page, product, worker);
  await page.getByText("before", { exact: true }).waitFor();
  await page.getByRole("textbox", { name: "Message" }).fill("half a thought");
  await admin.revokeToken({ params: { token_id: token.id } });
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await worker.post(say("meanwhile"));
  await page.getByLabel("Token").fill(ADMIN_TOKEN);
  await page.keyboard.press("Enter");
  await page.getByText("meanwhile", { exact: true }).waitFor();
  expect(page.url()).toContain(worker.id);
  await eventually(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("half a thought");
});

test("whoever opens a run without a login reads it after the login, and not what was there before", async ({
  open,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(/status of 401/);
  await worker.post(say("before"));
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/sandboxes/${worker.id}`);
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await worker.post(say("meanwhile"));
  await page.getByLabel("Token").fill(ADMIN_TOKEN);
  await page.keyboard.press("Enter");
  await page.getByText("meanwhile", { exact: true }).waitFor();
  await page.getByRole("link", { name: "Sandboxes" }).first().click();
  await page.getByRole("heading", { name: "Sandboxes" }).waitFor();
  await worker.post(say("later"));
  await page.goBack();
  await page.getByText("later", { exact: true }).waitFor();
  for (const text of ["before", "meanwhile", "later"])
    expect(await page.getByText(text, { exact: true }).count(), text).toBe(1);
});

test("what a run needs at first is asked for once, before the page's own code is there", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(say("here"));
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url().replace(product.url, "")));
  await openRun(page, product, worker);
  await page.getByText("here", { exact: true }).waitFor();
  const run = `/api/v1/sandboxes/${worker.id}`;
  for (const path of ["/api/v1/auth/whoami", run, `${run}/events?order=desc&limit=80`])
    expect(
      asked.filter((one) => one === path),
      path,
    ).toHaveLength(1);
  expect(asked.findIndex((one) => one.startsWith(`${run}/events`))).toBeLessThan(
    asked.findIndex((one) => /\/assets\/run-/.test(one)),
  );
});

test("a viewer may watch a run, and is told why there is no message box", async ({
  open,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(/status of 401/);
  const admin = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const token = await admin.createToken({ body: { name: "watcher", role: "viewer" } });
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/login?return=/sandboxes/${worker.id}`);
  await page.getByLabel("Token").fill(token.token);
  await page.keyboard.press("Enter");
  await page.getByText("Your role may watch this run, but not write to it.").waitFor();
  expect(await page.getByRole("button", { name: "Terminate" }).count()).toBe(0);
  await page.goto(`${product.url}/settings`);
  await page.getByText("watcher, viewer").waitFor();
  expect(await page.getByText("New token").count()).toBe(0);
});

test("a token is created, told once and revoked", async ({ page, product }) => {
  await page.goto(`${product.url}/settings?section=access`);
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByLabel("Name").fill("a program");
  await page.getByText("operator", { exact: true }).click();
  await page.getByRole("button", { name: "Create token" }).click();
  const secret = await page.getByRole("dialog").locator("code").textContent();
  expect(secret).toMatch(/^drv_u_/);
  const whoami = await createClient({ baseUrl: product.url, token: secret ?? "" }).whoami();
  expect(whoami).toMatchObject({ name: "a program", role: "operator" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Revoke a program" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("a program is revoked").waitFor();
  await expect(createClient({ baseUrl: product.url, token: secret ?? "" }).whoami()).rejects.toMatchObject({
    code: "auth.required",
  });
});
