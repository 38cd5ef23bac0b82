/** The wall: what waits for a person stands first and is answered there; and what models cost has limits one can see. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, LINE_IS_CUT, test } from "./browser.ts";
import { say } from "./fake-worker.ts";
import { plantQuestion } from "./findings.ts";

test("a request of an agent appears in the queue without a reload, and is answered from there", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(say("working"));
  await page.goto(product.url);
  await page.getByRole("list", { name: "Open sandboxes" }).getByText("Fake work").waitFor();
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
  expect(await page.getByRole("region", { name: "Needs you" }).count()).toBe(0);
  await worker.post({
    event_type: "agent.permission_requested",
    event_data: { request_id: "w-1", tool: "Bash", input: { command: "make <b>deploy</b>" } },
  });
  const queue = page.getByRole("region", { name: "Needs you" });
  await queue.getByText("wants to use Bash: $ make <b>deploy</b>").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await queue.getByRole("button", { name: "Allow" }).click();
  await eventually(() => queue.count()).toBe(0);
  const [message] = await worker.receive();
  expect(JSON.parse(message?.content ?? "{}")).toMatchObject({ request_id: "w-1", decision: "allow" });
});

test("a sandbox is looked into and written to without leaving the wall, by keyboard", async ({ page, product }) => {
  const workers = [
    await product.startWorker({ prompt: "Peeked at first" }),
    await product.startWorker({ prompt: "Peeked at next" }),
  ];
  for (const [at, worker] of workers.entries()) await worker.post(say(`I am number ${at + 1}.`));
  await page.goto(product.url);
  await page.getByText("I am number 1.").waitFor();
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
  await page.locator("[data-sandbox]", { hasText: "Peeked at first" }).getByRole("link").focus();
  await page.keyboard.press("Space");
  const peek = page.getByTestId("peek");
  await peek.getByText("I am number 1.").waitFor();
  expect(await findViolations(page)).toEqual([]);
  // The newest stands first.
  await page.keyboard.press("ArrowLeft");
  await peek.getByText("I am number 2.").waitFor();
  await workers[1]?.post(say("Something new."));
  await peek.getByText("Something new.").waitFor();
  await page.keyboard.press("m");
  await page.keyboard.type("Seen from the wall");
  await page.keyboard.press("Enter");
  const [message] = (await workers[1]?.receive()) ?? [];
  expect(message?.content).toBe("Seen from the wall");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await peek.waitFor({ state: "detached" });
  expect(new URL(page.url()).pathname).toBe("/");
  await page.getByRole("button", { name: "Peek at Peeked at first" }).focus();
  await page.keyboard.press("Space");
  await peek.getByText("I am number 1.").waitFor();
  await page.keyboard.press("Escape");
  await peek.waitFor({ state: "detached" });
  // One key from the tile to the message.
  await page.locator("[data-sandbox]", { hasText: "Peeked at next" }).getByRole("link").focus();
  await page.keyboard.press("m");
  await peek.getByRole("heading", { name: "Peeked at next" }).waitFor();
  await eventually(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Message");
  // What ends by itself stays in sight for a while, as what it came to.
  await workers[0]?.post({
    event_type: "agent.completed",
    event_data: { success: true, turns: 2, tests_passed: true },
  });
  const ended = page.getByRole("list", { name: "Sandboxes that ended lately" });
  await ended.getByText(/^Agent finished: 2 turns.*tests passed/).waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("the dearest to keep waiting stands first; `r` writes to it from the wall, `o` opens it", async ({
  page,
  product,
}) => {
  const doubted = await product.startWorker({ prompt: "Doubted by the guardian" });
  await doubted.post(say("I wander."));
  await plantQuestion(product.db, doubted.id, 1);
  const asking = await product.startWorker({ prompt: "Stands still and asks" });
  await asking.post({
    event_type: "agent.permission_requested",
    event_data: { request_id: "dear-1", tool: "Bash", input: { command: "make deploy" } },
  });
  await page.goto(product.url);
  const lines = page.getByRole("region", { name: "Needs you" }).getByRole("listitem");
  await eventually(async () => (await lines.allInnerTexts()).map((text) => text.split("\n")[0])).toEqual([
    "Stands still and asks",
    "Doubted by the guardian",
  ]);
  await page.keyboard.press("r");
  const peek = page.getByTestId("peek");
  await peek.getByRole("heading", { name: "Stands still and asks" }).waitFor();
  await eventually(() => page.evaluate(() => document.activeElement?.getAttribute("aria-label"))).toBe("Message");
  await page.keyboard.type("Not on a Friday");
  await page.keyboard.press("Enter");
  const [message] = await asking.receive();
  expect(message?.content).toBe("Not on a Friday");
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await peek.waitFor({ state: "detached" });
  await lines.nth(1).getByRole("link", { name: "Doubted by the guardian" }).focus();
  await page.keyboard.press("o");
  await page.getByRole("region", { name: "Guardian" }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/sandboxes/${doubted.id}`);
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  for (const { created } of [doubted, asking]) await client.terminateSandbox({ params: { sandbox_id: created.id } });
});

test("a tile shows the last nine moves, those of before the page was open, too; a compact one as many as are whole", async ({
  page,
  product,
}) => {
  const worker = await product.startWorker({ prompt: "Has done a lot" });
  await worker.post(...Array.from({ length: 12 }, (_, at) => say(`step ${at + 1}`)));
  await page.goto(product.url);
  const tile = page.locator("[data-sandbox]", { hasText: "Has done a lot" });
  const moves = tile.getByRole("list", { name: "Last moves, newest first" });
  const readShown = () =>
    moves.evaluate((list) => {
      const box = list.getBoundingClientRect();
      return [...list.children].flatMap((line) => {
        const own = line.getBoundingClientRect();
        const isWhole = own.left < box.right && own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
        return isWhole ? [line.querySelector("span")?.textContent ?? ""] : [];
      });
    });
  await eventually(readShown).toEqual(Array.from({ length: 9 }, (_, at) => expect.stringContaining(`step ${12 - at}`)));
  await tile.getByRole("img", { name: /^\d+ events in the last ten minutes$/ }).waitFor();
  await worker.post(say("step 13"));
  await eventually(async () => (await readShown())[0]).toContain("step 13");
  expect(await readShown()).toHaveLength(9);
  await page.getByRole("button", { name: "Compact tiles" }).click();
  await eventually(async () => (await readShown()).length).toBeLessThan(9);
  expect((await readShown()).length).toBeGreaterThan(2);
  expect(await findViolations(page)).toEqual([]);
});

test("what the guardian wants a person to see waits on the wall, and stands beside the run; a quiet worker is called so", async ({
  page,
  product,
}) => {
  const worker = await product.startWorker({ prompt: "Goes in circles" });
  await worker.post(say("I run the tests."), say("I run them again."));
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const { events } = await client.listSandboxEvents({ params: { sandbox_id: worker.created.id }, query: {} });
  const cited = events.find(({ event_data: data }) => data["content"] === "I run them again.");
  await plantQuestion(product.db, worker.id, cited?.seq ?? 0);
  await page.goto(product.url);
  const line = page.getByRole("region", { name: "Needs you" }).getByRole("listitem");
  await line.getByText("the guardian asks you to look: The same test fails again.").waitFor();
  const tile = page.locator("[data-sandbox]", { hasText: "Goes in circles" });
  await tile.locator("[data-health=stuck]").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await line.getByRole("link", { name: "Review" }).click();
  await eventually(() => new URL(page.url()).searchParams.get("e")).toBe(String(cited?.sandbox_seq));
  const part = page.getByRole("region", { name: "Guardian" });
  await part.getByText("asked a person").waitFor();
  await part.getByText("The same test fails again.").waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("a wall that is cut off is dimmed and says as of when, until the line is back", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(LINE_IS_CUT);
  const worker = await product.startWorker({ prompt: "Seen before the cut" });
  await worker.post(say("working"));
  await page.goto(product.url);
  await page.getByRole("list", { name: "Open sandboxes" }).getByText("Seen before the cut").waitFor();
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
  const { target } = product.relay;
  product.relay.target = undefined;
  product.relay.cutAll();
  const note = page.getByTestId("as-of");
  await note.getByText(/^As of \d\d:\d\d:\d\d: the server is not reached/).waitFor();
  expect(await findViolations(page)).toEqual([]);
  product.relay.target = target;
  await note.waitFor({ state: "detached" });
});

test("tiles are selected by keyboard, told and stopped together; Escape lets go of them, and compact ones are smaller", async ({
  page,
  product,
}) => {
  const workers = [
    await product.startWorker({ prompt: "Shorn first" }),
    await product.startWorker({ prompt: "Shorn next" }),
    await product.startWorker({ prompt: "Keeps its wool" }),
  ];
  for (const worker of workers) await worker.post(say("grazing"));
  await page.goto(product.url);
  const tiles = page.locator("[data-sandbox]");
  const tile = (title: string) => tiles.filter({ hasText: title });
  const bar = page.getByRole("toolbar", { name: "Selected sandboxes" });
  await tile("Shorn first").getByRole("link").focus();
  await page.keyboard.press("x");
  await tile("Shorn next").hover();
  await tile("Shorn next").getByRole("checkbox", { name: "Select Shorn next" }).check();
  await bar.getByText("2 selected").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });
  expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(0);

  await tile("Shorn first").getByRole("link").focus();
  await page.keyboard.press("x");
  await tile("Shorn next").getByRole("link").focus();
  await page.keyboard.press("x");
  await bar.getByRole("button", { name: "Message 2" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Message" }).fill("Hold still");
  await page.getByRole("dialog").getByRole("button", { name: "Send" }).click();
  const told = await Promise.all(workers.slice(0, 2).map((worker) => worker.receive()));
  expect(told.map(([message]) => message?.content)).toEqual(["Hold still", "Hold still"]);
  await bar.getByRole("button", { name: "Terminate 2" }).click();
  const question = page.getByRole("alertdialog");
  await question.waitFor();
  await page.keyboard.press("Escape");
  await question.waitFor({ state: "detached" });
  // Escape answered the question and nothing else.
  await bar.getByRole("button", { name: "Terminate 2" }).click();
  await question.getByRole("button", { name: "Terminate" }).click();
  await eventually(() => tile("Shorn").count()).toBe(0);
  await bar.waitFor({ state: "detached" });

  const kept = tile("Keeps its wool");
  const readHeight = async () => (await kept.boundingBox())?.height ?? 0;
  const before = await readHeight();
  await page.goto(`${product.url}/settings`);
  await page.getByRole("group", { name: "Density" }).getByText("Compact").click();
  await page.goto(product.url);
  await kept.waitFor();
  expect(await readHeight()).toBeLessThan(before);
  expect(await findViolations(page)).toEqual([]);
});

test("a budget is set, seen and taken away; a vendor's key goes in and never comes out", async ({ page, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  await page.goto(`${product.url}/costs`);
  await page.getByText("Nothing limits what models may cost.").waitFor();
  await page.getByRole("button", { name: "New budget" }).click();
  await page.getByRole("dialog").getByLabel("Limit, USD").fill("12.5");
  await page.getByRole("button", { name: "Create budget" }).click();
  await page.getByText("of $12.50").waitFor();
  expect((await client.listBudgets({ query: {} })).items).toMatchObject([{ scope_type: "global", limit_amount: 12.5 }]);
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Remove the budget of Everything" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("Nothing limits what models may cost.").waitFor();

  await page.goto(`${product.url}/settings?section=models`);
  await page.getByRole("button", { name: "Add key for Anthropic" }).click();
  await page.getByRole("dialog").getByLabel("Key").fill("sk-a-secret-of-the-browser-tests");
  await page.getByRole("button", { name: "Keep key" }).click();
  await page.locator("[data-vendor=anthropic]").getByText("has a key").waitFor();
  expect(await page.content()).not.toContain("sk-a-secret-of-the-browser-tests");
  expect(await findViolations(page)).toEqual([]);
});
