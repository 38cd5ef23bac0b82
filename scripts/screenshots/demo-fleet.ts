/** Sandboxes for pictures: workers by hand that tell the same stories each time. */
import { createClient, type Client } from "@drover/client";
import type { NewSandbox } from "@drover/contract";
import { pushChange } from "./demo-work.ts";

interface Told {
  readonly event_type: string;
  readonly event_data?: Readonly<Record<string, unknown>>;
  readonly source?: "agent" | "worker" | "system";
}

interface Story {
  readonly sandbox: NewSandbox;
  readonly events: readonly Told[];
  /** Model calls through the gateway, each with its tokens as the scripted model counts them. */
  readonly calls: number;
}

const ENDS: ReadonlySet<string> = new Set(["agent.completed", "agent.failed"]);

let nextTool = 0;

const say = (content: string, turn: number): Told => ({ event_type: "agent.message", event_data: { content, turn } });
const beat: Told = { event_type: "agent.heartbeat", source: "worker" };
/** Of the working ones, in their order: what a worker sees that may look. */
const LOADS = [
  { memory_bytes: 1_240_000_000, cpu_percent: 82 },
  { memory_bytes: 610_000_000, cpu_percent: 24 },
  { memory_bytes: 2_050_000_000, cpu_percent: 64 },
  { memory_bytes: 480_000_000, cpu_percent: 12 },
] as const;
const start = (sdk: string): Told => ({ event_type: "agent.started", event_data: { sdk }, source: "worker" });

function use(tool: string, input: object, turn: number, response: object): readonly Told[] {
  nextTool += 1;
  const tool_use_id = `tool-${nextTool}`;
  return [
    { event_type: "agent.tool_use", event_data: { tool, tool_use_id, input, turn } },
    { event_type: "agent.tool_completed", event_data: { tool, tool_use_id, turn, tool_response: response } },
  ];
}

const run = (command: string, turn: number, stdout: string, exit_code = 0) =>
  use("Bash", { command }, turn, { stdout, exit_code, is_error: exit_code !== 0 });

const edit = (file_path: string, turn: number, old: string, fresh: string): Told => ({
  event_type: "agent.file_edited",
  event_data: {
    file_path,
    turn,
    change_type: "modified",
    lines_added: 1,
    lines_removed: 1,
    full_diff: `@@ -12,3 +12,3 @@\n export async function handle(request: Request) {\n-  ${old}\n+  ${fresh}\n   return reply;\n`,
  },
});

const LOOP = Array.from({ length: 14 }, (_, n) =>
  run("npm test -- checkout", n + 3, "FAIL checkout.test.ts\n  expected 200, received 500", 1),
).flat();

const STORIES: readonly Story[] = [
  {
    sandbox: { prompt: "Let people log in with a passkey; keep the password form.", runtime: "claude" },
    calls: 9,
    events: [
      start("claude"),
      beat,
      say("I read how sessions are made first, then add the two endpoints of WebAuthn.", 1),
      ...use("Read", { file_path: "src/auth/session.ts" }, 1, { content: "export const session = …" }),
      ...use("Grep", { pattern: "createSession", path: "src" }, 1, { content: "src/auth/session.ts:14" }),
      edit("src/auth/handler.ts", 2, "const user = await check(password);", "const user = await verify(assertion);"),
      ...run("npm test -- auth", 3, "Tests 84 passed"),
      beat,
    ],
  },
  {
    sandbox: { prompt: "Find out why the login test is flaky, and fix it.", runtime: "codex" },
    calls: 4,
    events: [
      start("codex"),
      beat,
      say("The test waits for a fixed time. I replace that by waiting for the event.", 1),
      ...run("npx vitest run login.test.ts --repeat 20", 2, "20 runs, 3 failed", 1),
      edit("test/login.test.ts", 3, "await sleep(200);", 'await once(server, "ready");'),
      {
        event_type: "agent.permission_requested",
        event_data: {
          request_id: "ask-1",
          kind: "tool",
          turn: 4,
          tool: "Bash",
          input: { command: "git push origin fix/flaky-login" },
        },
      },
      beat,
    ],
  },
  {
    sandbox: { prompt: "Make the checkout survive a time-out of the payment provider.", runtime: "claude" },
    calls: 12,
    events: [start("claude"), beat, say("I begin with the failing test.", 1), ...LOOP, beat],
  },
  {
    sandbox: { prompt: "Move the invoices' numbers into a sequence of the database.", runtime: "gemini" },
    calls: 5,
    events: [
      start("gemini"),
      beat,
      ...use("Read", { file_path: "db/migrations/0012_invoices.sql" }, 1, { content: "create table invoices …" }),
      edit("db/migrations/0013_numbers.sql", 2, "-- numbers", "create sequence invoice_number;"),
      ...run("npm run migrate", 3, "applied 1 migration"),
      { event_type: "agent.completed", event_data: { result: "Numbers come from the sequence.", turn: 4 } },
    ],
  },
  {
    sandbox: { prompt: "Upgrade the image library and regenerate the thumbnails.", runtime: "opencode" },
    calls: 2,
    events: [
      start("opencode"),
      beat,
      ...run("npm install sharp@latest", 1, "added 12 packages"),
      ...run("node scripts/thumbnails.ts", 2, "killed: out of memory", 137),
      { event_type: "agent.failed", event_data: { error: "The sandbox ran out of memory at 512 MiB.", turn: 3 } },
    ],
  },
  {
    sandbox: { prompt: "Write the reference of the public API from its types.", runtime: "claude" },
    calls: 3,
    events: [
      start("claude"),
      beat,
      say("Each exported type becomes a section; examples come from the tests.", 1),
      edit("docs/api.md", 1, "TODO", "## createClient"),
      beat,
    ],
  },
];

async function callModel(url: string, token: string, sandboxId: string, n: number): Promise<void> {
  const response = await fetch(`${url}/api/v1/gateway/anthropic/v1/messages`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "anthropic-version": "2023-06-01",
    },
    body: JSON.stringify({
      model: n % 3 === 0 ? "claude-opus-4-8" : "claude-sonnet-5",
      max_tokens: 1_000,
      messages: [{ role: "user", content: `Step ${n} of ${sandboxId}` }],
    }),
  });
  if (!response.ok) throw new Error(`the gateway answered ${response.status}: ${await response.text()}`);
  await response.text();
}

export interface DemoFleet {
  /** In the order of their stories. */
  readonly ids: readonly string[];
  /** A heartbeat of each that works: who is silent for two minutes is taken for dead. */
  beat(url: string): Promise<void>;
}

interface Delivery {
  readonly url: string;
  readonly client: Client;
  readonly worker: Client;
  readonly token: string;
  readonly id: string;
  readonly projectId: string;
}

/** A message that the agent has seen, and what it pushed: its branch, and a pull request of it. */
async function deliver({ url, client, worker, token, id, projectId }: Delivery): Promise<void> {
  const params = { sandbox_id: id as never };
  await client.sendMessage({ params, body: { content: "Keep the password form as it is, and say so in the README." } });
  const [message] = await worker.receiveMessages({ params, query: { lease: 60, wait: 5 } });
  if (message !== undefined)
    await worker.ackMessage({ params: { ...params, message_id: message.id }, body: { status: "seen", turn: 3 } });
  await client.sendMessage({ params, body: { content: "Then mend the flaky test beside it." } });
  const head_branch = `drover/${id}`;
  await pushChange(url, token, projectId, head_branch);
  await client.createPull({
    body: { project_id: projectId as never, head_branch, base_branch: "main", title: "Log in with a passkey" },
  });
}

export async function seedFleet(url: string, client: Client, projectIds: readonly string[]): Promise<DemoFleet> {
  const ids: string[] = [];
  const working = new Map<string, string>();
  for (const [at, { sandbox, events, calls }] of STORIES.entries()) {
    const project_id = projectIds[at % projectIds.length];
    const created = await client.createSandbox({
      body: {
        provider: "external",
        ...sandbox,
        ...(project_id === undefined ? {} : { project_id: project_id as never }),
      },
    });
    const token = created.worker_token ?? "";
    const worker = createClient({ baseUrl: url, token });
    for (let n = 0; n < calls; n += 1) await callModel(url, token, created.id, n);
    await worker.ingestEvents({ params: { sandbox_id: created.id }, body: { events: [...events] as never } });
    if (at === 0) await deliver({ url, client, worker, token, id: created.id, projectId: String(project_id) });
    ids.push(created.id);
    if (!events.some(({ event_type: type }) => ENDS.has(type))) working.set(created.id, token);
  }
  return {
    ids,
    beat: async (at) => {
      for (const [n, [sandbox_id, token]] of [...working].entries())
        await createClient({ baseUrl: at, token }).ingestEvents({
          params: { sandbox_id: sandbox_id as never },
          body: { events: [{ ...beat, event_data: LOADS[n % LOADS.length] }] as never },
        });
    },
  };
}
