/** A ticket of five tasks, two of them at once and in each other's way, done by the real Claude Agent SDK in sandboxes of this machine, through
 *  the gateway, on recorded answers: from the first task to the merged pull request, by itself.
 *
 *  `DROVER_RECORD=<file> npx vitest run <this file>` plays the model instead and records it anew, one cassette for each task. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config, Task } from "@drover/contract";
import { beforeAll, expect, test } from "vitest";
import {
  type CountingTicket,
  expectDelivered,
  expectLeastFirst,
  layTicket,
  listMerges,
  type Part,
  PARTS,
  readTicketStatus,
} from "../counting-ticket.ts";
import { AGENTS_CACHE, ensureAgent } from "../ensure-agent.ts";
import { readCommitted } from "../git/commit-files.ts";
import type { ModelRequest } from "../model/read-request.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn } from "../model/turn.ts";
import { startTestServer, type TestServer } from "../server.ts";
import { listAttempts, listDataOf, loadTask } from "../work.ts";

const FACT_MS = 180_000;
const CASSETTES = join(import.meta.dirname, "../../../server/cassettes");
/** Where the played model is recorded; undefined: the recordings are played. */
const RECORD = process.env.DROVER_RECORD;

const CLAUDE = { runtime: "claude", model: "claude-sonnet-4-5" };
const RESOLVER = "merge";

const shell = (say: string, command: string, description: string): ModelTurn => ({
  text: say,
  tools: [{ name: "Bash", input: { command, description } }],
});
const write = (say: string, path: string, content: string): ModelTurn => ({
  text: say,
  tools: [{ name: "Write", input: { file_path: `/workspace/${path}`, content } }],
});

/** What another try at the task does again does no harm. */
const COMMIT =
  "git add -A && (git diff --cached --quiet || git -c user.name=agent -c user.email=agent@example.org commit -q -m work)";
const MERGE = `git fetch -q origin; for branch in $(git branch -r --no-merged HEAD --format='%(refname:short)'); do git -c user.name=agent -c user.email=agent@example.org merge -q -m merge "$branch" || true; done; printf 'left\\nright\\n' > SHEEP.md`;

/** Every word begins with the name of its task, by which the recording is taken apart. Both sides write SHEEP.md. */
function toTurns(name: string, part: Part | undefined): readonly ModelTurn[] {
  const isSide = name === "left" || name === "right";
  return [
    ...(part === undefined
      ? [shell(`${name}: I merge the branches and keep both sides.`, MERGE, "Merge them")]
      : [write(`${name}: I write it.`, part.path, part.content)]),
    ...(isSide ? [write(`${name}: I note it.`, "SHEEP.md", `${name}\n`)] : []),
    ...(name === "check"
      ? [shell(`${name}: I run the tests.`, "node test.mjs && echo all passed", "Run the tests")]
      : []),
    shell(`${name}: I commit it.`, COMMIT, "Commit it"),
    shell(`${name}: I push it.`, "git push -q origin HEAD && echo pushed", "Push it"),
  ];
}

/** The task that a request is about: its title heads the prompt. */
function findName({ texts }: ModelRequest): string | undefined {
  const lines = texts.filter(({ role }) => role === "user").flatMap(({ text }) => text.split("\n"));
  if (lines.some((line) => line.startsWith("# Resolve conflicts"))) return RESOLVER;
  return PARTS.find(({ name }) => lines.includes(`# ${name}`))?.name;
}

/** Answers by what stands in the request, so that retries and the order of calls change nothing. */
function play(request: ModelRequest): ModelTurn {
  const name = findName(request);
  if (name === undefined || !request.toolNames.includes("Bash")) return { text: "A title" };
  const part = PARTS.find((one) => one.name === name);
  return toTurns(name, part)[request.toolResults.length] ?? { text: `${name}: It is done.` };
}

const toCassette = (name: string) => `counting-${name}`;

/** One file for each task; what is about none of them is in all. */
async function takeApart(file: string): Promise<void> {
  const lines = (await readFile(file, "utf8")).split("\n").filter((line) => line !== "");
  const names = [...PARTS.map(({ name }) => String(name)), RESOLVER];
  const isOf = (line: string, name: string) => line.includes(JSON.stringify(`"text":"${name}: `).slice(1, -1));
  for (const name of names) {
    const mine = lines.filter((line) => isOf(line, name) || !names.some((other) => isOf(line, other)));
    await writeFile(join(CASSETTES, `${toCassette(name)}.jsonl`), `${mine.join("\n")}\n`);
  }
}

/** The try that did it; there may have been others. */
async function loadDone(server: TestServer, { id }: Task) {
  const done = (await listAttempts(server, id)).find(({ outcome }) => outcome === "completed");
  const at = (time: string | null | undefined) => Date.parse(time ?? "");
  return { madeAt: at(done?.created_at), startedAt: at(done?.started_at), endedAt: at(done?.ended_at) };
}

async function runTicket(
  config: Partial<Config>,
  isRecorded: boolean,
  look: (server: TestServer, ticket: CountingTicket) => Promise<void>,
) {
  await using server = await startTestServer({
    config: { agentsDir: AGENTS_CACHE, heartbeatIntervalSeconds: 5, ...config },
  });
  const toModel = (name: string) => (isRecorded ? { ...CLAUDE, cassette: toCassette(name) } : CLAUDE);
  const ticket = await layTicket(server, ({ name }) => ({ ...toModel(name), resources: { memory_gb: 1.5, cpu: 1 } }), {
    settings: {
      conflict_resolver: toModel(RESOLVER),
      merge_tests: {
        argv: ["sh", "-c", "grep left SHEEP.md && grep right SHEEP.md && node left.mjs && node right.mjs"],
      },
    },
  });
  for (const { name } of PARTS) {
    const status = async () => {
      const { status: is, error_message } = await loadTask(server, ticket.tasks[name].id);
      return [name, is, error_message, await readBlocked(server, ticket)];
    };
    await expect.poll(status, { timeout: FACT_MS, interval: 200 }).toEqual([name, "completed", null, false]);
  }
  await expect.poll(() => readTicketStatus(server, ticket), { timeout: FACT_MS, interval: 200 }).toBe("done");
  await look(server, ticket);
}

const readBlocked = async (server: TestServer, { id }: CountingTicket): Promise<boolean> =>
  (await server.call("GET", `/tickets/${id}`)).body.is_blocked;

beforeAll(() => ensureAgent("claude"));

test(
  "Claude does five tasks by itself, two of them at once, resolves their conflict, and the tests pass on main",
  { timeout: 600_000 },
  async () => {
    if (RECORD !== undefined) {
      await using model = await startScriptedModel({ script: async (request) => play(request) });
      const config = { anthropicBaseUrl: model.url, cassette: RECORD, cassetteMode: "record" } as const;
      await runTicket(config, false, async () => undefined);
      await takeApart(RECORD);
    }
    // Nobody is there to be asked: what is said comes from the recordings.
    await runTicket({ anthropicBaseUrl: "http://127.0.0.1:9" }, true, async (server, ticket) => {
      const merges = await listMerges(server, ticket);
      // Those that came later had nothing left to do.
      expect(merges.toReversed().slice(0, 2)).toMatchObject([{ status: "resolved" }, { status: "completed" }]);
      expectLeastFirst(merges);
      await expectDelivered(server, ticket);
      expect(readCommitted(ticket.gitDir, "main", "SHEEP.md")).toBe("left\nright\n");

      const [left, right] = [await loadDone(server, ticket.tasks.left), await loadDone(server, ticket.tasks.right)];
      expect(Math.max(left.madeAt, right.madeAt)).toBeLessThan(Math.min(left.endedAt, right.endedAt));
      for (const part of PARTS) {
        const task = ticket.tasks[part.name];
        const { startedAt } = await loadDone(server, task);
        for (const before of part.after)
          expect(startedAt).toBeGreaterThanOrEqual((await loadDone(server, ticket.tasks[before])).endedAt);
        const started = await listDataOf(server, task, "agent.started");
        expect(started).toContainEqual(expect.objectContaining({ sdk: "claude" }));
        // One for each answer; the gateway may be a moment behind the worker.
        const usages = async () => (await listDataOf(server, task, "agent.usage")).length;
        const least = toTurns(part.name, part).length;
        await expect.poll(usages, { timeout: FACT_MS, interval: 200 }).toBeGreaterThan(least);
      }
    });
  },
);
