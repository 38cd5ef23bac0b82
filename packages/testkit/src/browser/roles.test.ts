/** Who may only look is offered nothing that the server would refuse, and asks for nothing that it would. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { ADMIN_TOKEN, eventually, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

const ACTIONS =
  /^(New|Create|Terminate|Pause(?! the figures)|Resume|Allow|Refuse|Approve|Reject|Retry|Cancel|Merge|Install|Remove|Edit|Change|Add key|Revoke|Seen|Move|Run the demo|Bring|Fork|Share|Look into|Switch o)\b/;

test("a viewer walks through every page and meets no action, no checkbox and no refusal", async ({ open, product }) => {
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const worker = await product.startWorker({ prompt: "Only looked at" });
  await worker.post(say("working"), {
    event_type: "agent.permission_requested",
    event_data: { request_id: "p-2", tool: "Bash", input: { command: "make" } },
  });
  await client.createBudget({ body: { scope_type: "global", limit_amount: 7 } });
  const ticket = await client.createTicket({ body: { title: "Only read", force_create: true } });
  const task = await client.createTask({ body: { ticket_id: ticket.id, title: "Only followed" } });
  const { token } = await client.createToken({ body: { name: "looker", role: "viewer" } });

  const page = await open({ isLoggedIn: false });
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(response.url());
  });
  await page.context().request.post(`${product.url}/api/v1/auth/login`, { data: { token } });
  const places: readonly (readonly [string, string])[] = [
    ["/", "wants to use Bash"],
    ["/sandboxes", "Only looked at"],
    ["/sandboxes/new", "Your role may look"],
    ["/tasks", "Only read"],
    ["/tasks?new=true", "Only read"],
    [`/tasks/tickets/${ticket.id}`, "Only followed"],
    [`/tasks/${task.id}`, "Attempts"],
    ["/monitor", "agents at work"],
    ["/monitor?tab=anomalies", "Nobody stands out"],
    ["/monitor?tab=alerts", "Fired alerts"],
    ["/monitor?tab=stuck", "Diagnoses"],
    [`/sandboxes/${worker.id}/replay`, "working"],
    ["/agents", "Built in"],
    ["/costs", "of $7.00"],
    ["/settings?section=projects", "unless another is named"],
    ["/settings?section=access", "only an admin may look at this"],
    ["/settings?section=models", "only an admin may look at this"],
  ];
  for (const [path, shows] of places) {
    await page.goto(`${product.url}${path}`);
    await page.getByText(shows).first().waitFor();
    const offered = await page.getByRole("button", { name: ACTIONS }).allInnerTexts();
    expect([path, offered]).toEqual([path, []]);
    expect([path, await page.getByRole("checkbox").count()]).toEqual([path, 0]);
  }
  await page.goto(product.url);
  await page.getByText("wants to use Bash").waitFor();
  await page.keyboard.press("n");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Find anything" }).fill("new");
  await eventually(() => page.getByRole("option", { name: /^New / }).count()).toBe(0);
  expect(new URL(page.url()).pathname).toBe("/");
  expect(refused).toEqual([]);
});
