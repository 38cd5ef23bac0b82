/** Two runs in sandboxes of this machine, whose files were kept, and things that want a person. */
import type { Client } from "@drover/client";
import type { ProjectId } from "@drover/contract";

const SESSION = `import { randomBytes } from "node:crypto";

export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly endsAt: number;
}

export const openSession = (userId: string, now: number): Session => ({
  id: randomBytes(32).toString("hex"),
  userId,
  endsAt: now + 30 * 60_000,
});
`;
const LONGER = SESSION.replace("30 * 60_000", "LIFETIME_MS").replace(
  "export interface",
  "/** Half an hour. */\nconst LIFETIME_MS = 30 * 60_000;\n\nexport interface",
);
const TEST = `import { openSession } from "./session.ts";

const session = openSession("u-1", 0);
if (session.endsAt !== 1_800_000) throw new Error("it ends too early");
`;

const begin = [
  { text: "I look at how sessions are made, then give them an end." },
  { edit: { path: "README.md", content: "# storefront\n\nThe shop.\n" } },
  { edit: { path: "src/session.ts", content: SESSION } },
  {
    command: {
      argv: ["sh", "-c", "printf '\\033[32m ok \\033[0m 14 tests\\n\\033[31mfail\\033[0m session ends\\n'; exit 1"],
    },
  },
  { text: "One test fails: the lifetime has no name yet." },
];
const mend = [
  { edit: { path: "src/session.ts", content: LONGER } },
  { edit: { path: "src/session.test.ts", content: TEST } },
  { command: { argv: ["sh", "-c", "printf '\\033[32m ok \\033[0m 15 tests\\n'"] } },
  { text: "All 15 tests pass. Sessions end after half an hour." },
];
const giveUp = [
  { edit: { path: "src/session.test.ts", content: "// later\n" } },
  { command: { argv: ["sh", "-c", "printf '\\033[33mskip\\033[0m session ends\\n'"] } },
  { text: "I left the test out for now." },
];

async function play(client: Client, projectId: ProjectId, prompt: string, steps: readonly unknown[]): Promise<string> {
  const { id } = await client.createSandbox({
    // The steps are what the scripted agent takes; its own parser judges them.
    body: { provider: "local", runtime: "scripted", prompt, project_id: projectId, script: { steps } as never },
  });
  await client.waitFor(id, "agent.completed", { timeoutMs: 120_000 });
  return id;
}

export async function playKept(client: Client, projectId: ProjectId): Promise<readonly [string, string]> {
  const one = await play(client, projectId, "Let sessions end after half an hour", [...begin, ...mend]);
  return [one, await play(client, projectId, "Let sessions end, the short way", [...begin, ...giveUp])];
}

/** A rule that fires at the next measurement, and a ticket that nobody gets on with. */
export async function seedSupervision(client: Client, projectId: ProjectId): Promise<void> {
  await client.createAlertRule({
    body: {
      name: "Agents are at work",
      metric: "active_sandboxes",
      comparison: "above",
      threshold: 0,
      severity: "warning",
      channels: [{ kind: "log" }, { kind: "desktop" }],
    },
  });
  const ticket = await client.createTicket({
    body: { title: "Receipts as PDF", project_id: projectId, force_create: true },
  });
  const tasks = ["Draw a receipt", "Send it by mail"].map((title) =>
    client.createTask({ body: { ticket_id: ticket.id, title, max_retries: 0 } }),
  );
  for (const task of await Promise.all(tasks))
    await client.failTask({ params: { task_id: task.id }, body: { reason: "the fonts are missing" } });
  await client.triggerDiagnostic({ params: { ticket_id: ticket.id } });
  const other = await client.createTicket({
    body: { title: "Prices with tax", project_id: projectId, force_create: true },
  });
  const lost = await client.createTask({ body: { ticket_id: other.id, title: "Ask the tax service", max_retries: 0 } });
  await client.failTask({ params: { task_id: lost.id }, body: { reason: "no answer from the service" } });
}
