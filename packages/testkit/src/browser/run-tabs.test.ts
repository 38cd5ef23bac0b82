/** Tabs of a run: long changes and what is said about them, messages and their receipts, the run along time. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { sql } from "../../../server/src/store/sql.ts";
import { findViolations } from "./axe.ts";
import { eventually, openRun, test } from "./browser.ts";
import { say, type FakeWorker } from "./fake-worker.ts";

const LINES = 5_000;
const PATCH = `--- a/big.sql\n+++ b/big.sql\n@@ -0,0 +1,${LINES} @@\n${Array.from({ length: LINES }, (_, n) => `+line ${n + 1}`).join("\n")}\n`;

async function postLongEdit(worker: FakeWorker, url: string): Promise<void> {
  const bytes = new TextEncoder().encode(PATCH);
  const artifact = createHash("sha256").update(bytes).digest("hex");
  const client = createClient({ baseUrl: url, token: worker.created.worker_token });
  await client.putArtifact({ params: { sandbox_id: worker.id, artifact_id: artifact } }, { bytes });
  await worker.post(
    { event_type: "agent.started", event_data: { turn: 1 }, source: "worker" },
    {
      event_type: "agent.file_edited",
      event_data: {
        turn: 1,
        file_path: "big.sql",
        change_type: "created",
        lines_added: LINES,
        lines_removed: 0,
        diff_preview: PATCH.split("\n").slice(0, 30).join("\n"),
        full_diff: null,
        full_diff_artifact: artifact,
        full_diff_size: PATCH.length,
      },
    },
  );
}

test("a diff of five thousand lines is read to its end, and comments on it reach the agent as one message, by keyboard", async ({
  page,
  product,
  worker,
}) => {
  await postLongEdit(worker, product.url);
  await openRun(page, product, worker);
  await page.getByRole("feed").waitFor();
  await page.keyboard.press("2");
  const patch = page.getByRole("table", { name: /^Patch of big\.sql/ });
  await patch.getByText("line 1", { exact: true }).waitFor();
  // The whole patch takes the place of its beginning when it has come.
  await eventually(async () => {
    await patch.focus();
    await page.keyboard.press("End");
    return patch.getByText(`line ${LINES}`, { exact: true }).isVisible();
  }).toBe(true);
  expect(await patch.getByRole("row").count()).toBeLessThan(300);
  // A line by mouse, the file by keyboard; both in one message.
  await patch
    .getByRole("row")
    .filter({ hasText: `line ${LINES}` })
    .hover();
  await page.getByRole("button", { name: `Comment on line ${LINES}`, exact: true }).click();
  await page.keyboard.type("Why so many?");
  await page.getByRole("button", { name: "Comment", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.keyboard.type("Split it.");
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Send 2 comments" }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("2 comments sent as one message").waitFor();
  const [message] = await worker.receive();
  expect(message?.content).toBe(
    `Comments on your changes:\n\nbig.sql:${LINES}\n> line ${LINES}\nWhy so many?\n\nbig.sql\nSplit it.`,
  );
  await worker.ack(message?.id ?? "", "seen", 2);
  // What came of them is told: the line is written anew, and with it the file.
  const sent = page.getByTestId("sent-comments");
  await sent.getByText("0 of 2 led to a change").waitFor();
  const mended = `--- a/big.sql\n+++ b/big.sql\n@@ -${LINES},1 +${LINES},1 @@\n-line ${LINES}\n+the last line\n`;
  await worker.post({
    event_type: "agent.file_edited",
    event_data: {
      turn: 3,
      file_path: "big.sql",
      change_type: "modified",
      lines_added: 1,
      lines_removed: 1,
      diff_preview: mended,
      full_diff: mended,
      full_diff_size: mended.length,
    },
  });
  await sent.getByText("2 of 2 led to a change").waitFor();

  await page.keyboard.press("5");
  const list = page.getByRole("list", { name: "Messages" });
  await list.getByText("Split it.").waitFor();
  await list.getByText("seen").first().waitFor();
  expect(await findViolations(page)).toEqual([]);
});

const edit = (turn: number, path: string, line: string) => ({
  event_type: "agent.file_edited",
  event_data: {
    turn,
    file_path: path,
    change_type: turn === 1 ? "created" : "modified",
    lines_added: 1,
    lines_removed: 1,
    full_diff: `@@ -1,1 +1,1 @@\n-old ${line}\n+${line}\n`,
  },
});

test("changes are shown since the last look or between two events, and a file is ticked off until it changes again", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(edit(1, "a.ts", "first"), edit(1, "b.ts", "second"));
  await openRun(page, product, worker, "?tab=changes");
  const files = page.getByRole("list", { name: "Files" }).getByRole("listitem");
  const show = page.getByRole("combobox", { name: "Show" });
  await eventually(() => files.count()).toBe(2);
  expect(await show.getByRole("option", { name: /since my last look/ }).count()).toBe(0);
  await page.getByRole("checkbox", { name: "Viewed a.ts" }).check();
  await page.getByRole("button", { name: /b\.ts/ }).click();
  await page.keyboard.press("v");
  await eventually(() => page.getByRole("checkbox", { name: "Viewed b.ts" }).isChecked()).toBe(true);
  await page.keyboard.press("u");
  await page.getByRole("button", { name: "Both sides", pressed: true }).waitFor();
  await page.keyboard.press("p");
  await page.keyboard.press("p");
  await page.getByRole("table", { name: /^Patch of a\.ts/ }).waitFor();
  expect(await findViolations(page)).toEqual([]);

  await page.keyboard.press("1");
  await page.getByRole("feed").waitFor();
  // A look that is over for longer than a minute.
  await page.evaluate(() => {
    const looks = JSON.parse(localStorage.getItem("drover.looks") ?? "{}") as Record<string, { at: number }>;
    for (const look of Object.values(looks)) look.at -= 120_000;
    localStorage.setItem("drover.looks", JSON.stringify(looks));
  });
  await worker.post(edit(2, "a.ts", "third"));
  await page.keyboard.press("2");
  await eventually(() => files.count()).toBe(2);
  await show.selectOption("new");
  await eventually(() => files.allTextContents()).toEqual([expect.stringContaining("a.ts")]);
  expect(new URL(page.url()).searchParams.get("scope")).toBe("new");
  expect(await page.getByRole("checkbox", { name: "Viewed a.ts" }).isChecked()).toBe(false);
  // Loading the page again is the same look.
  await page.reload();
  await eventually(() => files.allTextContents()).toEqual([expect.stringContaining("a.ts")]);
  await page.keyboard.press("1");
  const seq = (await page.locator("article[data-kind=edit]").nth(1).getAttribute("data-seq")) ?? "";
  await page.keyboard.press("2");
  await show.selectOption("between");
  await page.getByRole("spinbutton", { name: "From event" }).fill(seq);
  await page.getByRole("spinbutton", { name: "To event" }).fill(seq);
  await eventually(() => files.allTextContents()).toEqual([expect.stringContaining("b.ts")]);
  expect(new URL(page.url()).search).toContain(`scope=between&from=${seq}&to=${seq}`);
  // What lies in a folder stands below it.
  await show.selectOption("");
  await worker.post(edit(3, "src/lib/c.ts", "fourth"));
  const folder = page.getByRole("button", { name: /src\/lib/, expanded: true });
  await folder.waitFor();
  await page.getByRole("list", { name: "src/lib" }).getByRole("button", { name: /c\.ts/ }).click();
  await page.getByRole("table", { name: /^Patch of src\/lib\/c\.ts/ }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await folder.click();
  await eventually(() => page.getByRole("list", { name: "src/lib" }).count()).toBe(0);
});

test("with both sides shown, lines that came and lines that went are commented on", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(edit(1, "fold.ts", "gate"));
  await page.goto(`${product.url}/sandboxes/${worker.id}?tab=changes&file=fold.ts`);
  const patch = page.getByRole("table", { name: /^Patch of fold\.ts/ });
  await patch.getByText("old gate").waitFor();
  await page.getByRole("button", { name: "Both sides" }).click();
  await page.getByRole("button", { name: "Both sides", pressed: true }).waitFor();
  for (const [text, note] of [
    ["old gate", "Why is it gone?"],
    ["gate", "Which one?"],
  ] as const) {
    const side = patch.getByRole("cell").filter({ has: page.getByText(text, { exact: true }) });
    await side.hover();
    await side.getByRole("button", { name: "Comment on line 1" }).click();
    await page.keyboard.type(note);
  }
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Send 2 comments" }).click();
  await page.getByText("2 comments sent as one message").waitFor();
  const [message] = await worker.receive();
  expect(message?.content).toBe(
    "Comments on your changes:\n\nfold.ts\n> old gate\nWhy is it gone?\n\nfold.ts:1\n> gate\nWhich one?",
  );
});

test("the timeline lists turns and leads to their events; errors and changes are jumped to", async ({
  page,
  product,
  worker,
}) => {
  for (const turn of [1, 2, 3])
    await worker.post(
      say(`Turn ${turn} begins.`, turn),
      ...(turn < 3 ? [{ event_type: "agent.metered", event_data: { cost_usd: 0.5 * turn, input_tokens: 10 } }] : []),
      {
        event_type: "agent.tool_use",
        event_data: { turn, tool: "Bash", tool_use_id: `t${turn}`, input: { command: "npm test" } },
      },
      {
        event_type: "agent.tool_completed",
        event_data: { turn, tool_use_id: `t${turn}`, tool_response: { stdout: "x", exit_code: turn === 2 ? 1 : 0 } },
      },
    );
  // The server alone tells of money: a worker's word for it is made the server's.
  await product.db.query(sql`update events set event_type = 'agent.usage' where event_type = 'agent.metered'`);
  await openRun(page, product, worker, "?tab=timeline");
  await page.getByTestId("lanes").waitFor();
  const turns = page.getByRole("list", { name: "Turns" });
  await eventually(() => turns.getByRole("button").allTextContents()).toHaveLength(3);
  expect(await turns.getByRole("button").nth(1).textContent()).toContain("1 error");
  expect(await findViolations(page)).toEqual([]);
  // One tab is current, and it is seen on a phone as well.
  const current = page.getByRole("navigation", { name: "Views of this run" }).locator("[aria-current=page]");
  expect(await current.allTextContents()).toEqual(["Timeline"]);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.reload();
  await page.getByTestId("lanes").waitFor();
  await eventually(async () => {
    const box = await current.boundingBox();
    return box !== null && box.x >= 0 && box.x + box.width <= 390;
  }).toBe(true);
  await page.setViewportSize({ width: 1280, height: 800 });
  // By turns, twice as wide, and at its end: all of it in the address.
  await page.getByRole("radio", { name: "Turns" }).check();
  await page.getByRole("button", { name: "Zoom in" }).click();
  await page.getByRole("slider", { name: "Part of the run that is shown" }).press("End");
  const lanes = page.getByTestId("lanes");
  await eventually(() => lanes.getAttribute("data-from")).toBe("0.500");
  await eventually(() => new URL(page.url()).search).toContain("by=turns&zoom=2&mid=75");
  expect(await findViolations(page)).toEqual([]);
  await page.reload();
  await eventually(() => lanes.getAttribute("data-from")).toBe("0.500");
  // What is drawn by hand follows the system as the page does.
  await page.emulateMedia({ colorScheme: "dark" });
  await eventually(() => lanes.getAttribute("data-dark")).toBe("true");
  // Dragged to the right, what came before comes into sight.
  const box = await lanes.boundingBox();
  await page.mouse.move((box?.x ?? 0) + 200, (box?.y ?? 0) + 60);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 500, (box?.y ?? 0) + 60, { steps: 5 });
  await page.mouse.up();
  await eventually(async () => Number(await lanes.getAttribute("data-from"))).toBeLessThan(0.45);
  await page.getByRole("slider", { name: "Zoom" }).press("Home");
  // And where its money went: to what each call led to.
  await page.getByRole("radio", { name: "By tool" }).check();
  const spent = page.getByRole("region", { name: "Where the money went" });
  await spent.getByText("$1.50 · 2 calls").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await eventually(() => new URL(page.url()).searchParams.get("list")).toBe("tools");
  await page.getByRole("radio", { name: "By turn" }).check();
  await eventually(() => lanes.getAttribute("data-to")).toBe("1.000");
  await turns.getByRole("button", { name: /^Turn 3/ }).click();
  await page.locator("article", { hasText: "Turn 3 begins." }).waitFor();
  await eventually(() => new URL(page.url()).searchParams.has("e")).toBe(true);
  // The selected event goes along: how far the run was there, and what was told, word for word.
  await page.keyboard.press("6");
  const playhead = page.getByTestId("playhead");
  await playhead.getByText("turn 3").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await playhead.getByRole("link", { name: /^Event / }).click();
  await page.locator("article", { hasText: "Turn 3 begins." }).waitFor();
  await page.keyboard.press("Space");
  const told = page.getByRole("dialog", { name: /^Event / });
  await told.getByText("agent.message").waitFor();
  await told.getByText('"Turn 3 begins."').waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await told.waitFor({ state: "detached" });
  await page.keyboard.press("Shift+X");
  const failed = (await page.locator("article", { hasText: "exit 1" }).getAttribute("data-seq")) ?? "";
  await eventually(() => new URL(page.url()).searchParams.get("e")).toBe(failed);
  await page
    .locator("article", { hasText: "exit 1" })
    .getByRole("button", { name: "Ask the agent about this" })
    .click();
  await eventually(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toMatch(
    /^`npm test` failed with 1:\n> x\nWhy/,
  );
  await page.keyboard.press("Escape");
  const outline = page.getByRole("complementary", { name: "About this run" });
  await outline.getByRole("button", { name: /^T2.*1 failed/ }).click();
  await eventually(() => new URL(page.url()).searchParams.get("e")).not.toBe(failed);
  const chosen = new URL(page.url()).searchParams.get("e");
  await page.keyboard.press("r");
  await eventually(() => page.getByTestId("replay").getAttribute("data-at")).toBe(chosen);

  // Somebody who comes back after more than a minute is told what happened, and led to it.
  await page.evaluate(() => {
    const seen = JSON.parse(localStorage.getItem("drover.seen") ?? "{}") as Record<string, { at: number }>;
    for (const one of Object.values(seen)) one.at -= 120_000;
    localStorage.setItem("drover.seen", JSON.stringify(seen));
  });
  await worker.post(say("Meanwhile.", 4), edit(4, "late.ts", "line"));
  await openRun(page, product, worker);
  const away = page.getByRole("region", { name: "While you were away" });
  await away.getByText("1 message, 1 changed file").waitFor();
  await page.locator("article", { hasText: "Meanwhile." }).getByTestId("new-from").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await away.getByRole("button", { name: "First of them" }).click();
  const first = (await page.locator("article", { hasText: "Meanwhile." }).getAttribute("data-seq")) ?? "";
  await eventually(() => new URL(page.url()).searchParams.get("e")).toBe(first);
  await eventually(() => away.count()).toBe(0);
});

test("the map shows the whole run and goes where it is pressed, and the header tells what the sandbox uses", async ({
  page,
  product,
  worker,
}) => {
  const lines = Array.from({ length: 400 }, (_, n) => say(`Word ${n + 1}.`, 1 + Math.floor(n / 40)));
  const beat = { memory_bytes: 1_200_000_000, cpu_percent: 41, turn: 1 };
  await worker.post(...lines, { event_type: "agent.heartbeat", source: "worker", event_data: beat });
  await openRun(page, product, worker);
  const figures = page.locator("main dl").first();
  await eventually(() => figures.textContent()).toMatch(/cpu\s*41 %.*mem\s*1\.2 GB/);
  const map = page.getByRole("scrollbar", { name: "Map of the run" });
  const said = (n: number) => page.getByRole("feed").getByText(`Word ${n}.`, { exact: true });
  await eventually(() => map.getAttribute("aria-valuemax")).toMatch(/^40\d$/);
  await said(400).waitFor();
  const box = await map.boundingBox();
  const press = (share: number) =>
    page.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 1 + share * ((box?.height ?? 0) - 2));
  await press(0.5);
  await said(200).waitFor();
  // Whoever goes back into the run stays there while it goes on.
  await worker.post(say("And on.", 11));
  await page.getByText("1 new event").waitFor();
  await said(200).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.mouse.move((box?.x ?? 0) + 20, (box?.y ?? 0) + (box?.height ?? 0) / 2);
  await page.mouse.down();
  await page.mouse.move((box?.x ?? 0) + 20, (box?.y ?? 0) + (box?.height ?? 0) / 4, { steps: 5 });
  await page.mouse.up();
  await said(101).waitFor();
  await map.press("Home");
  await said(1).waitFor();
  const first = Number(await map.getAttribute("aria-valuenow"));
  await map.press("ArrowDown");
  await eventually(async () => Number(await map.getAttribute("aria-valuenow"))).toBeGreaterThan(first);
  await map.press("End");
  await page.getByRole("feed").getByText("And on.", { exact: true }).waitFor();
  await eventually(() => page.getByRole("feed").getAttribute("data-following")).toBe("true");
});

const PRINTED = `${Array.from({ length: 300 }, (_, n) => `line ${n + 1}`).join("\n")}
\u001B]52;c;aGFja2Vk\u0007\u001B[31mneedle\u001B[0m\u001B[2J in hay
`;

test("each command of the agent is read beside the terminal: searched, and taken along without what a terminal would obey", async ({
  page,
  product,
  worker,
}) => {
  for (const [id, command, stdout, exit_code] of [
    ["t1", "ls", "a.ts\n", 0],
    ["t2", "npm test", PRINTED, 1],
  ] as const)
    await worker.post(
      { event_type: "agent.tool_use", event_data: { turn: 1, tool: "Bash", tool_use_id: id, input: { command } } },
      {
        event_type: "agent.tool_completed",
        event_data: { turn: 1, tool_use_id: id, tool_response: { stdout, exit_code } },
      },
    );
  await openRun(page, product, worker, "?tab=terminal");
  const commands = page.getByRole("region", { name: "Commands of the agent" });
  await eventually(() => commands.getByRole("button").allTextContents()).toEqual([
    expect.stringContaining("npm test"),
    expect.stringContaining("ls"),
  ]);
  await commands.getByRole("button", { name: /npm test/ }).click();
  const shown = page.getByRole("region", { name: "Command", exact: true });
  await shown.getByText("exit 1").waitFor();
  await shown.getByRole("searchbox", { name: "Search in this output" }).fill("NEEDLE in");
  await shown.getByText("1 of 1").waitFor();
  await shown.locator("[data-found=here]", { hasText: "needle in hay" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  const coming = page.waitForEvent("download");
  await shown.getByRole("button", { name: "Download" }).click();
  const text = await readFile(await (await coming).path(), "utf8");
  expect(text.slice(0, 18)).toBe("$ npm test\nline 1\n");
  expect(text.endsWith("\nline 300\nneedle in hay\n")).toBe(true);
  expect(text).not.toContain("\u001B");
  await page.reload();
  await shown.getByText("exit 1").waitFor();
});
