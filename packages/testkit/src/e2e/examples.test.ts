/** The programs of `examples/`, each run as its reader runs it: with an address, a token, and nothing else. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { expect, test as base } from "vitest";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../server.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const toEnv = ({ url }: TestServer) => ({ ...process.env, DROVER_URL: url, DROVER_TOKEN: ADMIN_TOKEN });

const test = base.extend<{ $file: { server: TestServer; port: number } }>({
  port: [
    async ({}, use) => {
      // Free a moment ago; whoever takes it in between makes the receiver say so.
      const server = (await import("node:net")).createServer().listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as { port: number };
      server.close();
      await use(port);
    },
    { scope: "file" },
  ],
  server: [
    async ({ port }, use) => {
      const config = { heartbeatIntervalSeconds: 5, taskLingerSeconds: 1, webhookAllow: `127.0.0.1:${port}` };
      await using server = await startTestServer({ config });
      await use(server);
    },
    { scope: "file" },
  ],
});

/** What it printed, once it has ended well. */
async function runExample(server: TestServer, name: string, ...argv: readonly string[]): Promise<string> {
  const options = { cwd: ROOT, env: toEnv(server), timeout: 230_000 };
  return (await promisify(execFile)(process.execPath, [join("examples", name), ...argv], options)).stdout;
}

test("embed-client starts a run, speaks to its agent and takes the result", async ({ server }) => {
  const said = await runExample(server, "embed-client.ts");
  expect(said).toMatch(/agent\.waiting\n[^]*agent\.completed\ngreeting\.txt: Hello, herd!\n$/);
});

test("five-task-dag ends as a merged pull request", async ({ server }) => {
  const said = await runExample(server, "five-task-dag.ts");
  expect(said).toMatch(/pull request 1, .*: merged\n$/);
});

test("custom-acp-agent runs a program of one's own as an agent", async ({ server }) => {
  const repo = await mkdtemp(join(tmpdir(), "drover-example-"));
  const git = (...args: readonly string[]) => execFileSync("git", ["-C", repo, ...args]);
  try {
    await cp(join(ROOT, "examples/custom-acp-agent/agent.mjs"), join(repo, "agent.mjs"));
    git("init", "-q", "-b", "main");
    git("add", "agent.mjs");
    git("-c", "user.name=reader", "-c", "user.email=reader@example.org", "commit", "-qm", "An agent");
    const said = await runExample(server, "custom-acp-agent/run.ts", repo);
    expect(said).toMatch(/agent\.completed\nANSWER\.md: You asked: .*How many sheep are there\?/);
  } finally {
    await rm(repo, { recursive: true });
  }
});

/** Until a line matches. */
async function readUntil(child: ChildProcess, wanted: RegExp): Promise<void> {
  if (child.stdout === null) throw new Error("it has no output");
  for await (const line of createInterface({ input: child.stdout })) if (wanted.test(line)) return;
  throw new Error(`it ended without ${wanted}`);
}

test("webhook-receiver makes its webhook, is told what happens, and takes it away when it ends", async ({
  server,
  port,
}) => {
  const env = { ...toEnv(server), PORT: String(port) };
  const start = () =>
    spawn(process.execPath, ["examples/webhook-receiver.ts"], { cwd: ROOT, env, stdio: ["ignore", "pipe", "inherit"] });
  const child = start();
  const ended = once(child, "exit");
  try {
    await readUntil(child, /^webhook hook-/);
    const sandbox = await server.createSandbox();
    const told = readUntil(child, new RegExp(`^drover\\.agent\\.message sandbox/${sandbox.id}`));
    await sandbox.post({ event_type: "agent.message", event_data: { text: "Counting." } });
    await told;
  } finally {
    child.kill("SIGINT");
    await ended;
  }
  expect((await server.call("GET", "/webhooks")).body.items).toEqual([]);
});
