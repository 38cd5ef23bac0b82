/** Any moment of a run: files as git has them, the moment in the address, forks, links for others, two runs side by side. */
import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@drover/client";
import type { StoredEvent } from "@drover/contract";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";

const MOMENTS = 20;

/** Changes by edits and by a command, among them names and contents that are easily mistaken. */
const STEPS = [
  { text: "I begin." },
  { edit: { path: "src/app.ts", content: "export const one = 1;\n" } },
  { edit: { path: "notes/a b.txt", content: "no newline at the end" } },
  { edit: { path: "src/app.ts", content: "export const one = 1;\nexport const two = 2;\n" } },
  { command: { argv: ["sh", "-c", "printf 'a\\tb\\r\\n\\n  c \\n' > src/odd.txt; echo printed by the command"] } },
  { edit: { path: "src/deep/er/x.ts", content: "// <script>alert(1)</script> & äöü 😀\n" } },
  { command: { argv: ["sh", "-c", "seq 1 200 > numbers.txt; exit 3"] } },
  { edit: { path: "src/app.ts", content: "export const two = 2;\n" } },
  { edit: { path: "notes/a b.txt", delete: true } },
  { text: "I am done." },
];

async function playRun(product: Product, steps: readonly unknown[] = STEPS, prompt = "Change some files") {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const { id } = await client.createSandbox({
    body: { provider: "local", runtime: "scripted", prompt, script: { steps } as never },
  });
  await client.waitFor(id, "agent.completed", { timeoutMs: 60_000 });
  const { events } = await client.listSandboxEvents({
    params: { sandbox_id: id },
    query: { limit: 500, order: "asc" },
  });
  return { id, client, events };
}

let longOne: ReturnType<typeof playRun> | undefined;
/** Played once for all who only look at it. */
const theRun = (product: Product) => (longOne ??= playRun(product));

/** What git itself says of a checkpoint, read from the server's own repository. */
function openGit(product: Product, id: string) {
  const git = (...args: readonly string[]) =>
    execFileSync("git", [...args], {
      env: {
        PATH: process.env["PATH"],
        GIT_DIR: join(product.dataDir, "checkpoints", `${id}.git`),
        HOME: "/nonexistent",
      },
      encoding: "utf8",
    });
  return {
    list: (commit: string) =>
      git("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
        .split("\0")
        .filter((name) => name !== ""),
    read: (commit: string, path: string) => git("show", `${commit}:${path}`),
  };
}

const openReplay = async (page: Page, product: Product, id: string, search = "") => {
  await page.goto(`${product.url}/sandboxes/${id}/replay${search}`);
  await page.getByTestId("replay").waitFor();
};

const checkpointAt = (events: readonly StoredEvent[], at: number) =>
  events.findLast((event) => event.event_type === "workspace.checkpoint" && (event.sandbox_seq ?? 0) <= at);

test("at twenty moments the files shown equal git's at the checkpoint, byte for byte", async ({ page, product }) => {
  const { id, events, client } = await theRun(product);
  // The server takes a run's packs in when somebody first looks at its end.
  await client.getMoment({ params: { sandbox_id: id }, query: {} });
  await openReplay(page, product, id, "?look=file");
  const git = openGit(product, id);
  const last = events.length;
  // Before the end, which may still move on; spread over the run, in an order that goes back and forth.
  const moments = Array.from({ length: MOMENTS }, (_, n) => 1 + ((n * 7_919) % (last - 3)));
  const slider = page.getByRole("slider", { name: "Event in the run" });
  for (const at of moments) {
    await slider.fill(String(at));
    await eventually(() => page.getByTestId("replay").getAttribute("data-at")).toBe(String(at));
    const checkpoint = checkpointAt(events, at);
    if (checkpoint === undefined) {
      await page.getByText("No files were kept up to this moment.").waitFor();
      continue;
    }
    const commit = String(checkpoint.event_data["commit"]);
    const paths = git.list(commit);
    const shown = page.getByRole("region", { name: "Files of this moment" }).locator("button[data-path]");
    await eventually(() =>
      shown.evaluateAll((lines) =>
        lines
          .filter((line) => !line.hasAttribute("aria-expanded") && !line.querySelector(".line-through"))
          .map((line) => line.getAttribute("data-path")),
      ),
    ).toEqual(paths);
    const path = paths[at % paths.length] ?? "";
    await page.locator(`button[data-path="${path}"]`).click();
    const view = page.locator(`[data-testid=file-view][data-path="${path}"][data-seq="${checkpoint.seq}"]`);
    await eventually(() => view.locator("[data-testid=file-text][data-ready=true]").textContent()).toBe(
      git.read(commit, path),
    );
  }
  // The address has the moment and the file: who opens it stands where we stand.
  const at = moments.at(-1) ?? 1;
  await eventually(() => new URL(page.url()).searchParams.get("at")).toBe(String(at));
  const text = await page.getByTestId("file-text").textContent();
  await page.reload();
  await eventually(() => page.getByTestId("replay").getAttribute("data-at")).toBe(String(at));
  await eventually(() => page.getByTestId("file-text").textContent()).toBe(text);
});

test("a real sandbox tells what it uses with its heartbeat, and not what its machine does", async ({ product }) => {
  const { events } = await theRun(product);
  const beats = events.filter((event) => event.event_type === "agent.heartbeat");
  const used = Number(beats[0]?.event_data["memory_bytes"]);
  // A worker's Node and little else.
  expect(used).toBeGreaterThan(5_000_000);
  expect(used).toBeLessThan(400_000_000);
});

test("a fork from a moment says what it keeps, and has the files of then", async ({ page, product }) => {
  const { id, events, client } = await theRun(product);
  const second = events.filter((event) => event.event_type === "workspace.checkpoint")[1];
  await openReplay(page, product, id, `?at=${second?.sandbox_seq}`);
  await page.getByRole("button", { name: "Fork from here" }).click();
  const dialog = page.getByRole("dialog", { name: "Fork from here" });
  await dialog.getByText("2 files, exactly as they were").waitFor();
  await dialog.getByText("Memory: native").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await dialog.getByRole("textbox").fill("Go another way");
  await dialog.getByRole("button", { name: "Fork" }).click();
  await page.waitForURL((url) => /^\/sandboxes\/drover-[^/]+$/.test(url.pathname) && !url.pathname.endsWith(id));
  const fork = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  await client.waitFor(fork, "agent.resumed", { timeoutMs: 60_000 });
  await client.waitFor(fork, "workspace.checkpoint", { timeoutMs: 60_000 });
  // What it began with: by now it may have gone on.
  const { events: own } = await client.listSandboxEvents({ params: { sandbox_id: fork }, query: { order: "asc" } });
  const first = own.find((event) => event.event_type === "workspace.checkpoint")?.seq ?? 0;
  const text = async (path: string) =>
    (await client.readFile({ params: { sandbox_id: fork }, query: { path, at_seq: first } })).text();
  expect(await text("src/app.ts")).toBe("export const one = 1;\n");
  expect(await text("notes/a b.txt")).toBe("no newline at the end");
});

test("the film plays at the speed that was chosen and stops at its end; the terminal shows what was printed by then", async ({
  page,
  product,
}) => {
  const { id, events } = await theRun(product);
  const last = events.length;
  await openReplay(page, product, id, "?at=1&pane=terminal");
  const replay = page.getByTestId("replay");
  await page.getByText("The agent had run no command at this moment.").waitFor();
  // At its own pace, and stopped in between.
  await page.keyboard.press("Space");
  await eventually(() => replay.getAttribute("data-playing")).toBe("true");
  await eventually(async () => Number(await replay.getAttribute("data-at"))).toBeGreaterThan(1);
  // Sixty times as fast to the end, where it stands still.
  for (let step = 0; step < 3; step += 1) await page.keyboard.press(".");
  await eventually(() => new URL(page.url()).searchParams.get("speed")).toMatch(/60/);
  await eventually(async () => Number(await replay.getAttribute("data-at"))).toBeGreaterThanOrEqual(last);
  await eventually(() => replay.getAttribute("data-playing")).toBe("false");
  const terminal = page.getByTestId("moment-terminal");
  await terminal.getByText("printed by the command", { exact: true }).waitFor();
  await terminal.getByText(/· exit 3$/).waitFor();
  // Back to before the command that failed: its output is not there yet.
  const failed = events.find(({ event_data: data }) => JSON.stringify(data).includes("seq 1 200"))?.sandbox_seq ?? 0;
  await page.getByRole("slider", { name: "Event in the run" }).fill(String(failed - 1));
  await eventually(() => terminal.getByText(/· exit 3$/).count()).toBe(0);
  await terminal.getByText("printed by the command", { exact: true }).waitFor();
  // Steps: to the next error, and to the changes before it.
  const at = async () => Number(await replay.getAttribute("data-at"));
  await page.getByTestId("where").click();
  await page.keyboard.press("x");
  await terminal.getByText(/· exit 3$/).waitFor();
  const error = await at();
  expect(error).toBeGreaterThanOrEqual(failed);
  await page.keyboard.press("Shift+C");
  await eventually(at).toBeLessThan(error);
  expect(events[(await at()) - 1]?.event_type).toMatch(/^(?:agent.file_edited|workspace.checkpoint)$/);
});

test("a link shows one run to who has no login, keeps its secret out of storage, and ends when it is revoked", async ({
  page,
  open,
  product,
  complaints,
}) => {
  complaints.allow(/status of 40[134]/, /WebSocket connection/);
  const { id } = await playRun(product, [{ text: "For everybody." }, { edit: { path: "a.txt", content: "shared\n" } }]);
  await page.goto(`${product.url}/sandboxes/${id}`);
  await page.getByRole("button", { name: "Share" }).click();
  await page.getByRole("button", { name: "Make a link" }).click();
  const link = (await page.getByTestId("share-link").textContent()) ?? "";
  const secret = new URL(link).hash.slice(1);
  const guest = await open({ isLoggedIn: false });
  const asked: string[] = [];
  guest.on("request", (request) => asked.push(request.url()));
  await guest.goto(link);
  await guest.getByText("For everybody.").waitFor();
  await guest.getByText("Read only").waitFor();
  await guest.locator("[data-testid=file-view][data-path='a.txt']").waitFor();
  expect(await guest.getByRole("button", { name: /Fork|Terminate|Share/ }).count()).toBe(0);
  expect(await findViolations(guest)).toEqual([]);
  const stored = await guest.evaluate(() =>
    JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie]),
  );
  expect(stored).not.toContain(secret);
  expect(asked.join("\n")).not.toContain(secret);
  // The same page, elsewhere: the link opens no other door.
  await guest.getByRole("slider").fill("2");
  await eventually(() => new URL(guest.url()).searchParams.get("at")).toBe("2");
  expect(new URL(guest.url()).hash.slice(1)).toBe(secret);
  await page.getByRole("button", { name: /^Revoke/ }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("The link is revoked").waitFor();
  await guest.reload();
  await guest.getByText("This link shows nothing any more").waitFor();
});

test("two runs stand turn beside turn, and the page says where they part and which files differ", async ({
  page,
  product,
}) => {
  const same = [{ edit: { path: "a.txt", content: "one\n" } }];
  const one = await playRun(product, [...same, { command: { argv: ["true"] } }], "First way");
  const other = await playRun(
    product,
    [...same, { command: { argv: ["false"] } }, { edit: { path: "b.txt", content: "two\n" } }],
    "Second way",
  );
  await page.goto(`${product.url}/compare?a=${one.id}&b=${other.id}`);
  const outcome = page.getByTestId("outcome");
  await outcome.getByText(/They part at/).waitFor();
  await outcome.getByText("b.txt").waitFor();
  expect(await outcome.textContent()).toContain("1 different file");
  await page.getByRole("table", { name: "Turns of both runs" }).getByText("edit a.txt").first().waitFor();
  expect(await findViolations(page)).toEqual([]);
  // The same turns by the clock, then file by file, and one file as both left it.
  await page.getByRole("radio", { name: "By time" }).check();
  await page
    .getByText(/^at \d/)
    .first()
    .waitFor();
  await page.getByRole("radio", { name: "By file" }).check();
  const files = page.getByRole("table", { name: "Files of both runs" });
  await files.locator("[data-file='a.txt']").getByText("the same in the end").waitFor();
  await files.locator("[data-file='b.txt']").getByText("not touched").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await files.getByRole("button", { name: "A to B" }).click();
  const versions = page.getByRole("dialog", { name: "b.txt" });
  await versions.getByText("A has no such file").waitFor();
  await versions.getByRole("row", { name: "added two" }).waitFor();
  expect(new URL(page.url()).searchParams.get("file")).toBe("b.txt");
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Swap the runs" }).click();
  await eventually(() => new URL(page.url()).searchParams.get("a")).toBe(other.id);
});

test("who races is named although nobody can say which agents are here", async ({ page, product, complaints }) => {
  complaints.allow(/net::ERR_FAILED|Failed to load resource/);
  await page.route("**/api/v1/agents/packages", (route) => route.abort());
  await page.goto(`${product.url}/compare?race=true`);
  const dialog = page.getByRole("dialog", { name: "Race two agents" });
  expect(await dialog.getByRole("combobox", { name: "Agent A" }).inputValue()).toBe("claude");
  expect(await dialog.getByRole("combobox", { name: "Agent B" }).inputValue()).toBe("codex");
});

test("two agents race on one task before one's eyes; one is chosen, and the other ends after a question", async ({
  page,
  product,
  complaints,
}) => {
  // An agent that is not here.
  complaints.allow(/status of 422/);
  await page.goto(`${product.url}/compare`);
  await page.getByRole("button", { name: "Race two agents" }).click();
  const dialog = page.getByRole("dialog", { name: "Race two agents" });
  await dialog.getByRole("textbox", { name: "What should be done?" }).fill("Who is first?");
  // One of the two cannot start: then neither does.
  await dialog.getByRole("combobox", { name: "Agent A" }).selectOption("scripted");
  await dialog.getByRole("combobox", { name: "Agent B" }).selectOption("codex");
  await dialog.getByRole("button", { name: "Start both" }).click();
  await dialog.getByText("The race was not started").waitFor();
  await dialog.getByRole("combobox", { name: "Agent B" }).selectOption("scripted");
  await dialog.getByText("Both are the same").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Start both" }).click();
  const [a, b] = [page.getByRole("region", { name: "Run A" }), page.getByRole("region", { name: "Run B" })];
  // Both are watched while they work.
  await a.getByTestId("last-move").waitFor();
  await b.getByTestId("last-move").waitFor();
  await page.getByRole("table", { name: "Turns of both runs" }).getByRole("row").first().waitFor();
  const pair = new URL(page.url()).searchParams;
  expect(pair.has("race")).toBe(false);
  await a.getByRole("button", { name: "Choose A" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel" }).click();
  await b.locator("[data-state=running]").waitFor();
  await a.getByRole("button", { name: "Choose A" }).click();
  await page.getByRole("alertdialog", { name: "Choose A, and end B?" }).getByRole("button", { name: "End B" }).click();
  await b.locator("[data-state=terminated]").waitFor();
  await page.getByText("A was chosen.", { exact: false }).first().waitFor();
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const read = (name: string) => client.getSandbox({ params: { sandbox_id: pair.get(name) ?? "" } });
  const [one, other] = [await read("a"), await read("b")];
  expect({ one: one.state === "terminated", other: other.state }).toEqual({ one: false, other: "terminated" });
  expect(one.labels["race"]).toBe(other.labels["race"]);
  expect(one.prompt).toBe(other.prompt);
  // The one that was started before the other could not be is no longer there to cost anything.
  const { items } = await client.listSandboxes({ query: { q: "Who is first?" } });
  expect(items.filter(({ state }) => state !== "terminated").map(({ id }) => id)).toEqual([one.id]);
  await client.terminateSandbox({ params: { sandbox_id: one.id } });
});

test("an archive is brought in by the page, where it is a run to be read and replayed; half a file is refused", async ({
  page,
  product,
}) => {
  const { id, events } = await theRun(product);
  await page.goto(`${product.url}/sandboxes/${id}?tab=details`);
  const coming = page.waitForEvent("download");
  await page.getByRole("link", { name: "Download archive" }).click();
  const path = await (await coming).path();
  await page.goto(`${product.url}/sandboxes`);
  await page.getByRole("button", { name: "Bring in an archive" }).waitFor();
  const field = page.getByTestId("archive-file");
  const bytes = await readFile(path);
  await field.setInputFiles({ name: "half.tar", mimeType: "application/x-tar", buffer: bytes.subarray(0, 20_000) });
  await page.getByText(/Not brought in: This file is no archive of Drover/).waitFor();
  await field.setInputFiles(path);
  await page.waitForURL((url) => /^\/sandboxes\/drover-[^/]+$/.test(url.pathname) && !url.pathname.endsWith(id));
  await page.getByText("The run is here, with everything it brought along").waitFor();
  await page.getByRole("feed").getByText("I am done.").waitFor();
  await eventually(async () => Number(await page.getByTestId("feed").getAttribute("data-head"))).toBeGreaterThanOrEqual(
    events.length,
  );
  await page.getByRole("link", { name: "Replay" }).click();
  await page.locator("button[data-path='src/app.ts']").waitFor();
});
