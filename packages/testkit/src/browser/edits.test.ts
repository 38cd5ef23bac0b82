/** Changed files: the first lines at once, the whole on demand, and honest about what is not shown. */
import { createHash } from "node:crypto";
import { createClient } from "@drover/client";
import { eventually, openRun, test } from "./browser.ts";

const toPatch = (lines: number) =>
  `--- a/big.sql\n+++ b/big.sql\n@@ -1,${lines} +1,${lines} @@\n${Array.from({ length: lines }, (_, n) => `--- old ${n}\n+++ new ${n}`).join("\n")}\n`;

test("a card shows the first lines, keeps lines that look like headers, and opens the whole", async ({
  page,
  product,
  worker,
}) => {
  await worker.post({
    event_type: "agent.file_edited",
    event_data: {
      file_path: "big.sql",
      change_type: "modified",
      lines_added: 300,
      lines_removed: 300,
      full_diff: toPatch(300),
    },
  });
  await openRun(page, product, worker);
  const card = page.getByRole("table", { name: "Diff of big.sql" });
  await eventually(() => card.getByRole("row").count()).toBe(24);
  await card.getByText("-- old 0", { exact: true }).waitFor();
  await card.getByText("++ new 0", { exact: true }).waitFor();
  await page.getByText("showing 24 of 601 lines").waitFor();
  await page.getByRole("button", { name: "Open full diff" }).click();
  const whole = page.getByRole("table", { name: "Full diff" });
  await whole.hover();
  await eventually(async () => {
    await page.mouse.wheel(0, 4_000);
    return whole.getByText("++ new 299", { exact: true }).isVisible();
  }).toBe(true);
});

test("a diff that the event does not carry is fetched when it is opened", async ({ page, product, worker }) => {
  const patch = toPatch(3_000);
  const bytes = new TextEncoder().encode(patch);
  const artifact = createHash("sha256").update(bytes).digest("hex");
  const client = createClient({ baseUrl: product.url, token: worker.created.worker_token });
  await client.putArtifact({ params: { sandbox_id: worker.id, artifact_id: artifact } }, { bytes });
  await worker.post({
    event_type: "agent.file_edited",
    event_data: {
      file_path: "big.sql",
      change_type: "modified",
      lines_added: 3_000,
      lines_removed: 3_000,
      diff_preview: toPatch(3_000).split("\n").slice(0, 30).join("\n"),
      full_diff: null,
      full_diff_artifact: artifact,
      full_diff_size: patch.length,
    },
  });
  await openRun(page, product, worker);
  await page.getByText("showing the first 24 lines").waitFor();
  await page.getByRole("button", { name: "Open full diff" }).click();
  await page.getByText("6,003 lines of patch").waitFor();
});
