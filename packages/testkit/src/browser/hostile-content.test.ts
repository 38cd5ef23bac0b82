/** What an agent prints is hostile until shown otherwise: it is text, and the page asks nobody for anything because of it. */
import { expect } from "vitest";
import { eventually, openRun, TALL, test } from "./browser.ts";

const EVIL = "https://evil.example/?leak=1";
const ATTACK = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><svg onload="window.hacked=1">`;

test("markup, images, links, terminal sequences and file names of an agent do nothing", async ({ open, product }) => {
  const worker = await product.startWorker({ prompt: `${ATTACK} as a title` });
  const page = await open(TALL);
  const event = (event_type: string, event_data: Record<string, unknown>) => ({ event_type, event_data });
  await worker.post(
    event("agent.message", {
      content: `${ATTACK}\n\n![pixel](${EVIL})\n\n[click](javascript:window.hacked=1) [data](data:text/html,<script>1</script>) <a href="${EVIL}">a</a> [https://bank.example](${EVIL})\n\n| ${ATTACK} |\n|---|\n| ${ATTACK} |\n\n\`\`\`html\n${ATTACK}\n\`\`\``,
    }),
    event("agent.thinking", { content: ATTACK }),
    event("agent.tool_use", { tool: ATTACK, tool_use_id: "t1", input: { url: ATTACK } }),
    event("agent.tool_result", { tool_use_id: "t1", result: ATTACK, is_error: true }),
    event("agent.tool_use", { tool: "Bash", tool_use_id: "t2", input: { command: `echo '${ATTACK}'` } }),
    event("agent.tool_result", {
      tool_use_id: "t2",
      result: `\u001b]8;;${EVIL}\u0007link\u001b]8;;\u0007 \u001b[31m${ATTACK}\u001b[0m \u001b[2J\u001b[H\u001b]0;title\u0007 \u001b[38;2;1;2;3m;url(${EVIL})\u001b[0m`,
    }),
    event("agent.file_edited", {
      file_path: `../../${ATTACK}.ts`,
      change_type: ATTACK,
      lines_added: 1,
      lines_removed: 1,
      full_diff: `--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a deleted comment\n+${ATTACK}\n context\n`,
    }),
    event("agent.error", { error: ATTACK }),
    event("agent.permission_requested", { request_id: ATTACK, question: ATTACK, tool: ATTACK }),
    event("guardian-like.thing", { [ATTACK]: ATTACK, __proto__: { polluted: true }, constructor: { prototype: {} } }),
    event("agent.message", { content: ">".repeat(4_000) + " deep " + "[".repeat(4_000) }),
    event("agent.completed", { success: true, pr_url: `javascript:window.hacked=1` }),
  );
  await openRun(page, product, worker);
  await page.getByText("Agent finished").waitFor();
  const folded = page.locator("article [data-toggle][aria-expanded=false]");
  for (let left = await folded.count(); left > 0; left -= 1) await folded.first().click();
  await page.getByText("-- a deleted comment").waitFor();
  await page.getByText("image not loaded: pixel").waitFor();
  // Whatever its words say, a link shows where it leads.
  expect(await page.locator("#app article a[href*='evil.example']").allInnerTexts()).toEqual([
    "https://bank.example (evil.example)",
  ]);
  expect(await page.evaluate(() => ({ hacked: "hacked" in window, polluted: "polluted" in Object.prototype }))).toEqual(
    { hacked: false, polluted: false },
  );
  expect(
    await page
      .locator("#app img, #app iframe, #app script, #app a[href^='javascript:'], #app a[href^='data:']")
      .count(),
  ).toBe(0);
  await page.goto(`${product.url}/sandboxes`);
  await eventually(() => page.getByRole("listitem").filter({ hasText: "as a title" }).count()).toBe(1);
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
});
