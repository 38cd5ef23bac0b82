/** A ticket of five tasks, two of them at once, done by the real Claude Agent SDK in sandboxes of this machine, through the gateway, on a model that
 *  is played: from the first task to the merged pull request, by itself. */
import type { Task } from "@drover/contract";
import { beforeAll, expect, test } from "vitest";
import { expectDelivered, layTicket, type Part, PARTS, readTicketStatus } from "../counting-ticket.ts";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import type { ModelRequest } from "../model/read-request.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn } from "../model/turn.ts";
import { startTestServer, type TestServer } from "../server.ts";
import { listAttempts, listDataOf, loadTask } from "../work.ts";

const FACT_MS = 180_000;

const CONFIG = { runtime: "claude", model: "claude-sonnet-4-5", resources: { memory_gb: 1.5, cpu: 1 } };

const shell = (command: string, description: string) => ({
  tools: [{ name: "Bash", input: { command, description } }],
});

/** What another try at the task does again does no harm. */
const COMMIT =
  "git add -A && (git diff --cached --quiet || git -c user.name=agent -c user.email=agent@example.org commit -q -m work)";

const toTurns = ({ name, path, content }: Part): readonly ModelTurn[] => [
  { text: "I write it.", tools: [{ name: "Write", input: { file_path: `/workspace/${path}`, content } }] },
  ...(name === "check" ? [shell("node test.mjs && echo all passed", "Run the tests")] : []),
  shell(COMMIT, "Commit it"),
  shell("git push -q origin HEAD && echo pushed", "Push it"),
];

/** The task that a request is about: its title heads the prompt. */
const findPart = ({ texts }: ModelRequest): Part | undefined =>
  PARTS.find(({ name }) => texts.some(({ role, text }) => role === "user" && text.split("\n").includes(`# ${name}`)));

/** Answers by what stands in the request, so that retries and the order of calls change nothing. No side is answered before both have asked. */
function createPlay(): (request: ModelRequest) => Promise<ModelTurn> {
  const sides = { left: Promise.withResolvers<void>(), right: Promise.withResolvers<void>() };
  return async (request) => {
    const part = findPart(request);
    if (part === undefined || !request.toolNames.includes("Bash")) return { text: "A title" };
    if (part.name === "left" || part.name === "right") {
      sides[part.name].resolve();
      await Promise.all([sides.left.promise, sides.right.promise]);
    }
    return toTurns(part)[request.toolResults.length] ?? { text: `${part.name} is done.` };
  };
}

/** The try that did it; there may have been others. */
async function loadDone(server: TestServer, { id }: Task) {
  const done = (await listAttempts(server, id)).find(({ outcome }) => outcome === "completed");
  return { startedAt: Date.parse(done?.started_at ?? ""), endedAt: Date.parse(done?.ended_at ?? "") };
}

beforeAll(() => ensureAgent("claude"));

test(
  "Claude does five tasks by itself, two of them at once; they are merged, and the tests pass on main",
  { timeout: 600_000 },
  async () => {
    await using model = await startScriptedModel({ script: createPlay() });
    await using server = await startTestServer({
      config: { agentsDir: AGENTS_CACHE, anthropicBaseUrl: model.url, heartbeatIntervalSeconds: 5 },
    });
    const ticket = await layTicket(server, () => CONFIG);
    for (const { name } of PARTS) {
      const look = async () => {
        const { status, error_message } = await loadTask(server, ticket.tasks[name].id);
        return [name, status, error_message];
      };
      await expect.poll(look, { timeout: FACT_MS, interval: 200 }).toEqual([name, "completed", null]);
    }
    const look = () => readTicketStatus(server, ticket);
    await expect.poll(look, { timeout: FACT_MS, interval: 200 }).toBe("done");
    await expectDelivered(server, ticket);

    for (const part of PARTS) {
      const task = ticket.tasks[part.name];
      const { startedAt } = await loadDone(server, task);
      for (const before of part.after)
        expect(startedAt).toBeGreaterThanOrEqual((await loadDone(server, ticket.tasks[before])).endedAt);
      expect(await listDataOf(server, task, "agent.started")).toContainEqual(
        expect.objectContaining({ sdk: "claude" }),
      );
      // One for each answer; the gateway may be a moment behind the worker.
      const usages = async () => (await listDataOf(server, task, "agent.usage")).length;
      await expect.poll(usages, { timeout: FACT_MS, interval: 200 }).toBeGreaterThan(toTurns(part).length);
    }
  },
);
