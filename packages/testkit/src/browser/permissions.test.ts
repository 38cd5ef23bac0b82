/** An agent that asks: a card in the feed, an answer by a person, and how far it came. */
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { eventually, openRun, test } from "./browser.ts";

test("what another agent asks is heard on a run's page, and answered from there", async ({ page, product, worker }) => {
  const other = await product.startWorker({ prompt: "Tidy the cellar" });
  await openRun(page, product, worker);
  const bell = page.getByTestId("attention");
  const told = () => eventually(() => bell.getAttribute("aria-label"));
  await told().toBe("Nothing waits for you");
  await other.post({
    event_type: "agent.permission_requested",
    event_data: { request_id: "p-9", turn: 1, tool: "Bash", input: { command: "rm -rf cellar" } },
  });
  await told().toBe("Waiting for you: 1");
  await bell.click();
  const queue = page.getByRole("dialog", { name: "What waits for you" });
  await queue.getByText("$ rm -rf cellar").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await queue.getByRole("button", { name: "Allow" }).click();
  await told().toBe("Nothing waits for you");
  const [message] = await other.receive();
  expect(JSON.parse(message?.content ?? "{}")).toMatchObject({ request_id: "p-9", decision: "allow" });
});

test("a permission is asked for in the feed, allowed by a person, told to the agent, and shown as one row", async ({
  page,
  product,
  worker,
}) => {
  await openRun(page, product, worker);
  await worker.post({
    event_type: "agent.permission_requested",
    event_data: {
      request_id: "p-1",
      turn: 2,
      tool: "Bash",
      input: { command: "rm -rf build <img src=x onerror=alert(1)>" },
      options: [
        { id: "once", name: "Allow once", kind: "allow_once" },
        { id: "no", name: "No, and say why", kind: "reject_once" },
      ],
    },
  });
  const card = page.getByRole("region", { name: "Permission request" });
  await card.getByText("rm -rf build <img src=x onerror=alert(1)>").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await card.getByRole("textbox", { name: "A word to the agent" }).fill("only this folder");
  await card.getByRole("button", { name: "Allow once" }).click();
  const answered = page.locator("[data-permission=p-1][data-answer=allow]");
  await answered.getByText("by a person, on its way").waitFor();
  const [message] = await worker.receive();
  expect(message?.message_type).toBe("permission_answer");
  expect(JSON.parse(message?.content ?? "{}")).toMatchObject({
    request_id: "p-1",
    decision: "allow",
    option_id: "once",
    note: "only this folder",
  });
  await worker.post({
    event_type: "agent.permission_answered",
    event_data: { request_id: "p-1", turn: 2, decision: "allow", by: "person", note: "only this folder" },
  });
  await eventually(() => answered.textContent()).not.toContain("on its way");
  expect(await page.locator("article[data-kind=permission]").count()).toBe(1);
});

test("a question is answered by a text, and what a policy decided needs nobody", async ({ page, product, worker }) => {
  await openRun(page, product, worker);
  await worker.post(
    { event_type: "agent.permission_requested", event_data: { request_id: "p-2", tool: "Read", input: {} } },
    {
      event_type: "agent.permission_answered",
      event_data: { request_id: "p-2", decision: "deny", by: "policy" },
    },
    {
      event_type: "agent.permission_requested",
      event_data: {
        request_id: "q-1",
        kind: "question",
        tool: "AskUserQuestion",
        input: { questions: [{ question: "Which port?", options: [{ label: "80" }, { label: "8080" }] }] },
      },
    },
  );
  await page.locator("[data-permission=p-2][data-answer=deny]").getByText("by the policy").waitFor();
  const card = page.getByRole("region", { name: "Question of the agent" });
  await card.getByText("Which port?").waitFor();
  await card.getByRole("button", { name: "8080" }).waitFor();
  await card.getByRole("textbox", { name: "Your answer" }).fill("443, with TLS");
  await card.getByRole("button", { name: "Answer", exact: true }).click();
  await page.locator("[data-permission=q-1][data-answer=allow]").getByText("443, with TLS").waitFor();
  const [message] = await worker.receive();
  expect(JSON.parse(message?.content ?? "{}")).toMatchObject({ request_id: "q-1", text: "443, with TLS" });
});

test("a message for the next turn says so to the worker, and shows its receipts", async ({ page, product, worker }) => {
  await worker.post({ event_type: "agent.message", event_data: { content: "working", turn: 1 } });
  await openRun(page, product, worker);
  await page.getByText("working").waitFor();
  await page.getByText("Next turn").click();
  await page.getByRole("textbox", { name: "Message" }).fill("then write the changelog");
  await page.keyboard.press("Enter");
  const row = page.locator("article[data-kind=person]");
  await row.locator("[data-delivery=queued]").waitFor();
  const [message] = await worker.receive();
  expect(message).toMatchObject({ content: "then write the changelog", delivery: "queue" });
  await worker.ack(message?.id ?? "", "delivered");
  await row.locator("[data-delivery=delivered]").waitFor();
  await worker.ack(message?.id ?? "", "seen", 2);
  await row.locator("[data-delivery=seen]").waitFor();
});
