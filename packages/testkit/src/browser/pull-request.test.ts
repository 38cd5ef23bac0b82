/** From a ticket's branch to its merged pull request, on the page: what changes, what conflicts, and one button that asks first. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";

const run = promisify(execFile);

/** A clone of the project's repository over the server's Git endpoint: a person's own, or a worker's. */
async function cloneProject(product: Product, projectId: string, token = ADMIN_TOKEN) {
  const folder = await mkdtemp(join(tmpdir(), "drover-clone-"));
  const address = `${product.url.replace("//", `//somebody:${token}@`)}/git/${projectId}.git`;
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
  };
  const git = (...args: readonly string[]) =>
    run("git", ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", ...args], { cwd: folder, env });
  await git("clone", "-q", address, ".");
  return {
    commit: async (branch: string, files: Readonly<Record<string, string>>, message: string) => {
      await git("fetch", "-q", "origin");
      await git("checkout", "-q", "-B", branch, `origin/${branch}`);
      for (const [path, text] of Object.entries(files)) await writeFile(join(folder, path), text);
      await git("add", "-A");
      await git("commit", "-q", "-m", message);
      await git("push", "-q", "origin", branch);
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const ATTACK = `<img src=x onerror="window.hacked=1">`;

test("a ticket's branch becomes a pull request that is read, merged after a question, and closes the ticket", async ({
  page,
  product,
}) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const project = await client.createProject({ body: { name: "Sheep" } });
  const startTicket = async (title: string) => {
    const ticket = await client.createTicket({ body: { title, project_id: project.id, force_create: true } });
    const { branch_name } = await client.startBranch({ body: { ticket_id: ticket.id } });
    return { id: ticket.id, branch: branch_name };
  };
  const [first, second] = [await startTicket("Count the sheep"), await startTicket("Count the goats")];
  const clone = await cloneProject(product, project.id);
  await clone.commit(first.branch, { "count.md": `one\ntwo\n${ATTACK}\n` }, `Count ${ATTACK}`);
  await clone.commit(second.branch, { "count.md": "uno\ndos\n" }, "Count otherwise");
  await clone.remove();

  await page.goto(`${product.url}/tasks/tickets/${first.id}`);
  await page.getByRole("button", { name: "Open one" }).click();
  // All of it stands on the ticket's page too.
  await page.getByRole("region", { name: "Branch" }).getByText(first.branch, { exact: true }).waitFor();
  await page.getByRole("group", { name: "Commits" }).getByText(`Count ${ATTACK}`).waitFor();
  await page.getByRole("region", { name: "Merge" }).getByText("It can be merged.").waitFor();
  await page.getByRole("table", { name: "Diff of count.md" }).getByText(ATTACK).waitFor();
  expect(await findViolations(page)).toEqual([]);
  const pulls = page.getByRole("region", { name: "Pull requests" });
  await pulls.getByRole("link", { name: /Count the sheep/ }).click();
  await page.getByRole("link", { name: "its ticket" }).waitFor();
  await page.getByText("It can be merged.").waitFor();
  await page.getByRole("table", { name: "Diff of count.md" }).getByText(ATTACK).waitFor();
  await page.getByText(`Count ${ATTACK}`).first().waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Merge", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Merge" }).click();
  await page.locator("[data-status=merged]").waitFor();
  expect(await page.getByRole("button", { name: "Merge", exact: true }).count()).toBe(0);
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  await page.getByRole("link", { name: "its ticket" }).click();
  await page.getByRole("heading", { name: "Count the sheep" }).waitFor();
  await eventually(async () => (await client.getTicket({ params: { ticket_id: first.id } })).status).toBe("done");
  await page.locator("[data-status=done]").waitFor();

  // Whoever comes second and says otherwise is told which file is in the way; nothing is forced.
  await page.goto(`${product.url}/tasks/tickets/${second.id}`);
  await page.getByRole("button", { name: "Open one" }).click();
  await page.getByRole("list", { name: "Conflicts" }).getByText("count.md").waitFor();
  await page.getByRole("link", { name: /Count the goats/ }).click();
  await page.getByRole("link", { name: "its ticket" }).waitFor();
  await page.getByText("It is in conflict with main.").waitFor();
  await page.getByRole("list", { name: "Conflicts" }).getByText("count.md").waitFor();
  expect(await page.getByRole("button", { name: "Merge", exact: true }).isDisabled()).toBe(true);
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Close" }).click();
  await page.locator("[data-status=closed]").waitFor();
});

test("what a run pushes stands on its page: the branch, its commits, and the way to its pull request", async ({
  page,
  product,
}) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const project = await client.createProject({ body: { name: "Goats" } });
  const worker = await product.startWorker({ prompt: "Count the kids", project_id: project.id });
  await page.goto(`${product.url}/sandboxes/${worker.id}`);
  await page.getByRole("feed").waitFor();
  await page.keyboard.press("8");
  await page.getByText("No branch").waitFor();

  const clone = await cloneProject(product, project.id, worker.created.worker_token);
  const branch = `drover/${worker.id}`;
  await clone.commit(branch, { "kids.md": "one\ntwo\n" }, `Count ${ATTACK}`);
  await clone.remove();
  const pull = await client.createPull({
    body: { project_id: project.id, head_branch: branch, base_branch: "main", title: "All kids are counted" },
  });
  await page.goto(`${product.url}/sandboxes/${worker.id}?tab=git`);
  const git = page.getByRole("region", { name: "Git", exact: true });
  await git.getByText(branch, { exact: true }).waitFor();
  await git.getByText("1 ahead of main, 0 behind, 1 file changed").waitFor();
  await git.getByRole("region", { name: "Commits" }).getByText(`Count ${ATTACK}`).waitFor();
  await git.getByRole("region", { name: "Pull request" }).locator("[data-status=open]").waitFor();
  // The header says so on every tab.
  await page.getByRole("link", { name: branch, exact: true }).waitFor();
  await page.getByRole("link", { name: `pull request #${pull.number} open` }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  await git.getByRole("link", { name: `#${pull.number} All kids are counted` }).click();
  await eventually(() => new URL(page.url()).pathname).toBe(`/tasks/pulls/${pull.id}`);
});
