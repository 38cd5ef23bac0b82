/** Inside a sandbox, on its page: a terminal and its recording, files, details. What comes from there is only ever drawn. */
import { createClient } from "@drover/client";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";

const SCRIPT = { steps: [{ text: "I wait." }, { wait_for_message: { seconds: 600 } }] };
const EVIL_NAME = `<img src=x onerror="window.hacked=1">.txt`;

async function startSandbox(product: Product, script: unknown = SCRIPT) {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const { id } = await client.createSandbox({
    body: { provider: "local", runtime: "scripted", prompt: "Look inside", script: script as never },
  });
  await client.waitFor(id, "agent.message", { timeoutMs: 60_000 });
  const run = (...argv: readonly string[]) =>
    client.execCommand({ params: { sandbox_id: id }, body: { argv: [...argv] } });
  return { id, run, client };
}

const screenOf = (page: Page) => page.locator(".xterm-rows");
const type = async (page: Page, command: string) => {
  await page.keyboard.type(command);
  await page.keyboard.press("Enter");
};

test("a terminal is typed into, draws what is harmless only, and plays again as a recording", async ({
  page,
  product,
}) => {
  const { id } = await startSandbox(product);
  await page.goto(`${product.url}/sandboxes/${id}?tab=terminal`);
  await page.getByText("No terminal was recorded yet.").waitFor();
  await page.getByRole("button", { name: "Open a terminal" }).click();
  await page.locator("[data-terminal=open]").waitFor();
  await page.getByRole("textbox", { name: "Terminal input" }).focus();
  await type(page, "echo $((40 + 2)) in $PWD");
  await screenOf(page).getByText("42 in /workspace").waitFor();
  const title = await page.title();
  // A title, the clipboard, a link, a query whose answer would be typed into the shell, and a report of the window.
  await type(
    page,
    String.raw`printf '\033]0;hacked\007\033]52;c;aGFja2Vk\007\033]8;;https://evil.example/\007lin%s\033]8;;\007\033P$q"p\033\\\033[21t\033]11;?\007' k; echo`,
  );
  await screenOf(page)
    .getByText(/^link\s*$/)
    .waitFor();
  await type(page, "echo the line is $(printf '%s' cle)an");
  await screenOf(page).getByText("the line is clean").waitFor();
  // A colour outside the palette has no class of its own, and the page's policy allows no style attribute.
  await type(page, String.raw`printf '\033[48;2;0;64;128m\033[38;2;255;255;255mdee%s\033[0m\n' p`);
  await eventually(() =>
    screenOf(page)
      .getByText(/^deep$/)
      .evaluate((cells) => getComputedStyle(cells).backgroundColor),
  ).toBe("rgb(0, 64, 128)");
  expect(await page.title()).toBe(title);
  expect(await page.locator("#app a[href*='evil.example']").count()).toBe(0);
  expect(await screenOf(page).textContent()).not.toMatch(/P1\$r|rgb:|command not found/);
  expect(await findViolations(page)).toEqual([]);

  await type(page, "exit");
  await page.getByText("The shell has ended with 0.").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  const terminals = page.getByRole("complementary", { name: "Terminals" });
  await terminals.getByRole("button", { name: /ago$/ }).click();
  await screenOf(page).getByText("42 in /workspace").waitFor();
  const position = page.getByRole("slider", { name: "Position" });
  await position.focus();
  await page.keyboard.press("Home");
  await eventually(() => screenOf(page).textContent()).not.toContain("42 in /workspace");
  await page.keyboard.press("End");
  await screenOf(page).getByText("the line is clean").waitFor();
  expect(new URL(page.url()).searchParams.get("cast")).toMatch(/^[0-9a-f]{64}$/);
  expect(await findViolations(page)).toEqual([]);
});

test("files are walked by address, read as text, and downloaded; bytes and hostile names do nothing", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(/status of 404/);
  const { id, run } = await startSandbox(product);
  await run("mkdir", "-p", "/workspace/src/deep");
  await run("sh", "-c", `printf 'first line\\n<script>window.hacked=1</script>\\n' > "/workspace/src/$0"`, EVIL_NAME);
  await run("sh", "-c", "head -c 4000 /dev/zero > /workspace/src/zeros.bin");
  await page.goto(`${product.url}/sandboxes/${id}?tab=files`);
  await page.getByRole("button", { name: /^src/ }).click();
  const entries = page.getByRole("list", { name: "Entries of /workspace/src" });
  await entries.getByRole("button", { name: /^deep/ }).waitFor();
  await entries.getByRole("button", { name: EVIL_NAME }).click();
  await page.getByText("<script>window.hacked=1</script>").waitFor();
  await page.reload();
  await page.getByText("first line").waitFor();
  expect(await findViolations(page)).toEqual([]);
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download" }).click();
  const [chunk] = (await (await (await downloading).createReadStream()).toArray()) as Buffer[];
  expect(chunk?.toString()).toContain("first line");
  await entries.getByRole("button", { name: /^zeros.bin/ }).click();
  await page.getByText("These bytes are no text.").waitFor();
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  await page.goto(`${product.url}/sandboxes/${id}?tab=files&path=/nowhere`);
  await page.getByText("This folder could not be read").waitFor();
});

const WRITES = {
  steps: [
    { text: "I write three lines." },
    { edit: { path: "src/a.ts", content: "one\ntwo\nthree\n" } },
    { command: { argv: ["sh", "-c", "echo test; exit 1"] } },
    { wait_for_message: { seconds: 600 } },
    { edit: { path: "src/a.ts", content: "one\nTWO\nthree\nfour\n" } },
    { wait_for_message: { seconds: 600 } },
  ],
};

test("each line of a file says which turn wrote it and what led to it, while the sandbox lives and after it is gone", async ({
  page,
  product,
}) => {
  const { id, client } = await startSandbox(product, WRITES);
  // Changes by their number: all lines of one change have the same.
  const writersOf = () =>
    page.locator("[data-line]").evaluateAll((lines) => {
      const events = lines.map((line) => line.getAttribute("data-event") ?? "nobody");
      return events.map((event) => (event === "nobody" ? event : [...new Set(events)].indexOf(event) + 1));
    });
  await page.goto(`${product.url}/sandboxes/${id}?tab=files&file=/workspace/src/a.ts`);
  await eventually(writersOf).toEqual([1, 1, 1]);
  await client.sendMessage({
    params: { sandbox_id: id },
    body: { content: "Shout the second line", message_type: "user_message" },
  });
  await eventually(writersOf).toEqual([1, 2, 1, 2]);
  await page.getByRole("button", { name: "T1: line 2, tell more" }).click();
  const story = page.getByRole("complementary", { name: "Who wrote line 2" });
  await story.getByText("Shout the second line", { exact: true }).waitFor();
  await story.getByText("No tests ran after it.").waitFor();
  expect(new URL(page.url()).searchParams.get("line")).toBe("2");
  await page.getByRole("button", { name: "T1: line 1, tell more" }).click();
  const first = page.getByRole("complementary", { name: "Who wrote line 1" });
  await first.getByText("I write three lines.").waitFor();
  await first.getByText("failed").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await client.waitFor(id, "workspace.checkpoint", { timeoutMs: 60_000 });
  await client.terminateSandbox({ params: { sandbox_id: id } });
  await page.getByText("The sandbox is gone").waitFor();
  await eventually(writersOf).toEqual([1, 2, 1, 2]);
  expect(await findViolations(page)).toEqual([]);
  await first.getByRole("link", { name: "Replay this moment" }).click();
  await page.getByRole("radio", { name: "File" }).check();
  await eventually(() => page.getByTestId("file-turns").textContent()).toContain("T1");
});

test("details say how the sandbox was made, where each value comes from and what enforces it", async ({
  page,
  product,
}) => {
  const { id } = await startSandbox(product);
  await page.goto(`${product.url}/sandboxes/${id}`);
  await page.getByRole("feed").getByText("I wait.").waitFor();
  await page.keyboard.press("7");
  await eventually(() => new URL(page.url()).search).toBe("?tab=details");
  await page.getByText("Worker started").waitFor();
  await page.getByRole("row", { name: /^memory 4 GiB default (cgroup|watchdog)/ }).waitFor();
  await page.getByRole("row", { name: /^isolation – namespaces/ }).waitFor();
  await page.getByRole("button", { name: "Read the log" }).click();
  await page.getByRole("button", { name: "Read again" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("1");
  await page.getByRole("feed").getByText("I wait.").waitFor();
});
