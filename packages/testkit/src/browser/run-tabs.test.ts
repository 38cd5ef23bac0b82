/** Tabs of a run: long changes and what is said about them, messages and their receipts, the run along time. */
import { createHash } from "node:crypto";
import { createClient } from "@drover/client";
import { expect } from "vitest";
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

  await page.keyboard.press("5");
  const list = page.getByRole("list", { name: "Messages" });
  await list.getByText("Split it.").waitFor();
  await list.getByText("seen").first().waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("the timeline lists turns and leads to their events; errors and changes are jumped to", async ({
  page,
  product,
  worker,
}) => {
  for (const turn of [1, 2, 3])
    await worker.post(
      say(`Turn ${turn} begins.`, turn),
      {
        event_type: "agent.tool_use",
        event_data: { turn, tool: "Bash", tool_use_id: `t${turn}`, input: { command: "npm test" } },
      },
      {
        event_type: "agent.tool_completed",
        event_data: { turn, tool_use_id: `t${turn}`, tool_response: { stdout: "x", exit_code: turn === 2 ? 1 : 0 } },
      },
    );
  await openRun(page, product, worker, "?tab=timeline");
  await page.getByTestId("lanes").waitFor();
  const turns = page.getByRole("list", { name: "Turns" });
  await eventually(() => turns.getByRole("button").allTextContents()).toHaveLength(3);
  expect(await turns.getByRole("button").nth(1).textContent()).toContain("1 error");
  expect(await findViolations(page)).toEqual([]);
  await turns.getByRole("button", { name: /^Turn 3/ }).click();
  await page.locator("article", { hasText: "Turn 3 begins." }).waitFor();
  await eventually(() => new URL(page.url()).searchParams.has("e")).toBe(true);
  await page.keyboard.press("Shift+X");
  const failed = (await page.locator("article", { hasText: "exit 1" }).getAttribute("data-seq")) ?? "";
  await eventually(() => new URL(page.url()).searchParams.get("e")).toBe(failed);
  await page.keyboard.press("r");
  await eventually(() => page.getByTestId("replay").getAttribute("data-at")).toBe(failed);
});
