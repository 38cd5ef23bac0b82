/** A part of the page that is not there any more. Seen to fail with: the page always loaded anew; never loaded anew;
 *  what stands over all asked for once only (the whole page was lost with it). */
import { expect } from "vitest";
import { eventually, LINE_IS_CUT, test } from "./browser.ts";

const PART = "**/assets/costs-page-*.js";
/** What stands over every page, and is loaded after it. */
const OVER_ALL = "**/assets/toasts-*.js";

test("the page that is open stays while its server is away, and is loaded anew when there is a new release", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(LINE_IS_CUT, /dynamically imported module/, /part of the page could not be loaded/);
  await page.route(OVER_ALL, (route) => route.abort());
  const missed = page.waitForEvent("requestfailed", (request) => request.url().includes("/toasts-"));
  await page.goto(product.url);
  await missed;
  await page.getByRole("heading", { name: "Wall" }).waitFor();
  await page.evaluate(() => document.body.setAttribute("data-first", ""));
  await page.unroute(OVER_ALL);
  await page.getByRole("region", { name: /^Notifications/ }).waitFor({ state: "attached" });
  const isFirst = () => page.evaluate(() => document.body.hasAttribute("data-first"));
  await page.route(PART, (route) => route.abort());
  const asked = page.waitForResponse(`${product.url}/`);
  await page.getByRole("link", { name: "Costs" }).click();
  await (await asked).finished();
  await page.getByText("This page could not be shown").waitFor();
  await page.unroute(PART);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByRole("heading", { name: "Costs" }).waitFor();
  expect(await isFirst()).toBe(true);
  await page.route(`${product.url}/`, (route) => route.fulfill({ contentType: "text/html", body: "another release" }));
  await page.goto(`${product.url}/monitor`);
  await page.route("**/assets/sandboxes-page-*.js", (route) => route.abort());
  await page.evaluate(() => document.body.setAttribute("data-first", ""));
  await page.getByRole("link", { name: "Sandboxes" }).click();
  await eventually(isFirst).toBe(false);
});
