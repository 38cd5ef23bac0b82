/** A long run: the newest part at once, the rest behind it, smooth and in bounded memory. */
import { expect } from "vitest";
import { eventually, openRun, test } from "./browser.ts";
import type { WorkerEvent } from "./fake-worker.ts";

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
