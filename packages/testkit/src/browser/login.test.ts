/** The door of the web UI. */
import { expect } from "vitest";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";

/** The browser itself reports an answer of 401, which is what these pages are about. */
const REFUSED = /status of 401/;

test("a token logs in and leads back to the page that was asked for", async ({ open, product, worker, complaints }) => {
  complaints.allow(REFUSED);
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/sandboxes/${worker.id}?kinds=edits`);
  await page.getByLabel("Token").fill(ADMIN_TOKEN);
  await page.getByRole("button", { name: "Log in" }).click();
  await eventually(() => new URL(page.url()).pathname + new URL(page.url()).search).toBe(
    `/sandboxes/${worker.id}?kinds=edits`,
  );
  await page.getByText("Fake work").first().waitFor();
});

test("a wrong token is told so, and nothing is lost", async ({ open, product, complaints }) => {
  complaints.allow(REFUSED);
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/login`);
  await page.getByLabel("Token").fill("drv_u_wrong");
  await page.keyboard.press("Enter");
  await page.getByText("This token is not known here, or it was revoked or has expired.").first().waitFor();
  expect(await page.getByLabel("Token").inputValue()).toBe("drv_u_wrong");
});

test("the link of the start-up line logs in once and leaves no code behind", async ({ open, product, complaints }) => {
  complaints.allow(REFUSED);
  const code = new URL(product.server().loginUrl).hash;
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/login${code}`);
  await page.getByRole("heading", { name: "Wall" }).waitFor();
  expect(page.url()).not.toContain("#");
  await page.goBack();
  expect(page.url()).not.toContain(code);

  const another = await open({ isLoggedIn: false });
  await another.goto(`${product.url}/login${code}`);
  await another.getByText("This login link was used already or is too old.").first().waitFor();
});

test("a return path to another site is ignored", async ({ open, product, complaints }) => {
  complaints.allow(REFUSED);
  const page = await open({ isLoggedIn: false });
  await page.goto(`${product.url}/login?return=//evil.example/`);
  await page.getByLabel("Token").fill(ADMIN_TOKEN);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Wall" }).waitFor();
  expect(new URL(page.url()).origin).toBe(product.url);
});

test("logging out closes the door for every page of this browser", async ({ page, product, complaints }) => {
  complaints.allow(REFUSED, /WebSocket/);
  await page.goto(`${product.url}/settings`);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.goto(product.url);
  await page.getByRole("heading", { name: "Log in" }).waitFor();
});
