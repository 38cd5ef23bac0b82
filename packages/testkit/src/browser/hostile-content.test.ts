/** What an agent prints is hostile until shown otherwise: it is text, and the page asks nobody for anything because of it. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { say } from "./fake-worker.ts";
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
  await page.getByText("Agent finished", { exact: true }).waitFor();
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

const ENDINGS = `</script><script>window.hacked=1</script><!--<script>--></style></title>\u2028 ${ATTACK}`;

test("a run taken along as a page is shown from the disk at any moment: nothing in it runs, and nobody is asked", async ({
  page,
  product,
  chrome,
  worker,
}) => {
  const event = (event_type: string, event_data: Record<string, unknown>) => ({ event_type, event_data });
  await worker.post(
    say(ENDINGS, 1),
    event("agent.tool_use", { tool: "Bash", tool_use_id: "t1", turn: 1, input: { command: `echo '${ENDINGS}'` } }),
    event("agent.tool_result", { tool_use_id: "t1", turn: 1, result: `${ENDINGS} printed` }),
    event("agent.file_edited", {
      turn: 2,
      file_path: `src/${ATTACK}.ts`,
      change_type: "modified",
      lines_added: 1,
      lines_removed: 0,
      full_diff: `@@ -1,1 +1,2 @@\n context\n+${ENDINGS}\n`,
    }),
    event("agent.permission_requested", { request_id: "p1", question: ENDINGS, tool: "Bash" }),
    say(`![pixel](${EVIL}) the last word`, 2),
  );
  await openRun(page, product, worker, "?tab=details");
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download page" }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toBe(`${worker.id}.drover.html`);
  const folder = await mkdtemp(join(tmpdir(), "drover-run-file-"));
  const context = await chrome.newContext();
  try {
    const file = join(folder, "run.html");
    await download.saveAs(file);
    const text = await readFile(file, "utf8");
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).not.toContain("<script>window.hacked");
    const said: string[] = [];
    context.on("console", (message) => said.push(message.text()));
    context.on("weberror", (error) => said.push(error.error().message));
    const asked: string[] = [];
    context.on("request", (request) => asked.push(request.url()));
    const offline = await context.newPage();
    const address = pathToFileURL(file).href;
    await offline.goto(address);
    await offline.getByText("the last word").waitFor();
    await offline.getByText("image not loaded: pixel").waitFor();
    await offline.getByRole("button", { name: "Terminal" }).click();
    await offline.getByTestId("moment-terminal").getByText("printed").waitFor();
    await offline.getByRole("button", { name: "Changes" }).click();
    await offline
      .getByRole("table", { name: /^Diff of/ })
      .first()
      .waitFor();
    expect(await findViolations(offline)).toEqual([]);
    // As of an earlier moment, by the slider and by the address.
    const seq = (await offline.locator("article[data-kind=message]").first().getAttribute("data-seq")) ?? "";
    await offline.getByRole("slider", { name: "Event in the run" }).fill(seq);
    await offline.getByText("No file had changed at this moment.").waitFor();
    expect(await offline.getByText("the last word").count()).toBe(0);
    await eventually(() => new URL(offline.url()).hash).toBe(`#at=${seq}`);
    await offline.reload();
    await eventually(() => offline.getByTestId("replay").getAttribute("data-at")).toBe(seq);
    expect(await offline.evaluate(() => "hacked" in window)).toBe(false);
    expect(asked.map((url) => url.split("#", 1)[0]).filter((url) => url !== address && url !== "data:,")).toEqual([]);
    expect(said).toEqual([]);
  } finally {
    await context.close();
    await rm(folder, { recursive: true });
  }
});
