/** A long run: the newest part at once, the rest behind it, smooth and in bounded memory. */
import { expect } from "vitest";
import { eventually, openRun, test } from "./browser.ts";
import { say, type WorkerEvent } from "./fake-worker.ts";

const EVENTS = 30_000;
const HEAP_LIMIT_BYTES = 300_000_000;

const LINES = Array.from(
  { length: 12 },
  (_, n) => `\u001b[32mok\u001b[0m line ${n} of the output of a command that says a lot`,
).join("\n");
const DIFF = `@@ -1,20 +1,20 @@\n${"-an old line\n+a new line\n".repeat(20)}`;

function toEvent(n: number): WorkerEvent {
  const id = `t${Math.floor(n / 8)}`;
  switch (n % 8) {
    case 0:
      return {
        event_type: "agent.message",
        event_data: { content: `Step **${n}** with \`code\``, turn: Math.floor(n / 80) },
      };
    case 1:
      return { event_type: "agent.thinking", event_data: { content: "A longer thought. ".repeat(20) } };
    case 2:
      return {
        event_type: "agent.tool_use",
        event_data: { tool: "Bash", tool_use_id: id, input: { command: `npm test ${n}` } },
      };
    case 3:
      return {
        event_type: "agent.tool_completed",
        event_data: { tool: "Bash", tool_use_id: id, tool_response: { stdout: LINES, exit_code: 0 } },
      };
    case 4:
      return {
        event_type: "agent.file_edited",
        event_data: {
          file_path: `src/${n % 300}.ts`,
          change_type: "modified",
          lines_added: 20,
          lines_removed: 20,
          full_diff: DIFF,
        },
      };
    case 5:
      return { event_type: "agent.heartbeat", source: "worker" };
    default:
      return { event_type: "future.thing", event_data: { n } };
  }
}

test("a replay is there before the run's history is, at its end and at any moment, and stays where it is when the rest comes", async ({
  page,
  product,
  worker,
}) => {
  const change = {
    file_path: "a.ts",
    change_type: "modified",
    lines_added: 1,
    lines_removed: 0,
    full_diff: "@@ -0,0 +1 @@\n+a\n",
  };
  await worker.post(
    { event_type: "agent.file_edited", event_data: change },
    ...Array.from({ length: 2_000 }, (_, n) => say(`Word ${n}.`)),
  );
  const held: (() => Promise<void>)[] = [];
  let isHeld = true;
  await page.route(/\/events\?.*before_seq=/, async (route) => {
    if (isHeld) held.push(() => route.continue());
    else await route.continue();
  });
  await page.goto(`${product.url}/sandboxes/${worker.id}/replay?at=1000`);
  const replay = page.getByTestId("replay");
  const slider = page.getByRole("slider", { name: "Event in the run" });
  const shown = (seq: number) => page.getByRole("feed").locator(`article[data-seq="${seq}"]`).waitFor();
  await shown(1_000);
  await page.getByText(/reading the run, 80 of 2,00\d events/).waitFor();
  expect(await page.getByRole("button", { name: "Play" }).isDisabled()).toBe(true);
  expect(await page.getByTestId("figures").textContent()).not.toContain("changed");
  await slider.fill("17");
  await shown(17);
  await eventually(() => page.getByRole("article").last().getAttribute("data-seq")).toBe("17");
  await slider.press("End");
  await eventually(async () => Number(await replay.getAttribute("data-at"))).toBeGreaterThanOrEqual(2_000);
  await page.getByRole("feed").waitFor();
  await slider.fill("993");
  await shown(993);
  expect(held.length).toBeGreaterThan(0);
  isHeld = false;
  for (const go of held) await go();
  await eventually(() => page.getByRole("button", { name: "Play" }).isEnabled()).toBe(true);
  expect(await replay.getAttribute("data-at")).toBe("993");
  await eventually(() => page.getByRole("article").last().getAttribute("data-seq")).toBe("993");
  await eventually(() => page.getByTestId("figures").textContent()).toMatch(/changed\s*1 file/);
});

test("thirty thousand events open at their end, load behind it, and stay within memory", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(...Array.from({ length: EVENTS }, (_, n) => toEvent(n)));
  await openRun(page, product, worker);
  await page.getByRole("article").first().waitFor();
  const feed = page.getByTestId("feed");
  expect(Number(await feed.getAttribute("data-head"))).toBeGreaterThanOrEqual(EVENTS);
  // The header says how much is loaded until all is.
  await eventually(() => page.locator("dl").first().textContent()).toMatch(/events30,0\d\d(?! of)/);
  await page.keyboard.press("g");
  await page.keyboard.press("g");
  await page.locator('article[data-seq="1"]').waitFor();
  await page.keyboard.press("Shift+G");
  await eventually(() => page.getByRole("article").last().getAttribute("aria-posinset")).toBe(
    await feed.getAttribute("data-rows"),
  );
  // One row of thirty thousand is found by a text in it, and a thousand more events a second are all shown.
  await page.keyboard.press("/");
  await page.keyboard.type("**29912**");
  await eventually(() => feed.getAttribute("data-rows")).toBe("1");
  await page.getByRole("searchbox").fill("");
  await eventually(() => feed.getAttribute("data-rows").then(Number)).toBeGreaterThan(1_000);
  for (let n = 0; n < 10; n += 1) await worker.post(...Array.from({ length: 200 }, (_, k) => toEvent(n * 200 + k)));
  await eventually(() => feed.getAttribute("data-head").then(Number)).toBeGreaterThanOrEqual(EVENTS + 2_000);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize } = await devtools.send("Runtime.getHeapUsage");
  expect(usedSize).toBeLessThan(HEAP_LIMIT_BYTES);
  expect(await page.getByRole("article").count()).toBeLessThan(200);
}, 180_000);
