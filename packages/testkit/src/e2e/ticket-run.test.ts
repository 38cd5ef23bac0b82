/** A ticket from its first task to a merged pull request, by itself: five tasks, two of them at once, on the builtin host. */
import { expect, test } from "vitest";
import { expectDelivered, layTicket, type Part, type PartName, readTicketStatus } from "../counting-ticket.ts";
import { startTestServer } from "../server.ts";
import { listAttempts, listDataOf, loadTask } from "../work.ts";

const FACT_MS = 240_000;

const PUSH =
  "git add -A && git -c user.name=agent -c user.email=agent@example.org commit -q -m work && git push -q origin HEAD";
const WAIT = [{ wait_for_message: { seconds: 600 } }];
const BEFORE_PUSH: Partial<Record<PartName, readonly unknown[]>> = {
  left: WAIT,
  right: WAIT,
  check: [{ command: { argv: ["node", "test.mjs"] } }],
};

/** What an agent does: writes a file, and pushes it when the tests say so. */
const toConfig = ({ name, path, content }: Part) => ({
  runtime: "scripted",
  resources: { memory_gb: 0.5 },
  script: {
    steps: [{ edit: { path, content } }, ...(BEFORE_PUSH[name] ?? []), { command: { argv: ["sh", "-c", PUSH] } }],
  },
});

test(
  "five tasks run by themselves, their branches are merged, and the tests pass on main",
  { timeout: 600_000 },
  async () => {
    await using server = await startTestServer({ config: { heartbeatIntervalSeconds: 5 } });
    const ticket = await layTicket(server, toConfig);
    const { left, right } = ticket.tasks;

    // Both are at work before either may end. A word that comes before they wait for it is not the one they wait for.
    const waits = async () => {
      const said = [left, right].map(async (task) => (await listDataOf(server, task, "agent.waiting")).length);
      return Promise.all(said);
    };
    await expect.poll(waits, { timeout: FACT_MS, interval: 200 }).toEqual([1, 1]);
    for (const { id } of [left, right]) {
      const { sandbox_id } = await loadTask(server, id);
      await server.call("POST", `/sandboxes/${sandbox_id}/messages`, { body: { content: "go on" } });
    }
    const look = () => readTicketStatus(server, ticket);
    await expect.poll(look, { timeout: FACT_MS, interval: 200 }).toBe("done");

    for (const { id } of Object.values(ticket.tasks)) {
      expect(await loadTask(server, id)).toMatchObject({ status: "completed", retry_count: 0 });
      expect(await listAttempts(server, id)).toHaveLength(1);
    }
    await expectDelivered(server, ticket);
  },
);
