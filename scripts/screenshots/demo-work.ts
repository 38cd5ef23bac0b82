/** Tickets, tasks and a pull request for pictures. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Client } from "@drover/client";
import type { TicketStatus } from "@drover/contract";

const execute = promisify(execFile);

interface Wish {
  readonly title: string;
  readonly status: TicketStatus;
  readonly priority: "CRITICAL" | "HIGH" | "MEDIUM" | "LOW";
  readonly type: string;
}

const WISHES: readonly Wish[] = [
  { title: "Log in with a passkey", status: "building", priority: "HIGH", type: "feature" },
  { title: "Checkout survives a slow payment provider", status: "building", priority: "CRITICAL", type: "bug" },
  { title: "Invoices are numbered without gaps", status: "testing", priority: "HIGH", type: "feature" },
  { title: "Thumbnails in AVIF", status: "backlog", priority: "LOW", type: "feature" },
  { title: "Search forgives a typing error", status: "backlog", priority: "MEDIUM", type: "feature" },
  { title: "The audit log can be exported", status: "analyzing", priority: "MEDIUM", type: "feature" },
  { title: "Flaky login test", status: "building-done", priority: "HIGH", type: "bug" },
  { title: "Dark theme for e-mails", status: "done", priority: "LOW", type: "feature" },
];

const PATH: readonly TicketStatus[] = ["backlog", "analyzing", "building", "building-done", "testing", "done"];

const STEPS: readonly { readonly title: string; readonly after: readonly number[]; readonly minutes: number }[] = [
  { title: "Credentials in the schema", after: [], minutes: 15 },
  { title: "Endpoints for registration", after: [0], minutes: 40 },
  { title: "Endpoints for the login", after: [0], minutes: 60 },
  { title: "The form offers the passkey", after: [1, 2], minutes: 30 },
  { title: "Recovery when the passkey is lost", after: [2], minutes: 45 },
  { title: "End-to-end test with a virtual authenticator", after: [3, 4], minutes: 25 },
];

const BEFORE = `/** Sessions of people. */
export async function login(name: string, password: string): Promise<Session> {
  const user = await findUser(name);
  if (!(await verify(user.hash, password))) throw new Refused("wrong password");
  return createSession(user);
}
`;
const AFTER = `/** Sessions of people: by passkey, or by password where somebody has none. */
export async function login(name: string, proof: Proof): Promise<Session> {
  const user = await findUser(name);
  const isHis = proof.kind === "passkey" ? await verifyAssertion(user, proof) : await verify(user.hash, proof.password);
  if (!isHis) throw new Refused("neither passkey nor password");
  return createSession(user);
}
`;

export interface DemoWork {
  readonly ticketId: string;
  readonly taskId: string;
  readonly pullId: string;
}

/** Commits over the server's own Git endpoint, as anybody's clone would. */
export async function pushChange(url: string, token: string, projectId: string, branch: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "drover-shots-"));
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_SYSTEM: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
  };
  const git = (...args: readonly string[]) =>
    execute("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], { cwd: folder, env });
  const commit = async (on: string, files: Readonly<Record<string, string>>, message: string) => {
    await git("fetch", "-q", "origin");
    await git("checkout", "-q", "-B", on, `origin/${on}`);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await git("add", "-A");
    await git("commit", "-q", "-m", message);
    await git("push", "-q", "origin", on);
  };
  try {
    await git("clone", "-q", `${url.replace("//", `//ada:${token}@`)}/git/${projectId}.git`, ".");
    await commit(branch, { "src/auth/login.ts": BEFORE }, "The login as it is");
    await commit(
      branch,
      { "src/auth/login.ts": AFTER, "src/auth/proof.ts": "export type Proof = Passkey | Password;\n" },
      "Log in with a passkey",
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function seedWork(url: string, token: string, client: Client, projectId: string): Promise<DemoWork> {
  const project_id = projectId as never;
  const ids: string[] = [];
  for (const { title, priority, type, status } of WISHES) {
    const ticket = await client.createTicket({
      body: {
        title,
        description: "**Why:** people ask for it each week.\n\n- keep what works today\n- a test that fails before",
        project_id,
        priority,
        ticket_type: type,
        phase_id: "PHASE_BACKLOG",
        force_create: true,
      },
    });
    for (const to_status of PATH.slice(1, PATH.indexOf(status) + 1))
      await client.transitionTicket({ params: { ticket_id: ticket.id }, body: { to_status } });
    ids.push(ticket.id);
  }
  const ticketId = ids[0] ?? "";
  const tasks: string[] = [];
  for (const { title, after, minutes } of STEPS) {
    const task = await client.createTask({
      body: {
        ticket_id: ticketId as never,
        title,
        description: `${title}, with tests.`,
        estimated_seconds: minutes * 60,
        dependencies: { depends_on: after.flatMap((n) => tasks[n] ?? []) as never },
      },
    });
    tasks.push(task.id);
  }
  const { branch_name } = await client.startBranch({ body: { ticket_id: ticketId as never } });
  await pushChange(url, token, projectId, branch_name);
  const pull = await client.createPull({
    body: { project_id, ticket_id: ticketId, title: WISHES[0]?.title ?? "", head_branch: branch_name },
  });
  for (const comment_text of [
    "Passkeys of **two** devices must work for one person.",
    "Agreed. The recovery is its own task, so that this one stays small.",
  ])
    await client.addTicketComment({ params: { ticket_id: ticketId as never }, body: { comment_text } });
  return { ticketId, taskId: tasks[2] ?? "", pullId: pull.id };
}
