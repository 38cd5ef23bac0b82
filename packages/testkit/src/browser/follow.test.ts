/** Following the end of a run: only a person pauses it, and what is being read never moves. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { eventually, feedOf, openRun, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) =>
    say(`number ${from + n}${n % 3 === 0 ? "\n\nand a second paragraph" : ""}`),
  );

const isFollowing = (page: Page) => feedOf(page).getAttribute("data-following");
const isShown = (page: Page, text: string) => page.getByText(text, { exact: true }).isVisible();

/** The row in the middle of the feed, and where it stands. */
const eyeRow = (page: Page) =>
  feedOf(page).evaluate((feed) => {
    const middle = feed.getBoundingClientRect().top + feed.clientHeight / 2;
    const rows = [...feed.querySelectorAll("article")];
    const row = rows.find((one) => one.getBoundingClientRect().bottom > middle);
    return { seq: row?.getAttribute("data-seq"), top: row?.getBoundingClientRect().top ?? 0 };
  });

/** The same when it has stood still for ten frames: a wheel glides, and rows grow to their size. */
const settle = async (page: Page) => {
  const frames = () =>
    page.evaluate(
      () =>
        new Promise<void>((resolve) => {
          let left = 10;
          const step = () => ((left -= 1) === 0 ? resolve() : void requestAnimationFrame(step));
          requestAnimationFrame(step);
        }),
    );
  let last = await eyeRow(page);
  await eventually(async () => {
    await frames();
    const now = await eyeRow(page);
    const isStill = now.seq === last.seq && now.top === last.top;
    last = now;
    return isStill;
  }).toBe(true);
  return last;
};

const wheel = async (page: Page, y: number) => {
  await feedOf(page).hover();
  await page.mouse.wheel(0, y);
};

test("the newest event is in view while nobody scrolls", async ({ page, product, worker }) => {
  await worker.post(...numbered(1, 100));
  await openRun(page, product, worker);
  await eventually(() => isShown(page, "number 100")).toBe(true);
  for (let at = 101; at <= 160; at += 20) {
    await worker.post(...numbered(at, at + 19));
    await eventually(() => isShown(page, `number ${at + 19}`)).toBe(true);
  }
  expect(await isFollowing(page)).toBe("true");
});

test("scrolling up pauses, the row under the eye stays, and the pill counts and leads back", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(...numbered(1, 200));
  await openRun(page, product, worker);
  await eventually(() => isShown(page, "number 200")).toBe(true);
  await wheel(page, -900);
  await eventually(() => isFollowing(page)).toBe("false");
  const before = await settle(page);
  await worker.post(...numbered(201, 700));
  await page.getByRole("button", { name: "500 new events" }).waitFor();
  const after = await eyeRow(page);
  expect(after.seq).toBe(before.seq);
  expect(Math.abs(after.top - before.top)).toBeLessThan(1);
  await page.getByRole("button", { name: "500 new events" }).click();
  await eventually(() => isShown(page, "number 700")).toBe(true);
  expect(await isFollowing(page)).toBe("true");
});

test("scrolling down to the end follows again, and G does from anywhere", async ({ page, product, worker }) => {
  await worker.post(...numbered(1, 200));
  await openRun(page, product, worker);
  await eventually(() => isShown(page, "number 200")).toBe(true);
  await wheel(page, -300);
  await eventually(() => isFollowing(page)).toBe("false");
  await wheel(page, 3_000);
  await eventually(() => isFollowing(page)).toBe("true");
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await eventually(() => isShown(page, "number 1")).toBe(true);
  expect(await isFollowing(page)).toBe("false");
  await page.keyboard.press("Shift+G");
  await eventually(() => isShown(page, "number 200")).toBe(true);
  expect(await isFollowing(page)).toBe("true");
});

test("a smaller window keeps the end in view", async ({ page, product, worker }) => {
  await worker.post(...numbered(1, 100));
  await openRun(page, product, worker);
  await eventually(() => isShown(page, "number 100")).toBe(true);
  await page.setViewportSize({ width: 900, height: 500 });
  await eventually(() => isShown(page, "number 100")).toBe(true);
  expect(await isFollowing(page)).toBe("true");
});

test("older pages that arrive do not move what is being read", async ({ page, product, worker }) => {
  await worker.post(...numbered(1, 1_600));
  const release = Promise.withResolvers<void>();
  let pages = 0;
  await page.route("**/sandboxes/*/events?*", async (route) => {
    pages += 1;
    if (pages > 1) await release.promise;
    await route.continue();
  });
  await openRun(page, product, worker);
  await eventually(() => isShown(page, "number 1600")).toBe(true);
  await wheel(page, -2_000);
  await eventually(() => isFollowing(page)).toBe("false");
  const before = await settle(page);
  release.resolve();
  await eventually(async () => Number(await page.getByTestId("feed").getAttribute("data-rows"))).toBeGreaterThan(1_600);
  const after = await eyeRow(page);
  expect(after.seq).toBe(before.seq);
  expect(Math.abs(after.top - before.top)).toBeLessThan(1);
});
