/** The feed of a run: history and live part as one, whatever happens to the line. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { startScriptedModel } from "../model/scripted-model.ts";
import { ADMIN_TOKEN, eventually, feedOf, LINE_IS_CUT, openRun, saidIn, seqsOf, TALL, test } from "./browser.ts";
import { say } from "./fake-worker.ts";

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => say(`number ${from + n}`));
const texts = (to: number) => Array.from({ length: to }, (_, n) => `number ${n + 1}`);

test("history and live events are one feed, each event once and in order", async ({ open, product, worker }) => {
  const page = await open(TALL);
  await worker.post(...numbered(1, 60));
  await openRun(page, product, worker);
  await eventually(() => saidIn(page)).toEqual(texts(60));
  for (let at = 61; at <= 120; at += 10) await worker.post(...numbered(at, at + 9));
  await eventually(() => saidIn(page)).toEqual(texts(120));
  const seqs = await seqsOf(page);
  expect(seqs).toEqual([...new Set(seqs)].toSorted((a, b) => a - b));
});

test("events that arrive while the page opens appear once", async ({ open, product, worker }) => {
  const page = await open(TALL);
  await worker.post(...numbered(1, 40));
  // Between the read of history and the subscription: the page's own requests are the clock.
  let isSent = false;
  await page.route("**/sandboxes/*/events?*", async (route) => {
    const response = await route.fetch();
    if (!isSent) {
      isSent = true;
      await worker.post(...numbered(41, 80));
    }
    await route.fulfill({ response });
  });
  await openRun(page, product, worker);
  await eventually(() => saidIn(page)).toEqual(texts(80));
});

test("an event that a worker sends three times is one row", async ({ open, product, worker }) => {
  const page = await open(TALL);
  await openRun(page, product, worker);
  const event = { ...say("only once"), client_event_id: "the-same" };
  for (let time = 0; time < 3; time += 1) await worker.post(event);
  await worker.post(say("after it"));
  await eventually(() => saidIn(page)).toEqual(["only once", "after it"]);
});

test("a stream that is cut five times leaves no gap and no duplicate", async ({
  open,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(LINE_IS_CUT);
  const page = await open(TALL);
  await openRun(page, product, worker);
  await worker.post(...numbered(1, 20));
  await eventually(() => saidIn(page)).toEqual(texts(20));
  for (let cut = 1; cut <= 5; cut += 1) {
    await eventually(() => product.relay.cutStreams()).toBeGreaterThan(0);
    await worker.post(...numbered(cut * 20 + 1, cut * 20 + 20));
    await eventually(() => saidIn(page)).toEqual(texts(cut * 20 + 20));
  }
  await page.getByTestId("connection").click();
  const head = await page.getByTestId("feed").getAttribute("data-head");
  await eventually(() => page.getByTestId("proof").textContent()).toContain(`head ${head} = server ${head}`);
  expect(await page.getByTestId("proof").textContent()).toMatch(/[5-9] reconnects/);
});

test("a server that is killed and restarted in the middle of a run costs no event", async ({
  open,
  product,
  worker,
  complaints,
}) => {
  complaints.allow(LINE_IS_CUT);
  const page = await open(TALL);
  await worker.post(...numbered(1, 30));
  await openRun(page, product, worker);
  await eventually(() => saidIn(page)).toEqual(texts(30));
  await product.restart(async () => {
    expect(await worker.tryPost(...numbered(31, 31))).toBe(false);
    await eventually(() => page.getByTestId("connection").textContent()).toContain("Reconnecting");
  });
  await worker.post(...numbered(31, 60));
  await eventually(() => saidIn(page)).toEqual(texts(60));
  await eventually(() => page.getByTestId("connection").textContent()).toBe("Live");
});

test("a call and its result are one row, which changes where it stands", async ({ page, product, worker }) => {
  await openRun(page, product, worker);
  await worker.post(
    {
      event_type: "agent.tool_use",
      event_data: { tool: "Bash", tool_use_id: "t", input: { command: "npm test" }, turn: 1 },
    },
    say("meanwhile"),
  );
  const command = feedOf(page).locator("article[data-kind=command]");
  await command.getByText("running").waitFor();
  await worker.post({
    event_type: "agent.tool_completed",
    event_data: { tool: "Bash", tool_use_id: "t", tool_response: { stdout: "1 failed", exit_code: 1 } },
  });
  await command.getByText("exit 1").waitFor();
  await command.getByText("1 failed").waitFor();
  expect(await command.count()).toBe(1);
});

test("state, turn and number of events follow the log", async ({ page, product, worker }) => {
  await openRun(page, product, worker);
  await page.locator("[data-state=creating]").waitFor();
  await worker.post(say("begin", 3));
  await page.locator("[data-state=running]").waitFor();
  await worker.post({ event_type: "agent.completed", event_data: { success: true, turns: 4, turn: 4 } });
  await page.locator("[data-state=completed]").waitFor();
  await eventually(() => page.locator("dl").first().textContent()).toContain("turn4");
});

test("the header says how full the model's window is, as soon as a model was called", async ({
  page,
  product,
  worker,
}) => {
  await using model = await startScriptedModel({ isTurn: () => true });
  const client = createClient({ baseUrl: product.url, token: ADMIN_TOKEN });
  const params = { protocol: "anthropic" } as const;
  await client.putUpstream({ params, body: { base_url: model.url, api_key: "sk-of-nobody" } });
  await openRun(page, product, worker);
  const figures = page.locator("dl").first();
  await eventually(() => figures.textContent()).toContain("turn0");
  const answer = await fetch(`${product.url}/api/v1/gateway/anthropic/v1/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${worker.created.worker_token}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "claude-sonnet-4-5", stream: true, messages: [{ role: "user", content: "go" }] }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("message_stop")]);
  await figures.getByText(/^[\d.]+K? of 200K$/).waitFor();
  await client.deleteUpstream({ params });
});

test("a link to an event opens there, and filters live in the address", async ({ page, product, worker }) => {
  await worker.post(...numbered(1, 900), { event_type: "agent.thinking", event_data: { content: "a thought" } });
  await openRun(page, product, worker, "?e=40");
  const row = page.locator('article[data-seq="40"]');
  await row.waitFor();
  await eventually(() =>
    row.evaluate(
      (element) => element.getBoundingClientRect().top > 0 && element.getBoundingClientRect().bottom < innerHeight,
    ),
  ).toBe(true);
  await page.getByRole("button", { name: /^thinking/ }).click();
  await eventually(() => page.url()).toContain("kinds=thinking");
  await eventually(() => page.getByTestId("feed").getAttribute("data-rows")).toBe("1");
  await page.reload();
  await eventually(() => page.getByTestId("feed").getAttribute("data-rows")).toBe("1");
  await page.getByRole("button", { name: "all" }).click();
  await page.getByRole("searchbox").fill("number 77");
  await eventually(() => page.getByTestId("feed").getAttribute("data-rows")).toBe("11");
});
