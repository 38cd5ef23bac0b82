/** Money that is used up: the real agent stands still in its sandbox until a person raises the budget, and then goes on.
 *  Broken on purpose, seen here: a refused call told as the agent's failure, which ends the sandbox. */
import { beforeAll, expect, test } from "vitest";
import { ensureAgent } from "../ensure-agent.ts";
import { startClaude } from "./claude-sandbox.ts";

const FACT_MS = 120_000;

beforeAll(() => ensureAgent("claude"));

test("a run whose budget is used up is paused; with a higher one it goes on, in the same session", async () => {
  await using run = await startClaude(
    [
      // Dearer than all there is, and a part of a dollar was to be spent.
      {
        tools: [{ name: "Bash", input: { command: "echo one > one.txt", description: "Work" } }],
        usage: { input: 1_000_000 },
      },
      { text: "I went on." },
    ],
    { prompt: "Work until you are done.", budget_usd: 1 },
  );
  const path = `/sandboxes/${run.id}`;
  const readSandbox = async () => (await run.server.call("GET", path)).body;
  await expect.poll(readSandbox, { timeout: FACT_MS }).toMatchObject({ state: "paused", state_cause: "budget" });
  expect(await run.of("budget.exceeded")).toMatchObject([{ scope_type: "sandbox", limit_usd: 1 }]);
  expect(run.model.requests).toHaveLength(1);

  const { body: budgets } = await run.server.call("GET", `/budgets?scope_type=sandbox&scope_id=${run.id}`);
  await run.server.call("PATCH", `/budgets/${budgets.items[0].id}`, { body: { limit_amount: 100 } });
  expect(await run.server.call("POST", `${path}/resume`)).toMatchObject({ status: 200, body: { state: "running" } });
  await run.untilCount("agent.completed");
  expect(await run.of("agent.failed")).toEqual([]);
  expect(await run.of("agent.error")).toMatchObject([{ error_type: "budget_exceeded" }]);
  expect((await run.of("agent.message")).at(-1)).toMatchObject({ content: "I went on." });
  const last = JSON.stringify(run.model.requests.at(-1)?.body);
  for (const words of ["Work until you are done.", "one.txt"]) expect(last).toContain(words);
  expect((await run.shell("cat /workspace/one.txt")).trim()).toBe("one");
});
