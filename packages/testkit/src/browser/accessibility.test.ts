/** WCAG 2.2 AA by axe, on every page, in both themes and on a phone. */
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { openRun, test, type PageOptions } from "./browser.ts";
import { say, type FakeWorker } from "./fake-worker.ts";

const fill = (worker: FakeWorker) =>
  worker.post(
    { event_type: "agent.started", event_data: { sdk: "scripted" }, source: "worker" },
    { event_type: "agent.heartbeat", source: "worker" },
    say(
      "A **message** with `code`, a [link](https://example.org) and\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst x = 1;\n```\n\n- [x] done\n- [ ] open",
    ),
    { event_type: "agent.thinking", event_data: { content: "A thought" } },
    { event_type: "agent.tool_use", event_data: { tool: "Read", tool_use_id: "r", input: { file_path: "a.ts" } } },
    {
      event_type: "agent.tool_use",
      event_data: {
        tool: "TodoWrite",
        tool_use_id: "t",
        input: {
          todos: [
            { content: "One", status: "completed" },
            { content: "Two", status: "in_progress" },
          ],
        },
      },
    },
    { event_type: "agent.tool_use", event_data: { tool: "Bash", tool_use_id: "b", input: { command: "npm test" } } },
    {
      event_type: "agent.tool_completed",
      event_data: {
        tool_use_id: "b",
        tool_response: {
          stdout: "\u001b[31mred\u001b[0m \u001b[32mgreen\u001b[0m \u001b[33myellow\u001b[0m \u001b[90mgrey\u001b[0m",
          exit_code: 1,
        },
      },
    },
    {
      event_type: "agent.file_edited",
      event_data: {
        file_path: "src/a.ts",
        change_type: "modified",
        lines_added: 1,
        lines_removed: 1,
        full_diff: "@@ -1,2 +1,2 @@\n-old\n+new\n same\n",
      },
    },
    { event_type: "agent.permission_requested", event_data: { request_id: "p", question: "May I?", tool: "Bash" } },
    { event_type: "agent.error", event_data: { error: "Something failed" } },
    { event_type: "future.event", event_data: { a: 1 } },
  );

const VIEWS: readonly (readonly [string, PageOptions])[] = [
  ["in light", { theme: "light" }],
  ["in dark", { theme: "dark" }],
  ["on a phone", { width: 390, height: 844 }],
  ["on a phone in dark", { width: 390, height: 844, theme: "dark" }],
];

for (const [name, options] of VIEWS) {
  test(`a run, the list, the settings and the door have no violation ${name}`, async ({
    open,
    product,
    worker,
    complaints,
  }) => {
    complaints.allow(/status of 401/);
    await fill(worker);
    const page = await open(options);
    await openRun(page, product, worker);
    await page.getByText("future.event").waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await page.goto(product.url);
    await page.getByText("Fake work").first().waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await page.goto(`${product.url}/settings?section=access`);
    await page.getByText("New token").waitFor();
    expect(await findViolations(page)).toEqual([]);
    const door = await open({ ...options, isLoggedIn: false });
    await door.goto(`${product.url}/login`);
    await door.getByRole("heading", { name: "Log in" }).waitFor();
    expect(await findViolations(door)).toEqual([]);
  }, 180_000);
}

test("dialogs have no violation and give the focus back", async ({ page, product, worker }) => {
  await fill(worker);
  await page.goto(`${product.url}/sandboxes/new`);
  const button = page.getByRole("button", { name: "Bring your own worker instead" });
  await button.click();
  await page.getByRole("dialog").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.goto(product.url);
  await page.getByText("Fake work").first().waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
});
