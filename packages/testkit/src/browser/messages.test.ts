/** Steering: a message is shown at once, exactly once, and says how far it came. */
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { eventually, openRun, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

test("a message is shown at once and goes from queued to delivered to seen", async ({ page, product, worker }) => {
  await worker.post(say("working"));
  await openRun(page, product, worker);
  await page.getByText("working").waitFor();
  await page.keyboard.press("m");
  await page.keyboard.type("Use the cache");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("and keep it warm");
  await page.keyboard.press("Enter");
  await page.getByText("Use the cache").waitFor();
  expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("");
  const row = page.locator("article[data-kind=person]");
  await row.locator("[data-delivery=queued]").waitFor();
  const [message] = await worker.receive();
  expect(message).toMatchObject({ content: "Use the cache\nand keep it warm", message_type: "user_message" });
  const id = message?.id ?? "";
  await worker.ack(id, "delivered");
  await row.locator("[data-delivery=delivered]").waitFor();
  await worker.post({
    event_type: "agent.message_injected",
    event_data: { message_id: id, content: message?.content, message_type: "user_message", turn: 2 },
  });
  await worker.ack(id, "seen", 2);
  await row.locator("[data-delivery=seen]").waitFor();
  expect(await row.count()).toBe(1);
  expect(await page.locator("[data-outgoing]").count()).toBe(0);
});

test("a message is on the page before the server has answered, and never twice", async ({ page, product, worker }) => {
  await worker.post(say("working"));
  await openRun(page, product, worker);
  await page.getByText("working").waitFor();
  const answer = Promise.withResolvers<void>();
  await page.route("**/messages", async (route) => {
    const response = await route.fetch();
    await answer.promise;
    await route.fulfill({ response });
  });
  await page.getByRole("textbox", { name: "Message" }).fill("faster than the answer");
  await page.keyboard.press("Enter");
  // The log's echo comes first: the message on its way hides behind it.
  await page.locator("article[data-kind=person]").getByText("faster than the answer").waitFor();
  await eventually(() => page.getByText("faster than the answer").count()).toBe(1);
  answer.resolve();
  await eventually(() => page.locator("[data-outgoing]").count()).toBe(0);
  expect(await page.getByText("faster than the answer").count()).toBe(1);
});

test("a message that could not be sent keeps its text, and a retry sends it once", async ({
  page,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(/net::ERR_FAILED/);
  await worker.post(say("working"));
  await openRun(page, product, worker);
  await page.route("**/messages", (route) => route.abort());
  await page.getByRole("textbox", { name: "Message" }).fill("do not lose me");
  await page.keyboard.press("Enter");
  const outgoing = page.locator("[data-outgoing=failed]");
  await outgoing.getByText("not sent").waitFor();
  await outgoing.getByText("do not lose me").waitFor();
  await page.unroute("**/messages");
  await outgoing.getByRole("button", { name: "Retry" }).click();
  await page.locator("article[data-kind=person]").getByText("do not lose me").waitFor();
  await eventually(() => page.locator("[data-outgoing]").count()).toBe(0);
  expect((await worker.receive()).map((message) => message.content)).toEqual(["do not lose me"]);
});

test("an answer that is lost on the way does not make two messages of one", async ({
  page,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(/net::ERR_FAILED/);
  await worker.post(say("working"));
  await openRun(page, product, worker);
  let isLost = false;
  await page.route("**/messages", async (route) => {
    if (isLost) return route.continue();
    isLost = true;
    await route.fetch();
    return route.abort();
  });
  await page.getByRole("textbox", { name: "Message" }).fill("sent, and the answer lost");
  await page.keyboard.press("Enter");
  await page.locator("article[data-kind=person]").waitFor();
  await eventually(() => page.locator("[data-outgoing]").count()).toBe(0);
  expect(await page.locator("article[data-kind=person]").count()).toBe(1);
  expect(await worker.receive()).toHaveLength(1);
});

test("a long message is shown whole, although its event quotes only the beginning", async ({
  page,
  product,
  worker,
}) => {
  await worker.post(say("working"));
  await openRun(page, product, worker);
  const text = `${"a long story ".repeat(30)}with an end`;
  await page.getByRole("textbox", { name: "Message" }).fill(text);
  await page.keyboard.press("Enter");
  await page.locator("article[data-kind=person]").getByText("with an end").waitFor();
});

test("an interrupt asks once and reaches the worker as one", async ({ page, product, worker }) => {
  await worker.post(say("working"));
  await openRun(page, product, worker);
  await page.getByText("working").waitFor();
  // From any of its views, by key and by button.
  await page.keyboard.press("7");
  await page.getByRole("region", { name: "Details" }).waitFor();
  await page.getByRole("button", { name: "Interrupt", exact: true }).click();
  const isWriting = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label") === "Interrupt");
  await eventually(isWriting).toBe(true);
  await page.keyboard.press("Escape");
  await page.keyboard.press("7");
  await page.getByRole("region", { name: "Details" }).waitFor();
  await page.keyboard.press("i");
  await eventually(isWriting).toBe(true);
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Really interrupt" }).click();
  await page.locator("article[data-kind=person]").getByText("You interrupted").waitFor();
  const [message] = await worker.receive();
  expect(message).toMatchObject({ message_type: "interrupt" });
  await worker.ack(message?.id ?? "", "seen", 1);
  await page
    .locator("article[data-kind=person]")
    .getByText(/^stopped/)
    .waitFor();
});

test("a draft is kept per sandbox, over a reload", async ({ page, product, worker }) => {
  const other = await product.startWorker({ prompt: "Another one" });
  await openRun(page, product, worker);
  await page.getByRole("textbox", { name: "Message" }).fill("half a thought");
  await openRun(page, product, other);
  await page.getByRole("textbox", { name: "Message" }).waitFor();
  expect(await page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("");
  await openRun(page, product, worker);
  await eventually(() => page.getByRole("textbox", { name: "Message" }).inputValue()).toBe("half a thought");
});

test("a terminated sandbox takes no message and says why", async ({ page, product, worker }) => {
  await worker.post(say("working"));
  await openRun(page, product, worker);
  await page.getByRole("button", { name: "Terminate" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Terminate" }).click();
  await page.locator("[data-state=terminated]").waitFor();
  await eventually(() => page.getByTestId("composer-closed").textContent()).toContain("terminated");
  expect(await page.getByRole("textbox", { name: "Message" }).count()).toBe(0);
  const outcome = page.getByTestId("run-outcome");
  await outcome.getByText("no file").waitFor();
  await outcome.getByRole("button", { name: "Fork from here" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await outcome.getByRole("link", { name: "Replay" }).click();
  await page.getByTestId("replay").waitFor();
});
