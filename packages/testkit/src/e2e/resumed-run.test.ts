/** A run that goes on elsewhere: its worker is killed in the middle of a tool, and another sandbox has its files and its memory. */
import { type ChildProcess, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { CreatedSandbox, StoredEvent } from "@drover/contract";
import type { AgentRuntime, WorkOrder } from "@drover/worker";
import { expect } from "vitest";
import { test, type TestServer } from "../server.ts";
import { startWorker } from "../worker-in-process.ts";

const FACT_MS = 45_000;
const MAIN = new URL("../../../worker/src/main.ts", import.meta.url).pathname;
const PATH = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`;

/** Hangs in the first life only, and no longer than the worker that began it. */
const HANG =
  "const { env, ppid } = process; env.SECOND_LIFE || setInterval(() => (ppid > 1 && process.ppid === ppid) || process.exit(), 100); console.log('through')";
const STEPS = [
  { text: "first" },
  { edit: { path: "src/a.txt", content: "one\n" } },
  { edit: { path: "src/a.txt", content: "two\n" } },
  { command: { argv: ["node", "-e", HANG] } },
  { edit: { path: "src/b.txt", content: "three\n" } },
  { text: "last" },
];

const readEvents = async (server: TestServer, id: string) =>
  (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body.events as StoredEvent[];
const dataOf = (events: readonly StoredEvent[], type: string) =>
  events.filter(({ event_type }) => event_type === type).map(({ event_data }) => event_data);

interface KilledRun {
  readonly id: string;
  readonly events: readonly StoredEvent[];
}

/** Plays the script up to the command that hangs, and kills the worker there. Its disk is gone with it. */
async function runAndKill(server: TestServer, input: Record<string, unknown> = {}): Promise<KilledRun> {
  const { id, created } = await server.createSandbox({
    runtime: "scripted",
    script: { steps: STEPS },
    ...input,
  } as never);
  const folder = await mkdtemp(join(tmpdir(), "drover-killed-"));
  const env = {
    PATH,
    HOME: folder,
    STATE_DIR: join(folder, "state"),
    CWD: join(folder, "work"),
    ...created.worker_env,
  };
  const child: ChildProcess = spawn(process.execPath, [MAIN], { env, stdio: "ignore" });
  const gone = new Promise((resolve) => child.once("close", resolve));
  try {
    const isHanging = async () => {
      const uses = dataOf(await readEvents(server, id), "agent.tool_use");
      return uses.some(({ tool }) => tool === "Bash");
    };
    await expect.poll(isHanging, { timeout: FACT_MS }).toBe(true);
  } finally {
    child.kill("SIGKILL");
    await gone;
    await rm(folder, { recursive: true, force: true });
  }
  return { id, events: await readEvents(server, id) };
}

const resume = async (server: TestServer, body: Record<string, unknown>): Promise<CreatedSandbox> => {
  const answer = await server.call("POST", "/sandboxes", { body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as CreatedSandbox;
};

test("killed in the middle of a tool, a run goes on in a new sandbox with its files and its memory", async ({
  server,
}) => {
  const killed = await runAndKill(server, { prompt: "count" });
  const created = await resume(server, { resume_from: killed.id });
  expect(created).toMatchObject({ runtime: "scripted", prompt: "count", provider: "external" });
  await using worker = await startWorker(created, { env: { SECOND_LIFE: "1", POST_COMPLETION_SECONDS: "0.05" } });
  expect(await worker.exit).toMatchObject({ code: 0 });

  const events = await readEvents(server, created.id);
  expect(dataOf(events, "agent.resumed")).toMatchObject([{ how: "native", from: killed.id, files: "restored" }]);
  expect(dataOf(events, "agent.started")).toMatchObject([{ is_resuming: true, resume: "native" }]);
  expect(dataOf(events, "agent.message").map(({ content }) => content)).toEqual(["last"]);
  expect(dataOf(events, "agent.file_edited")).toMatchObject([{ file_path: "src/b.txt", change_type: "created" }]);
  expect(dataOf(events, "agent.completed")).toHaveLength(1);
  expect(readFileSync(join(worker.cwd, "src/a.txt"), "utf8")).toBe("two\n");
});

test("a fork goes on from any place of the log, with the files of then", async ({ server }) => {
  const killed = await runAndKill(server);
  const first = killed.events.find(({ event_type }) => event_type === "agent.transcript_saved");
  const answer = await server.call("POST", `/sandboxes/${killed.id}/fork`, { body: { at_seq: first?.seq } });
  expect(answer.status).toBe(201);
  const created = answer.body as CreatedSandbox;
  await using worker = await startWorker(created, { env: { SECOND_LIFE: "1", POST_COMPLETION_SECONDS: "0.05" } });
  await worker.exit;
  const edits = dataOf(await readEvents(server, created.id), "agent.file_edited");
  expect(edits.map(({ file_path, change_type }) => [file_path, change_type])).toEqual([
    ["src/a.txt", "modified"],
    ["src/b.txt", "created"],
  ]);
});

/** An agent of another make: it is told what went before, or nothing. */
function createListener(): { readonly runtime: AgentRuntime; readonly orders: WorkOrder[] } {
  const orders: WorkOrder[] = [];
  const runtime: AgentRuntime = {
    name: "listener",
    capabilities: {
      steer: "cancel",
      interrupt: false,
      hooks: false,
      permission: "none",
      cost: false,
      resume: "reseeded",
      toolLimits: "noticed",
      subagents: false,
    },
    start(order) {
      orders.push(order);
      const steps = (async function* () {
        yield { events: [{ event_type: "agent.completed", event_data: { turn: 1, success: true } }] };
        return { reason: "timeout", turns: 1 } as const;
      })();
      const refuse = () => "deaf";
      return { steps, send: refuse, interrupt: refuse, answerPermission: refuse };
    },
  };
  return { runtime, orders };
}

test("an agent of another make gets the files and a summary; with nothing to tell it is asked first", async ({
  server,
}) => {
  const killed = await runAndKill(server, { prompt: "count" });
  const created = await resume(server, { resume_from: killed.id, runtime: "listener" });
  const { runtime, orders } = createListener();
  await using worker = await startWorker(created, { parts: { runtimes: { listener: runtime } } });
  await worker.exit;
  expect(orders[0]).toMatchObject({ prompt: "count", resume: { how: "reseeded" } });
  expect(orders[0]?.resume?.preface).toContain("File modified: src/a.txt");
  expect(readdirSync(worker.cwd)).toEqual(["src"]);
  expect(dataOf(await readEvents(server, created.id), "agent.started")).toMatchObject([{ resume: "reseeded" }]);

  const empty = await server.createSandbox({ runtime: "scripted" });
  const refused = await server.call("POST", "/sandboxes", { body: { resume_from: empty.id } });
  expect(refused).toMatchObject({ status: 409, body: { type: expect.stringContaining("resume.nothing") } });
  const forced = await resume(server, { resume_from: empty.id, resume_fresh: true, runtime: "listener" });
  const fresh = createListener();
  await using second = await startWorker(forced, { parts: { runtimes: { listener: fresh.runtime } } });
  await second.exit;
  expect(fresh.orders[0]?.resume).toMatchObject({ how: "fresh" });
});

test("the next generation goes on with what the last one left, and is told again what nobody has read", async ({
  server,
}) => {
  const { id } = await runAndKill(server);
  await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: "hello", delivery: "queue" } });
  const { body: next } = await server.call("POST", `/sandboxes/${id}/worker-token`);
  await using worker = await startWorker(next as CreatedSandbox, {
    env: { SECOND_LIFE: "1", POST_COMPLETION_SECONDS: "5" },
  });
  const isHeard = async () => dataOf(await readEvents(server, id), "agent.message_injected").length;
  await expect.poll(isHeard, { timeout: FACT_MS }).toBe(1);
  await worker.end();
  const events = await readEvents(server, id);
  expect(dataOf(events, "agent.resumed")).toMatchObject([{ how: "native", from: id, files: "restored" }]);
  expect(dataOf(events, "agent.message").map(({ content }) => content)).toEqual(["first", "last", "Understood: hello"]);
  expect(readFileSync(join(worker.cwd, "src/b.txt"), "utf8")).toBe("three\n");
});

test("what was said to a sandbox that died before its agent read it is read by the one that goes on, once", async ({
  server,
}) => {
  const killed = await runAndKill(server);
  const sent = await server.call("POST", `/sandboxes/${killed.id}/messages`, { body: { content: "hello" } });
  await server.call("DELETE", `/sandboxes/${killed.id}`);
  const created = await resume(server, { resume_from: killed.id });
  await using worker = await startWorker(created, { env: { SECOND_LIFE: "1", POST_COMPLETION_SECONDS: "5" } });
  const isHeard = async () => dataOf(await readEvents(server, created.id), "agent.message_injected");
  await expect.poll(isHeard, { timeout: FACT_MS }).toMatchObject([{ content: "hello" }]);
  await worker.end();
  expect(dataOf(await readEvents(server, created.id), "MESSAGE_QUEUED")).toMatchObject([
    { content: "hello", copied_from: sent.body.message_id },
  ]);

  const second = await resume(server, { resume_from: created.id });
  expect(dataOf(await readEvents(server, second.id), "MESSAGE_QUEUED")).toEqual([]);
});

test("what may not be seen cannot be gone on with, and bytes that were not handed over stay closed", async ({
  server,
}) => {
  const killed = await runAndKill(server);
  const project = await server.createProject();
  const { token } = await server.createToken("operator", project);
  const stolen = await server.call("POST", "/sandboxes", {
    token,
    body: { resume_from: killed.id, provider: "external" },
  });
  expect(stolen.status).toBe(422);
  const moved = await server.call("POST", "/sandboxes", { body: { resume_from: killed.id, project_id: project } });
  expect(moved.status).toBe(422);
  const [saved] = dataOf(killed.events, "workspace.checkpoint");
  const other = await server.createSandbox();
  const path = `/sandboxes/${other.id}/restore/${JSON.stringify(saved?.["pack_artifact"]).slice(1, -1)}`;
  expect((await server.call("GET", path, { token: other.token })).status).toBe(404);
});

test("a message that stands in the saved memory is not told again, though its receipt was lost", async ({ server }) => {
  const { id, token, post } = await server.createSandbox({ runtime: "scripted" });
  const send = async (content: string) =>
    (await server.call("POST", `/sandboxes/${id}/messages`, { body: { content } })).body.message_id as string;
  const remembered = await send("one");
  const forgotten = await send("two");
  await server.call("GET", `/sandboxes/${id}/messages?lease=300`, { token });
  const inject = (message_id: string) =>
    post({ event_type: "agent.message_injected", event_data: { turn: 1, message_id } });
  await inject(remembered);
  await post({
    event_type: "agent.transcript_saved",
    event_data: { turn: 1, kind: "mark", session_id: "s", mark: {} },
  });
  await inject(forgotten);
  const { body: next } = await server.call("POST", `/sandboxes/${id}/worker-token`);
  const again = await server.call("GET", `/sandboxes/${id}/messages?lease=300`, { token: next.worker_token as string });
  expect((again.body as { id: string }[]).map((message) => message.id)).toEqual([forgotten]);
});
