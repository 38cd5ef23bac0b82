/** Work on the page: tickets move by mouse, by keyboard and by menu where they may; the graph shows who decides; attempts are told apart. */
import { createClient } from "@drover/client";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { findViolations } from "./axe.ts";
import { ADMIN_TOKEN, eventually, test, type Product } from "./browser.ts";

const connect = (product: Product) => createClient({ baseUrl: product.url, token: ADMIN_TOKEN });

const column = (page: Page, status: string) => page.locator(`[data-column="${status}"]`);
const cardIn = (page: Page, status: string, title: string) =>
  column(page, status).locator("[data-ticket]", { hasText: title });

test("a ticket is moved by mouse, by keyboard and by menu, and only where its machine allows it", async ({
  page,
  product,
}) => {
  const client = connect(product);
  const ticket = await client.createTicket({
    body: { title: "Moves about <img src=x onerror=window.hacked=1>", phase_id: "PHASE_BACKLOG", priority: "LOW" },
  });
  const other = await client.createTicket({ body: { title: "Stays", phase_id: "PHASE_BACKLOG", priority: "HIGH" } });
  const read = async () => {
    const { status, priority } = await client.getTicket({ params: { ticket_id: ticket.id } });
    return `${status} ${priority}`;
  };
  const first = ticket.status;
  await page.setViewportSize({ width: 1800, height: 900 });
  await page.goto(`${product.url}/tasks`);
  await cardIn(page, first, "Moves about").waitFor();
  expect(await column(page, first).locator("h3").allTextContents()).toEqual([other.title, ticket.title]);
  expect(await findViolations(page)).toEqual([]);

  // By mouse: the next column takes it, a far one does not.
  await cardIn(page, first, "Moves about").dragTo(column(page, "done"));
  await cardIn(page, first, "Moves about").waitFor();
  await cardIn(page, first, "Moves about").dragTo(column(page, "analyzing"));
  await cardIn(page, "analyzing", "Moves about").waitFor();
  await eventually(read).toBe("analyzing LOW");

  // By keyboard, which stays on the card: forth, and more urgent.
  await cardIn(page, "analyzing", "Moves about").getByRole("link").focus();
  await page.keyboard.press("]");
  await eventually(read).toBe("building LOW");
  const building = cardIn(page, "building", "Moves about");
  await eventually(() => building.getByRole("link").evaluate((link) => link === document.activeElement)).toBe(true);
  await page.keyboard.press("+");
  await eventually(read).toBe("building MEDIUM");
  await building.locator("[data-priority=MEDIUM]").waitFor();

  // By menu.
  await building.getByRole("combobox", { name: /^Move / }).selectOption("priority:CRITICAL");
  await eventually(read).toBe("building CRITICAL");
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);

  // What somebody else does is seen without a reload.
  await client.transitionTicket({ params: { ticket_id: ticket.id }, body: { to_status: "building-done" } });
  await cardIn(page, "building-done", "Moves about").waitFor();
});

test("a ticket is written, its tasks are tied together, and the graph shows the path that decides", async ({
  page,
  product,
}) => {
  const client = connect(product);
  await page.goto(`${product.url}/tasks`);
  await page.getByRole("heading", { name: "Tasks" }).waitFor();
  await page.keyboard.press("c");
  const dialog = page.getByRole("dialog", { name: "New ticket" });
  await dialog.getByLabel("Title").fill("Log in with a passkey");
  await dialog.getByRole("button", { name: "Create ticket" }).click();
  await page.getByRole("heading", { name: "Log in with a passkey" }).waitFor();
  const ticketId = new URL(page.url()).pathname.split("/").at(-1) ?? "";

  const addTask = async (title: string, after: readonly string[]) => {
    await page.getByRole("button", { name: "New task" }).click();
    const form = page.getByRole("dialog", { name: "New task" });
    await form.getByLabel("Title").fill(title);
    for (const name of after) await form.getByRole("checkbox", { name }).check();
    await form.getByRole("button", { name: "Create task" }).click();
    await page.getByRole("list", { name: "Tasks of this ticket" }).getByRole("link", { name: title }).waitFor();
  };
  await addTask("Schema", []);
  await page.getByText("1 task will not start: the project starts no tasks by itself.").waitFor();
  await addTask("Server", ["Schema"]);
  await addTask("Page", ["Schema"]);
  await addTask("Join", ["Server", "Page"]);
  const { items } = await client.listTasks({ query: { ticket_id: ticketId } });
  const idOf = (title: string) => items.find((task) => task.title === title)?.id ?? "";
  await client.updateTask({ params: { task_id: idOf("Server") }, body: { estimated_seconds: 3_600 } });

  const dag = page.getByTestId("dag");
  await eventually(() => dag.locator("[data-node]").count()).toBe(4);
  await dag.locator(`[data-node="${idOf("Server")}"][data-critical=true]`).waitFor();
  await dag.locator(`[data-node="${idOf("Page")}"][data-critical=false]`).waitFor();
  // The same in words, for who does not see the picture.
  await page.getByRole("radio", { name: "In words" }).check();
  const words = page.getByRole("region", { name: "What waits for what, in words" });
  await words
    .locator(`[data-outline="${idOf("Server")}"]`)
    .getByText("critical path")
    .first()
    .waitFor();
  expect(await findViolations(page)).toEqual([]);
  // Both lead to a sheet beside the graph; closed by key, it gives the focus back.
  await words.getByRole("link", { name: "Page" }).press("Enter");
  await page.getByRole("complementary", { name: "About Page" }).waitFor();
  await page.keyboard.press("Escape");
  await eventually(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Page");
  await page.getByRole("radio", { name: "Picture" }).check();
  const join = page.locator(`.react-flow__node[data-id="${idOf("Join")}"]`);
  await join.getByText("waits for Page, Server").waitFor();
  await join.focus();
  await page.keyboard.press("Enter");
  const sheet = page.getByRole("complementary", { name: "About Join" });
  await eventually(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Join");
  await sheet.getByText("Nobody has begun. It waits.").waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
  await eventually(() => join.evaluate((node) => node === document.activeElement)).toBe(true);
  await page.keyboard.press("Enter");
  await sheet.getByRole("button", { name: "Server" }).click();
  await page.getByRole("complementary", { name: "About Server" }).waitFor();
  expect(new URL(page.url()).searchParams.get("node")).toBe(idOf("Server"));
  // The address leads to it again, and the project's graph knows it too.
  await page.goto(`${product.url}/tasks?view=graph&node=${idOf("Page")}`);
  const deep = page.getByRole("complementary", { name: "About Page" });
  await deep.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel task" }).click();
  await deep.getByRole("button", { name: "Retry" }).waitFor();
  await page.goto(`${product.url}/tasks/tickets/${ticketId}`);
  await dag.locator(`[data-node="${idOf("Page")}"][data-status=cancelled]`).waitFor();

  await page.getByRole("list", { name: "Tasks of this ticket" }).getByRole("link", { name: "Join" }).click();
  await page.getByRole("heading", { name: "Join" }).waitFor();
  await page.getByRole("list", { name: "Waits for" }).getByRole("link", { name: "Server" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel task" }).click();
  await page.getByRole("button", { name: "Retry" }).waitFor();
  await page.goto(`${product.url}/tasks?view=list`);
  await page.getByRole("list", { name: "Tasks" }).getByRole("link", { name: "Schema" }).waitFor();
  expect(await findViolations(page)).toEqual([]);
});

test("a task that runs shows its attempt and leads to its sandbox", async ({ page, product, complaints }) => {
  complaints.allow(/status of 409/);
  const client = connect(product);
  const ticket = await client.createTicket({ body: { title: "Runs by itself", force_create: true } });
  // A second try finds the first one's task beside its own.
  const title = `Say hello ${ticket.id}`;
  const task = await client.createTask({
    body: {
      ticket_id: ticket.id,
      title,
      execution_config: {
        force_execute: true,
        provider: "local",
        runtime: "scripted",
        script: { steps: [{ text: "Hello from a task" }, { wait_for_message: { seconds: 600 } }] },
      },
    },
  });
  // An address from before leads to where the page is now, with what it asked for.
  await page.goto(`${product.url}/work?view=tasks&project=${ticket.project_id}`);
  await page.getByRole("list", { name: "Tasks" }).getByRole("link", { name: title }).waitFor();
  expect(page.url()).toBe(`${product.url}/tasks?view=list&project=${ticket.project_id}`);
  await page.goto(`${product.url}/work/tickets/${ticket.id}`);
  await page.getByRole("heading", { name: "Runs by itself" }).waitFor();
  expect(page.url()).toBe(`${product.url}/tasks/tickets/${ticket.id}`);
  await page.goto(`${product.url}/work/tasks/${task.id}`);
  await page.locator("[data-status=running]").waitFor();
  expect(page.url()).toBe(`${product.url}/tasks/${task.id}`);
  const attempt = page.locator('[data-attempt="1"]');
  await attempt.getByText("under way").waitFor();
  await attempt.getByRole("link").click();
  await page.getByRole("feed").getByText("Hello from a task").waitFor();

  // On the board of tasks it stands where it is, with what its agent does; a person may take it out and put it back.
  await page.goto(`${product.url}/tasks`);
  await page.getByRole("radio", { name: "Tasks", exact: true }).check();
  const running = page.locator("[data-column=Running] [data-task]", { hasText: title });
  const atWork = running.locator('a[href^="/sandboxes/"]');
  await eventually(() => atWork.textContent()).not.toBe("its sandbox");
  expect((await atWork.textContent())?.length).toBeGreaterThan(0);
  expect(await findViolations(page)).toEqual([]);
  await running.getByRole("link", { name: title, exact: true }).focus();
  await page.keyboard.press("]");
  await page.getByRole("alertdialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  await running.getByRole("combobox", { name: `Move ${title}` }).selectOption("cancelled");
  // Somebody is at work on it: that is asked about.
  await page.getByRole("alertdialog").getByRole("button", { name: "Cancel task" }).click();
  const failed = page.locator("[data-column=Failed] [data-task]", { hasText: title });
  await failed.waitFor();
  expect(page.url()).toContain("of=tasks");
  // What cannot be taken back any more says so.
  const retries = `**/tasks/${task.id}/retry`;
  await page.route(retries, (route) => route.fulfill({ status: 409, json: { title: "too late" } }));
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText(/^Not moved: /).waitFor();
  await failed.getByRole("link", { name: title, exact: true }).focus();
  const refused = page.waitForResponse(retries);
  await page.keyboard.press("[");
  await refused;
  await page.unroute(retries);
  await failed.getByRole("combobox", { name: `Move ${title}` }).selectOption("pending");
  await failed.waitFor({ state: "detached" });
});

test("a ticket is talked about, tied to another and resolved on its page, and its history tells it", async ({
  page,
  product,
  complaints,
}) => {
  complaints.allow(/status of 403/);
  const client = connect(product);
  const [ticket, other] = [
    await client.createTicket({ body: { title: "Talked about" } }),
    await client.createTicket({ body: { title: "Comes before it" } }),
  ];
  await page.goto(`${product.url}/tasks/tickets/${ticket.id}`);
  const comments = page.getByRole("region", { name: "Comments" });
  await comments.getByText("Nothing was said yet.").waitFor();
  await comments.getByLabel("Say something").fill("begin with **the parser** <img src=x onerror=window.hacked=1>");
  await comments.getByRole("checkbox", { name: "Also tell the agents at work on it" }).check();
  await comments.getByRole("button", { name: "Comment" }).click();
  await comments.locator("[data-comment] strong", { hasText: "the parser" }).waitFor();
  await page.getByText("Nobody was told: no agent is at work on this ticket.").waitFor();
  expect(await page.evaluate(() => "hacked" in window)).toBe(false);
  // What somebody else says is seen without a reload, below what was said before.
  await client.addTicketComment({
    params: { ticket_id: ticket.id },
    body: { comment_text: "which one?", comment_type: "question" },
  });
  await comments.getByText("which one?").waitFor();
  expect(await comments.locator("[data-comment]").allTextContents()).toEqual([
    expect.stringContaining("begin with"),
    expect.stringContaining("which one?"),
  ]);
  // What was said stands, though nobody could be told: it is not there to be sent again.
  const broadcasts = "**/collaboration/broadcast";
  await page.route(broadcasts, (route) => route.fulfill({ status: 403, json: { title: "not today" } }));
  await comments.getByLabel("Say something").fill("said once");
  await comments.getByRole("checkbox", { name: "Also tell the agents at work on it" }).check();
  await comments.getByRole("button", { name: "Comment" }).click();
  await page.getByText(/^Said, but no agent was told: /).waitFor();
  await page.unroute(broadcasts);
  expect(await comments.getByLabel("Say something").inputValue()).toBe("");
  await comments.locator("[data-comment]", { hasText: "said once" }).waitFor();

  const waits = page.getByRole("region", { name: "Waits for tickets" });
  await waits.getByLabel("Let it wait for").selectOption(other.id);
  await waits.getByRole("link", { name: other.title }).waitFor();
  await waits.getByRole("button", { name: `Do not wait for ${other.title}` }).click();
  await waits.locator("[data-blocker]").waitFor({ state: "detached" });

  expect(await findViolations(page)).toEqual([]);
  await page.getByRole("button", { name: "Resolve" }).click();
  const dialog = page.getByRole("dialog", { name: "Resolve this ticket" });
  await dialog.getByLabel("Why it is done").fill("done by hand");
  await dialog.getByRole("button", { name: "Resolve" }).click();
  await dialog.waitFor({ state: "detached" });
  await comments.getByText("done by hand").waitFor();
  await page.getByRole("button", { name: "Resolve" }).waitFor({ state: "detached" });
  const history = page.getByRole("region", { name: "History" });
  await history.getByRole("button", { name: "Show" }).click();
  await history.getByText("testing → done: done by hand").waitFor();
  expect(await history.locator("[data-step]").allTextContents()).toEqual(
    expect.arrayContaining([expect.stringMatching(/^Made/), expect.stringMatching(/^Waits for another ticket/)]),
  );
  expect(await findViolations(page)).toEqual([]);
});
