import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { AgentRuntime, WorkOrder } from "./agent-runtime.ts";
import { createClaude } from "./agents/claude/claude.ts";
import { createScripted } from "./agents/scripted.ts";
import { createMemoryDisk } from "./fixtures/memory-disk.ts";
import { SANDBOX_ID } from "./fixtures/peer.ts";
import { test } from "./fixtures/worker-test.ts";

const steps = (...list: unknown[]) => ({ script: { steps: list } as never });

test("a worker plays its script from started to shutdown, every agent event with its turn", async ({ rig }) => {
  const peer = await rig.peer({
    ...steps(
      { thinking: "hm" },
      { text: "hello {{prompt}}" },
      { tool_use: { name: "Read", input: { file_path: "a" }, result: "b" } },
      { turn: "next" },
      { text: "bye" },
    ),
    post_completion_s: 0.01,
  });
  const { exit } = rig.run(peer);
  expect(await exit).toEqual({ code: 0, reason: "timeout", unsent: 0 });
  const types = peer.types().filter((type) => type !== "agent.heartbeat");
  expect(types).toEqual([
    "agent.started",
    "agent.thinking",
    "agent.message",
    "agent.tool_use",
    "agent.tool_result",
    "agent.turn_complete",
    "agent.transcript_saved",
    "agent.message",
    "agent.completed",
    "agent.transcript_saved",
    "agent.waiting",
    "agent.shutdown",
  ]);
  expect(peer.data("agent.message")).toEqual([
    { turn: 1, content: "hello do it", content_length: 11 },
    { turn: 2, content: "bye", content_length: 3 },
  ]);
  expect(peer.data("agent.completed")[0]).toMatchObject({ success: true, turns: 2, turn: 2, final_output: "bye" });
  for (const event of peer.events.filter(
    (one) => one.event_type.startsWith("agent.") && one.event_type !== "agent.heartbeat",
  )) {
    expect(event.event_data).toHaveProperty("turn");
  }
  const [use] = peer.data("agent.tool_use");
  expect(peer.data("agent.tool_result")[0]).toMatchObject({
    tool_use_id: use?.tool_use_id,
    result: "b",
    is_error: false,
  });
});

test("edits are real, and git accepts their diffs in order", async ({ rig }) => {
  const large = Array.from({ length: 9_000 }, (_, n) => `line ${n}\n`).join("");
  const peer = await rig.peer({
    ...steps(
      { edit: { path: "src/a b.txt", content: "one\ntwo\nthree\n" } },
      { edit: { path: "src/a b.txt", find: "two", replace: "zwei" } },
      { edit: { path: "src/a b.txt", rename: 'src/ä"c.txt', find: "one", replace: "eins" } },
      { edit: { path: "empty", content: "" } },
      { edit: { path: "no-newline", content: "x" } },
      { edit: { path: "no-newline", content: "x\n" } },
      { edit: { path: "run.sh", content: "#!/bin/sh\n", executable: true } },
      { edit: { path: "large.txt", content: large } },
      { edit: { path: "empty", delete: true } },
      { edit: { path: "run.sh", delete: true } },
    ),
    post_completion_s: 0.01,
  });
  await rig.run(peer).exit;
  const edits = peer.data("agent.file_edited");
  expect(edits.map((edit) => edit.change_type)).toEqual([
    "created",
    "modified",
    "renamed",
    "created",
    "created",
    "modified",
    "created",
    "created",
    "deleted",
    "deleted",
  ]);
  expect(edits[1]).toMatchObject({ lines_added: 1, lines_removed: 1, file_path: "src/a b.txt", turn: 1 });
  expect(edits[2]).toMatchObject({ old_path: "src/a b.txt", file_path: 'src/ä"c.txt' });

  const clone = join(rig.cwd, "..", "clone");
  execFileSync("git", ["init", "-q", clone]);
  for (const edit of edits) {
    const patch = (edit.full_diff as string | null) ?? peer.artifacts.get(edit.full_diff_artifact as string);
    execFileSync("git", ["apply", "--index", "-"], { cwd: clone, input: patch as string });
  }
  const list = (cwd: string) =>
    execFileSync("find", [".", "-type", "f", "-not", "-path", "./.git/*"], { cwd }).toString().split("\n").sort();
  expect(list(clone)).toEqual(list(rig.cwd));
  for (const name of list(clone).filter((one) => one !== "")) {
    expect(readFileSync(join(clone, name), "utf8")).toBe(readFileSync(join(rig.cwd, name), "utf8"));
  }
  const big = edits[7] ?? {};
  expect(big.full_diff).toBeNull();
  expect(big.full_diff_size).toBeGreaterThan(50_000);
  expect(String(big.diff_preview).length).toBeLessThan(5_100);
});

test("an edit outside the working directory is refused and the work goes on", async ({ rig }) => {
  const peer = await rig.peer({
    ...steps(
      { edit: { path: "../out.txt", content: "x" } },
      { edit: { path: "/etc/drover-test", content: "x" } },
      { edit: { path: ".git/config", content: "x" } },
      { text: "still here" },
    ),
    post_completion_s: 0.01,
  });
  await rig.run(peer).exit;
  expect(peer.data("agent.tool_result").map((result) => result.is_error)).toEqual([true, true, true]);
  expect(peer.data("agent.file_edited")).toEqual([]);
  expect(existsSync(join(rig.cwd, "..", "out.txt"))).toBe(false);
  expect(peer.data("agent.message")).toHaveLength(1);
});

test("a command's output is streamed with offsets and its exit code is told", async ({ rig }) => {
  const print =
    "process.stdout.write('ä1'); process.stderr.write('oh'); setTimeout(() => { process.stdout.write('2\\0'); process.exit(3) }, 50)";
  const peer = await rig.peer({
    ...steps({ command: { argv: ["node", "-e", print] } }, { command: { argv: ["no-such-program"] } }),
    post_completion_s: 0.01,
  });
  await rig.run(peer).exit;
  const chunks = peer.data("command.output");
  const out = chunks.filter((chunk) => chunk.stream === "stdout");
  expect(out.map((chunk) => chunk.chunk).join("")).toBe("ä12\u2400");
  expect(out.map((chunk) => chunk.offset)).toEqual(out.length === 1 ? [0] : [0, 3]);
  expect(
    chunks
      .filter((chunk) => chunk.stream === "stderr")
      .map((chunk) => chunk.chunk)
      .join(""),
  ).toBe("oh");
  expect(peer.data("agent.tool_result")[0]).toMatchObject({ is_error: true, exit_code: 3 });
  expect(peer.data("agent.tool_result")[1]).toMatchObject({ is_error: true, exit_code: null });
});

test("the agent's processes do not inherit the worker's token", async ({ rig }) => {
  const peer = await rig.peer({
    ...steps({ command: { argv: ["node", "-p", "JSON.stringify(process.env)"] } }),
    post_completion_s: 0.01,
  });
  const child = rig.spawn(peer, { POST_COMPLETION_SECONDS: "0.01" });
  expect(await child.gone).toBe(0);
  const printed = peer
    .data("command.output")
    .map((chunk) => chunk.chunk)
    .join("");
  expect(printed).toContain(SANDBOX_ID);
  expect(printed).not.toContain("drv_s_");
});

test("a message is given to the agent in the running turn, answered, and its receipts arrive in order", async ({
  rig,
}) => {
  const peer = await rig.peer(steps({ text: "working" }, { wait: 600 }));
  const worker = rig.run(peer);
  await peer.until(() => peer.types().includes("agent.message"));
  const message = peer.queue("use JWT");
  await peer.until(() => message.acks.length === 2);
  expect(message.acks).toEqual([{ status: "delivered" }, { status: "seen", turn: 1 }]);
  await peer.until(() => peer.data("agent.message").length === 2);
  expect(peer.data("agent.message_injected")).toEqual([
    {
      turn: 1,
      message_id: message.id,
      message_type: "user_message",
      sender_id: "somebody",
      content: "use JWT",
      content_length: 7,
      intervention_number: 1,
    },
  ]);
  expect(peer.data("agent.message")[1]).toMatchObject({ turn: 1, content: "Understood: use JWT" });
  await worker.end("SIGTERM");
  expect(peer.data("agent.shutdown")[0]).toMatchObject({ reason: "SIGTERM", total_turns: 1 });
});

test("a message sent to the queue waits for the end of the turn", async ({ rig }) => {
  const untilGo = "setInterval(() => require('node:fs').existsSync('go') && process.exit(), 5)";
  const peer = await rig.peer(
    steps({ command: { argv: ["node", "-e", untilGo] } }, { text: "two" }, { turn: "next" }, { text: "three" }),
  );
  const message = peer.queue("later", { delivery: "queue" });
  rig.run(peer);
  await peer.until(() => message.acks.length === 1 && peer.types().includes("agent.tool_use"));
  writeFileSync(join(rig.cwd, "go"), "");
  await peer.until(() => peer.types().includes("agent.completed"));
  expect(peer.types().filter((type) => /agent\.(message|turn_complete|message_injected)$/.test(type))).toEqual([
    "agent.message",
    "agent.turn_complete",
    "agent.message_injected",
    "agent.message",
    "agent.message",
  ]);
});

test("an interrupt stops a running command at once, keeps the worker, and the next message opens a new turn", async ({
  rig,
}) => {
  const peer = await rig.peer(
    steps(
      { command: { argv: ["node", "-e", "console.log('up'); setInterval(() => {}, 1000)"] } },
      { text: "never said" },
      { turn: "next" },
      { text: "next turn" },
    ),
  );
  rig.run(peer);
  await peer.until(() => peer.types().includes("command.output"));
  const stop = peer.queue("stop, please", { type: "interrupt" });
  await peer.until(() => stop.acks.length === 2 && peer.types().includes("agent.waiting"));
  expect(peer.data("agent.interrupted")).toEqual([
    { turn: 1, reason: "stop, please", was_running: true, message_id: stop.id, sender_id: "somebody" },
  ]);
  expect(peer.data("agent.tool_result")[0]).toMatchObject({ is_error: true, signal: "SIGTERM" });
  expect(peer.types()).not.toContain("agent.completed");
  peer.queue("go on");
  await peer.until(() => peer.types().includes("agent.completed"));
  expect(peer.data("agent.message").map((one) => [one.turn, one.content])).toEqual([
    [2, "Understood: go on"],
    [3, "next turn"],
  ]);
});

test("an interrupt overtakes messages that came before it", async ({ rig }) => {
  const peer = await rig.peer(steps({ wait: 600 }));
  peer.queue("first");
  peer.queue("halt", { type: "interrupt" });
  rig.run(peer);
  await peer.until(() => peer.types().includes("agent.message_injected"));
  expect(peer.types().filter((type) => /injected|interrupted/.test(type))).toEqual([
    "agent.interrupted",
    "agent.message_injected",
  ]);
});

test("after completion a message opens a new turn that completes again", async ({ rig }) => {
  const peer = await rig.peer(steps({ text: "done" }));
  rig.run(peer);
  await peer.until(() => peer.types().includes("agent.waiting"));
  peer.queue("one more");
  await peer.until(() => peer.data("agent.completed").length === 2);
  expect(peer.data("agent.completed")[1]).toMatchObject({ turns: 2, final_output: "Understood: one more" });
});

test("a permission is asked for, and what is refused is left out", async ({ rig }) => {
  const peer = await rig.peer({
    ...steps(
      { permission: { tool: "Bash", seconds: 600 } },
      { text: "allowed" },
      { permission: { tool: "Bash", seconds: 0 } },
      { text: "denied" },
      { text: "end" },
    ),
    post_completion_s: 0.01,
  });
  const { exit } = rig.run(peer);
  await peer.until(() => peer.types().includes("agent.permission_requested"));
  peer.queue("yes, go");
  await exit;
  expect(peer.data("agent.permission_answered").map((one) => [one.decision, one.by])).toEqual([
    ["allow", "person"],
    ["deny", "deadline"],
  ]);
  expect(peer.data("agent.message").map((one) => one.content)).toEqual(["allowed", "end"]);
});

test("a person's answer reaches the agent that asked, and one for nobody has failed", async ({ rig }) => {
  const peer = await rig.peer(
    steps({ permission: { tool: "Bash", seconds: 600 } }, { text: "never" }, { text: "end" }),
  );
  rig.run(peer);
  await peer.until(() => peer.types().includes("agent.permission_requested"));
  const answer = (request_id: unknown, decision: string) =>
    peer.queue(JSON.stringify({ request_id, decision }), { type: "permission_answer" });
  const lost = answer("another", "allow");
  const given = answer(peer.data("agent.permission_requested")[0]?.request_id, "deny");
  await peer.until(() => peer.types().includes("agent.waiting") && given.acks.length > 1 && lost.acks.length > 1);
  expect(peer.data("agent.permission_answered")).toMatchObject([{ decision: "deny", by: "person" }]);
  expect(peer.data("agent.message").map((one) => one.content)).toEqual(["end"]);
  expect([lost.acks.at(-1)?.status, given.acks.at(-1)?.status]).toEqual(["failed", "seen"]);
});

test("an error does not end the work, a failure does, and both leave the worker reachable", async ({ rig }) => {
  const peer = await rig.peer(steps({ error: "hiccup" }, { text: "on" }, { fail: "no way" }, { text: "never" }));
  rig.run(peer);
  await peer.until(() => peer.types().includes("agent.waiting"));
  expect(peer.types().filter((type) => !/heartbeat|started/.test(type))).toEqual([
    "agent.error",
    "agent.message",
    "agent.failed",
    "agent.transcript_saved",
    "agent.waiting",
  ]);
});

test("a script that is not valid is told as agent.failed, never as an exception", async ({ rig }) => {
  const peer = await rig.peer(steps({ dance: 1 }));
  const { exit } = rig.run(peer);
  expect(await exit).toMatchObject({ code: 1 });
  expect(String(peer.data("agent.failed")[0]?.error)).toContain("not valid");
});

test("a runtime this worker does not have is told as agent.failed", async ({ rig }) => {
  const peer = await rig.peer({ runtime: "warp" });
  expect(await rig.run(peer).exit).toMatchObject({ code: 1 });
  expect(peer.data("agent.failed")[0]).toMatchObject({ error: "this worker has no runtime called warp" });
});

test("a revoked token ends the worker with its own exit code", async ({ rig }) => {
  const peer = await rig.peer(steps({ text: "up" }, { wait: 600 }));
  const { exit } = rig.run(peer);
  await peer.until(() => peer.types().includes("agent.message"));
  peer.intercept = () => ({ status: 401, body: { type: "auth.required" } });
  peer.queue("wake the long-poll");
  expect(await exit).toMatchObject({ code: 3, reason: expect.stringContaining("revoked") });
});

test("a fenced worker stops, and its last events are still brought", async ({ rig }) => {
  const peer = await rig.peer(steps({ text: "up" }, { wait: 600 }));
  const { exit } = rig.run(peer);
  await peer.until(() => peer.types().includes("agent.message"));
  peer.intercept = (request) =>
    request.path.endsWith("/events")
      ? undefined
      : { status: 409, body: { type: "sandbox.fenced", detail: "generation 2" } };
  peer.queue("wake the long-poll");
  expect(await exit).toEqual({ code: 4, reason: "fenced: generation 2", unsent: 0 });
  expect(peer.data("agent.shutdown")).toMatchObject([{ reason: "fenced" }]);
});

test("a second worker for the same sandbox is refused", async ({ rig }) => {
  const peer = await rig.peer(steps({ text: "up" }, { wait: 600 }));
  rig.run(peer);
  await peer.until(() => peer.types().includes("agent.message"));
  await expect(rig.run(peer).exit).rejects.toMatchObject({ code: "data_dir.in_use" });
});

const toTaskData = (data: object) => Buffer.from(JSON.stringify(data)).toString("base64");

test("the environment wins over the assignment, and a ticket says what to do where nothing else does", async ({
  rig,
}) => {
  const task = { task: { description: "from the task" } };
  const ticket = { ticket: { title: "broken", description: null } };
  const rows: readonly [Record<string, string>, string | null, string][] = [
    [{ TASK_DATA_BASE64: toTaskData(task), INITIAL_PROMPT: "from the prompt" }, "from the server", "from the task"],
    [{ TASK_DATA_BASE64: toTaskData({ task_description: "flat" }) }, "from the server", "flat"],
    [
      { TASK_DATA_BASE64: toTaskData({ ...task, revision: { feedback: "no tests" } }) },
      null,
      "from the task\n\nA reviewer sent this back:\nno tests",
    ],
    [{ TASK_DESCRIPTION: "described", INITIAL_PROMPT: "from the prompt" }, "from the server", "described"],
    [{ TASK_DATA_BASE64: toTaskData(ticket), INITIAL_PROMPT: "from the prompt" }, null, "from the prompt"],
    [{ TASK_DATA_BASE64: toTaskData(ticket) }, "from the server", "from the server"],
    [{ TASK_DATA_BASE64: toTaskData(ticket) }, null, "Analyze ticket: broken"],
    [{ TICKET_TITLE: "broken", TICKET_DESCRIPTION: "it is broken" }, null, "it is broken"],
  ];
  for (const [row, [env, prompt, expected]] of rows.entries()) {
    const peer = await rig.peer({ ...steps({ text: "{{prompt}}" }), prompt, branch: "theirs" });
    const own = { BRANCH_NAME: "mine", ANTHROPIC_MODEL: "a", STATE_DIR: join(rig.cwd, "..", `state ${row}`) };
    await rig.run(peer, { POST_COMPLETION_SECONDS: "0.01", ...own, ...env }).exit;
    expect(peer.data("agent.started")[0]).toMatchObject({ task: expected, branch: "mine", model: "a" });
    expect(peer.data("agent.message")[0]).toMatchObject({ content: expected });
  }
  const quiet = await rig.peer({ ...steps({ text: "hm" }), branch: "theirs", ticket_title: "Blue paint" });
  await rig.run(quiet, { STATE_DIR: join(rig.cwd, "..", "quiet"), POST_COMPLETION_SECONDS: "0.01" }).exit;
  expect(quiet.data("agent.started")).toMatchObject([{ ticket_title: "Blue paint" }]);
  expect(quiet.data("agent.completed")).toMatchObject([{ branch_name: "theirs", files_changed: 0 }]);
});

test("a session that the environment names is gone on with where its memory is, and else told as begun afresh", async ({
  rig,
}) => {
  const peer = await rig.peer({ ...steps({ text: "here" }), runtime: "claude", post_completion_s: 0.01 });
  const resumes: WorkOrder["resume"][] = [];
  const start: AgentRuntime["start"] = (order, signal) => {
    resumes.push(order.resume);
    return createScripted().start(order, signal);
  };
  const runtimes = { claude: { ...createClaude(), start } };
  const named = { RESUME_SESSION_ID: "5e55", HOME: rig.cwd };
  await rig.run(peer, named, { runtimes }).exit;
  const transcript = Buffer.from("{}\n").toString("base64");
  const kept = { ...named, SESSION_TRANSCRIPT_B64: transcript, STATE_DIR: `${rig.cwd}/../kept` };
  await rig.run(peer, kept, { runtimes }).exit;
  expect(resumes).toMatchObject([
    { sessionId: "5e55", how: "fresh" },
    { sessionId: "5e55", how: "native" },
  ]);
  expect(peer.data("agent.started").map((data) => data.resume)).toEqual(["fresh", "native"]);
});

test("the agent gets the MCP server, the questions and the sources of settings that the environment names", async ({
  rig,
}) => {
  const mine = { type: "http" as const, url: "http://mine.example/", headers: {} };
  const peer = await rig.peer({ ...steps({ text: "hm" }), agent: { mcp_servers: { mine } }, post_completion_s: 0.01 });
  let asked: WorkOrder | undefined;
  const start: AgentRuntime["start"] = (order, signal) => createScripted().start((asked = order), signal);
  const env = {
    MCP_SERVER_URL: "http://theirs.example/mcp",
    SETTING_SOURCES: "user",
    ENABLE_ASK_USER_QUESTION: "false",
  };
  await rig.run(peer, env, { runtimes: { scripted: { ...createScripted(), start } } }).exit;
  const orchestrator = { type: "http", url: "http://theirs.example/mcp" };
  expect(asked).toMatchObject({ mcpServers: { mine, orchestrator }, questions: false, settingSources: ["user"] });
});

test("a run that is over is not reported as started again when its worker restarts", async ({ rig }) => {
  const peer = await rig.peer({ ...steps({ text: "done" }), post_completion_s: 0.01 });
  await rig.run(peer).exit;
  await rig.run(peer).exit;
  expect(peer.types().filter((type) => type !== "agent.heartbeat")).toEqual([
    "agent.started",
    "agent.message",
    "agent.completed",
    "agent.transcript_saved",
    "agent.waiting",
    "agent.shutdown",
    "agent.waiting",
    "agent.shutdown",
  ]);
});

test("a worker that is done waits for a server that is away, and one that is told to end does not", async ({ rig }) => {
  const peer = await rig.peer({ ...steps({ text: "up" }), post_completion_s: 0.01 });
  let isAway = true;
  peer.intercept = (request) => (isAway && request.path.endsWith("/events") ? { status: 503 } : undefined);
  const posts = () => peer.requests.filter((request) => request.path.endsWith("/events")).length;
  const patient = rig.run(peer, {}, { drainMs: 1 });
  await peer.until(() => posts() >= 3);
  isAway = false;
  expect(await patient.exit).toMatchObject({ code: 0, unsent: 0 });
  isAway = true;
  peer.queue("keep it busy");
  const hurried = rig.run(peer, {}, { drainMs: 1 });
  const before = posts();
  await peer.until(() => posts() > before);
  expect((await hurried.end("SIGTERM")).unsent).toBeGreaterThan(0);
});

test("what an earlier life left unsent is sent by one that is told to end before it knows what to do", async ({
  rig,
}) => {
  const peer = await rig.peer({ ...steps({ text: "up" }), post_completion_s: 0.01 });
  peer.intercept = (request) => (request.path.endsWith("/events") ? { status: 503 } : undefined);
  const first = rig.run(peer, {}, { drainMs: 300 });
  await peer.until(() => peer.requests.some((request) => request.path.endsWith("/events")));
  const { unsent } = await first.end("SIGTERM");
  expect(unsent).toBeGreaterThan(0);
  peer.intercept = () => undefined;
  expect(await rig.run(peer).end("SIGTERM")).toEqual({ code: 0, reason: "signal", unsent: 0 });
  expect(peer.events).toHaveLength(unsent);
});

test("a full disk stops the agent, not the end that is asked for", async ({ rig }) => {
  const peer = await rig.peer(
    steps({ text: "up" }, { wait_for_message: { seconds: 600 } }, { text: "x".repeat(10_000) }),
  );
  const disk = createMemoryDisk();
  const full = Promise.withResolvers<void>();
  const log = (name: string) => (name === "outbox.waiting" ? full.resolve() : undefined);
  const worker = rig.run(peer, {}, { openDisk: async () => disk, log, drainMs: 50 });
  await peer.until(() => peer.types().includes("agent.waiting"));
  disk.capacity = 0;
  peer.queue("go on");
  await full.promise;
  expect(await worker.end("SIGTERM")).toMatchObject({ code: 0 });
});
