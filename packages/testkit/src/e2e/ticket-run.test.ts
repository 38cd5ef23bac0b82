/** A ticket from its first task to a merged pull request, by itself: five tasks, two of them at once and in each other's way, on the builtin host. */
import { expect, test } from "vitest";
import {
  expectDelivered,
  expectLeastFirst,
  layTicket,
  listMerges,
  type Part,
  type PartName,
  readTicketStatus,
} from "../counting-ticket.ts";
import { readCommitted } from "../git/commit-files.ts";
import { startTestServer } from "../server.ts";
import { listAttempts, listDataOf, loadTask } from "../work.ts";

const FACT_MS = 240_000;

const PUSH =
  "git add -A && git -c user.name=agent -c user.email=agent@example.org commit -q -m work && git push -q origin HEAD";
/** Both sides write the same file, so that they cannot be merged as they are. */
const quarrel = (side: string) => [
  { edit: { path: "SHEEP.md", content: `${side}\n` } },
  { wait_for_message: { seconds: 600 } },
];
const BEFORE_PUSH: Partial<Record<PartName, readonly unknown[]>> = {
  left: quarrel("left"),
  right: quarrel("right"),
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

const MERGE = `git fetch -q origin
for branch in $(git branch -r --no-merged HEAD --format='%(refname:short)'); do git merge -q -m merge "$branch" || true; done
printf 'left\nright\n' > SHEEP.md
${PUSH}`;
const SETTINGS = {
  conflict_resolver: { runtime: "scripted", script: { steps: [{ command: { argv: ["sh", "-c", MERGE] } }] } },
  merge_tests: { argv: ["sh", "-c", "grep left SHEEP.md && grep right SHEEP.md && node left.mjs && node right.mjs"] },
};

test(
  "five tasks run by themselves, their branches are merged in spite of a conflict, and the tests pass on main",
  { timeout: 600_000 },
  async () => {
    await using server = await startTestServer({ config: { heartbeatIntervalSeconds: 5, taskLingerSeconds: 1 } });
    const ticket = await layTicket(server, toConfig, { settings: SETTINGS });
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
    // Their workers would wait for another five minutes.
    const standing = async () => {
      const { body } = await server.call("GET", "/sandboxes?status=completed");
      return body.items.length;
    };
    await expect.poll(standing, { timeout: FACT_MS, interval: 200 }).toBe(0);
    const merges = await listMerges(server, ticket);
    // Those that came later had nothing left to do.
    expect(merges.toReversed().slice(0, 2)).toMatchObject([{ status: "resolved" }, { status: "completed" }]);
    expectLeastFirst(merges);
    await expectDelivered(server, ticket);
    expect(readCommitted(ticket.gitDir, "main", "SHEEP.md")).toBe("left\nright\n");
  },
);
