/** The form of a new sandbox: what is missing is said at its place with the way out, and what is made is followed. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";

async function makeRepository() {
  const path = await mkdtemp(join(tmpdir(), "drover-form-"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: path });
  git("init", "--quiet", "--initial-branch", "trunk");
  git("commit", "--quiet", "--allow-empty", "-m", "first");
  git("branch", "side");
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

test("what is incomplete, impossible or missing is said at its field, and nothing typed is lost", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(/status of 422/);
  await page.goto(product.url);
  await page.getByRole("heading", { name: "No sandbox yet" }).waitFor();
  await page.keyboard.press("n");
  await page.getByRole("heading", { name: "New sandbox" }).waitFor();
  await page.getByRole("radio", { name: /Claude Agent SDK/ }).waitFor();
  await page.getByText("Claude Agent SDK is not on this machine yet.").waitFor();
  await page.getByRole("button", { name: /Install.*Claude Agent SDK/ }).waitFor();
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("Say what the agent should do.").waitFor();
  const prompt = page.getByRole("textbox", { name: "What should the agent do?" });
  await eventually(() => prompt.evaluate((field) => field === document.activeElement)).toBe(true);
  await prompt.fill("Say hello");
  await page.getByText("Where, and within which limits").click();
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("900");
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("A number above 0, at most 8.").waitFor();
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("1.5");
  // The server knows what the page does not: the agent is not installed.
  await page.getByRole("button", { name: "Create sandbox" }).click();
  await page.getByText("One field needs a look:").waitFor();
  await page.getByRole("status").getByRole("button", { name: "Agent", exact: true }).waitFor();
  await page
    .getByText(/drover agents install claude/)
    .first()
    .waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.reload();
  await eventually(() => prompt.inputValue()).toBe("Say hello");
  await eventually(() => page.getByRole("textbox", { name: "Memory, GiB" }).inputValue()).toBe("1.5");
  await eventually(() => page.getByRole("region", { name: "curl command" }).textContent()).toContain(
    `"memory_gb": 1.5`,
  );
});

test("before anything is made the page tells of the repository, of the cost, and of the same request elsewhere", async ({
  page,
  product,
}) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await using repo = await makeRepository();
  const project = await client.createProject({ body: { name: "Barn", repo: repo.path } });
  await page.goto(`${product.url}/sandboxes/new`);
  await page.getByText("The project has no repository yet: it gets an empty one.").waitFor();
  await page.getByRole("combobox", { name: "Project" }).selectOption(project.id);
  await page.getByText("It can be read, and trunk is there, one of 2 branches.").waitFor();
  await page.getByRole("combobox", { name: "Branch" }).fill("tru");
  await page.getByText("It can be read, and has no branch tru.").waitFor();
  await page.getByRole("button", { name: "Take trunk" }).click();
  await page.getByText("trunk is there").waitFor();
  await page.getByRole("textbox", { name: "Repository" }).fill("http://169.254.169.254/a.git");
  await page.getByText(/It is not taken: .*metadata address/).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("textbox", { name: "Repository" }).fill(repo.path);
  await page.locator("[data-repository=found]").waitFor();

  // Nobody ran yet; an agent that asks no model costs nothing.
  const cost = page.getByRole("region", { name: "What it may cost" });
  await cost.getByText("No run of Claude Agent SDK is over: it takes 3 to say something.").waitFor();
  await page.getByRole("combobox", { name: "Model" }).fill("claude-haiku-4-5");
  await cost.getByText("claude-haiku-4-5: $1 for a million tokens in, $5 out.").waitFor();
  await page.getByRole("radio", { name: /Scripted/ }).check();
  await cost.getByText("Nothing: it plays a script").waitFor();

  await page.getByRole("textbox", { name: "What should the agent do?" }).fill("Mend it:\n\n- one");
  await page.getByRole("radio", { name: "Preview" }).check();
  await page.getByRole("region", { name: "Preview of the prompt" }).getByRole("listitem").waitFor();
  await page.getByText("Where, and within which limits").click();
  await page.getByRole("radio", { name: "2 GiB" }).check();
  await eventually(() => page.getByRole("textbox", { name: "Cores" }).inputValue()).toBe("1");
  await page.getByRole("radio", { name: "YAML" }).check();
  await eventually(() => page.getByRole("region", { name: "YAML file" }).textContent()).toContain("memory_gb: 2");
  await page.getByRole("radio", { name: "CLI", exact: true }).check();
  await eventually(() => page.getByRole("region", { name: "drover command" }).textContent()).toContain("--memory 2");
  expect(await findViolations(page)).toEqual([]);
});

test("a sandbox is made from the form and followed from its first step to the agent", async ({ page, product }) => {
  await page.goto(`${product.url}/sandboxes/new`);
  await page.getByRole("textbox", { name: "What should the agent do?" }).fill("Made by hand");
  await page.getByRole("radio", { name: /Scripted/ }).check();
  await page.getByText("Where, and within which limits").click();
  await page.getByRole("combobox", { name: "Provider" }).selectOption("local");
  await page.getByRole("combobox", { name: "Network" }).selectOption("none");
  await page.getByRole("textbox", { name: "Memory, GiB" }).fill("1");
  await page.keyboard.press("Control+Enter");
  await eventually(() => new URL(page.url()).pathname).toMatch(/^\/sandboxes\/drover-/);
  await page.locator("article[data-kind=lifecycle]", { hasText: "Sandbox made" }).waitFor();
  await page.locator("article[data-kind=lifecycle]", { hasText: "Agent started" }).waitFor();
  await page.keyboard.press("7");
  await page.getByRole("row", { name: /^memory 1 GiB request/ }).waitFor();
  await page.goto(`${product.url}/agents`);
  await page.locator("[data-package=claude]").getByText("@anthropic-ai/claude-agent-sdk").waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("what could not be made says why, and is tried again with all that was asked for", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await using repo = await makeRepository();
  const broken = await client.createSandbox({
    body: { prompt: "From nowhere", provider: "local", runtime: "scripted", repo: repo.path, base_branch: "nowhere" },
  });
  await page.goto(`${product.url}/sandboxes/${broken.id}`);
  const steps = page.getByRole("region", { name: "Provisioning" });
  await steps.locator("[data-step=repository][data-status=failed]").waitFor();
  await steps.getByText(/nowhere/).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await steps.getByRole("button", { name: "Try again" }).click();
  await eventually(() => new URL(page.url()).pathname).not.toBe(`/sandboxes/${broken.id}`);
  const again = await client.getSandbox({ params: { sandbox_id: new URL(page.url()).pathname.split("/")[2] ?? "" } });
  expect(again).toMatchObject({
    prompt: "From nowhere",
    provider: "local",
    runtime: "scripted",
    base_branch: "nowhere",
  });
  await steps.locator("[data-step=repository][data-status=failed]").waitFor();
});
