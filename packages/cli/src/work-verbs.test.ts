/** The verbs of tickets, tasks, money and supervision: the real binary against the real server. */
import { createClient } from "@drover/client";
import { expect } from "vitest";
import { COLUMNS, runBinary } from "../../testkit/src/drover-binary.ts";
import { ADMIN_TOKEN, test, type TestServer } from "../../testkit/src/server.ts";
import { toTrial } from "../test/terminal-double.ts";
import { EXIT } from "./exit-code.ts";
import { runCommand } from "./run-command.ts";

/** What a person reads: it went well and fits the terminal. */
async function read(server: TestServer, ...argv: readonly string[]): Promise<string> {
  const { code, out, err } = await runBinary(server, ...argv);
  expect(code, `${argv.join(" ")}: ${err}`).toBe(EXIT.ok);
  for (const line of out.split("\n")) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  return out;
}

async function readJson<T>(server: TestServer, ...argv: readonly string[]): Promise<T> {
  const { code, out, err } = await runBinary(server, ...argv, "--json");
  expect(code, `${argv.join(" ")}: ${err}`).toBe(EXIT.ok);
  return JSON.parse(out) as T;
}

/** The same in this process, which is quicker: verbs that were run as a process already. */
async function say(server: TestServer, ...argv: readonly string[]) {
  const trial = toTrial({ env: { DROVER_URL: server.url, DROVER_TOKEN: ADMIN_TOKEN }, createClient });
  const code = await runCommand(trial.context, argv);
  for (const line of trial.out) expect(line.length, line).toBeLessThanOrEqual(COLUMNS);
  return { code, out: trial.out.map((line) => `${line}\n`).join(""), err: trial.err.join("\n") };
}

async function tell(server: TestServer, ...argv: readonly string[]): Promise<string> {
  const { code, out, err } = await say(server, ...argv);
  expect(code, `${argv.join(" ")}: ${err}`).toBe(EXIT.ok);
  return out;
}

interface Made {
  readonly id: string;
}

const LONG = "Make the parser twice as fast and explain every change to those who maintain it";

test("a ticket, its tasks and their order", async ({ server }) => {
  expect(await read(server, "ticket", "list", "-q", "nothing is called so")).toBe("There are no such tickets.\n");
  // Forced, because a second try of this test finds the ticket of the first.
  const ticket = await readJson<Made>(
    server,
    "ticket",
    "create",
    LONG,
    "--priority",
    "HIGH",
    "--type",
    "docs",
    "--force",
  );
  const [shown, first] = await Promise.all([
    read(server, "ticket", "show", ticket.id),
    readJson<Made>(server, "task", "create", ticket.id, "measure"),
  ]);
  expect(shown).toContain(ticket.id);
  expect(shown).toMatch(/^kind +docs$/m);
  expect(shown.replaceAll(/\s+/g, " ")).toContain(LONG);
  const second = await readJson<Made>(server, "task", "create", ticket.id, "rewrite", "--after", first.id);
  const [tickets, tasks, graph, task] = await Promise.all([
    read(server, "ticket", "list"),
    read(server, "task", "list", "--ticket", ticket.id),
    read(server, "graph", ticket.id),
    read(server, "task", "show", second.id),
  ]);
  const [held, forced] = await Promise.all([
    runBinary(server, "task", "create", ticket.id, "tell", "--after", second.id),
    runBinary(server, "task", "create", ticket.id, "tell all", "--after", second.id, "--force"),
  ]);
  expect([held.code, forced.code]).toEqual([EXIT.ok, EXIT.ok]);
  expect(held.err).toContain("starts no tasks by itself");
  expect(forced.err).toBe("");
  expect(tickets).toMatch(new RegExp(`^${ticket.id} +\\S+ +HIGH `, "m"));
  expect(tasks).toMatch(new RegExp(`^${first.id} .* measure$`, "m"));
  expect(tasks).toMatch(new RegExp(`^${second.id} .* rewrite$`, "m"));
  expect(graph).toMatch(new RegExp(` ${second.id.slice(0, 8)} .* ${first.id.slice(0, 8)} +rewrite$`, "m"));
  expect(task).toMatch(new RegExp(`^after +${first.id}$`, "m"));
  const set = await say(
    server,
    "task",
    "set",
    second.id,
    "--title",
    "rewrite it",
    "--priority",
    "LOW",
    "--timeout",
    "60",
  );
  expect(set).toMatchObject({ code: EXIT.ok, out: expect.stringMatching(/^title +rewrite it$/m) as string });
  expect(set.out).toMatch(/^priority +LOW$/m);
  expect((await say(server, "task", "set", second.id)).code).toBe(EXIT.usage);
  expect((await say(server, "task", "free", second.id, first.id)).out).toMatch(/^after +nothing$/m);
  expect((await say(server, "task", "after", second.id, first.id)).out).toMatch(
    new RegExp(`^after +${first.id}$`, "m"),
  );
  expect((await say(server, "task", "after", first.id, second.id)).code).toBe(EXIT.refused);
  expect((await say(server, "task", "list", "--ready")).code).toBe(EXIT.ok);
  expect((await say(server, "task", "list", "--ready", "--ticket", ticket.id)).code).toBe(EXIT.usage);
  expect((await say(server, "ticket", "progress", ticket.id)).out).toMatch(/^0 of 4 tasks are done \(0 %\): /);
  expect((await say(server, "ticket", "set", ticket.id, "--priority", "CRITICAL")).out).toMatch(
    /^priority +CRITICAL$/m,
  );
  expect(await tell(server, "task", "cancel", second.id)).toBe(`${second.id} cancelled\n`);
  expect(await tell(server, "task", "show", second.id)).toMatch(/^state +cancelled$/m);
  expect(await tell(server, "ticket", "block", ticket.id, "environment")).toMatch(/^state +backlog \(blocked\)$/m);
  expect(await tell(server, "ticket", "why", ticket.id)).toMatch(/^flag +environment$/m);
  expect(await tell(server, "ticket", "unblock", ticket.id)).toMatch(/^state +backlog$/m);
  const other = await readJson<Made>(server, "ticket", "create", "Readers of the parser", "--force");
  expect(await tell(server, "ticket", "after", other.id, ticket.id)).toContain(ticket.id);
  expect((await say(server, "ticket", "after", ticket.id, other.id)).err).toContain("would wait for each other");
  expect(await tell(server, "ticket", "free", other.id, ticket.id)).toBe("It waits for no other ticket.\n");
  expect(await tell(server, "ticket", "comment", other.id, "which readers?")).toMatch(/^comment-/);
  expect(await tell(server, "ticket", "comments", other.id)).toMatch(/ general +which readers\?$/m);
  expect(await tell(server, "ticket", "search", "reading", "parsers")).toMatch(new RegExp(`^${other.id} +- +1 `, "m"));
  expect(await tell(server, "ticket", "search", "readers", "--by", "keyword")).toMatch(
    new RegExp(`^${other.id} +1 +- +backlog `, "m"),
  );
  expect((await say(server, "ticket", "search", "x", "--by", "guess")).code).toBe(EXIT.usage);
  expect(await tell(server, "ticket", "resolve", other.id, "nobody reads it")).toMatch(/^state +done$/m);
  expect(await tell(server, "ticket", "history", other.id)).toMatch(/ user +TICKET_COMMENTED$/m);
  expect(await read(server, "broadcast", "stop", "--ticket", ticket.id)).toBe("No agent is at work there.\n");
  expect(await tell(server, "task", "fail", first.id, "--reason", "it cannot be measured")).toBe(
    `${first.id} failed\n`,
  );
  expect(await tell(server, "task", "show", first.id)).toMatch(/^error +it cannot be measured$/m);
  const idle = await say(server, "task", "timeout", first.id);
  expect([idle.code, idle.out]).toEqual([EXIT.refused, ""]);
  expect((await say(server, "task", "move", first.id, "gone")).code).toBe(EXIT.usage);
  expect(await tell(server, "task", "move", first.id, "pending")).toMatch(/^state +(pending|ready)$/m);
});

test("money: costs, budgets and prices", async ({ server }) => {
  expect(await read(server, "costs")).toMatch(/^\$0\.00 +0 +0 +0 +all models$/m);
  const budget = await readJson<Made>(server, "budgets", "create", "global", "--limit", "5");
  expect(await read(server, "budgets", "list")).toMatch(
    new RegExp(`^${budget.id} +\\$0\\.00 +\\$5\\.00 .*global$`, "m"),
  );
  expect(await read(server, "prices", "set", "a-model-*", "--input", "3", "--output", "15")).toMatch(/ a-model-\*$/m);
  expect(await read(server, "prices", "list")).toMatch(/^3 +15 +- +- +edited \S+ +a-model-\*$/m);
  expect(await read(server, "budgets", "rm", budget.id)).toBe(`${budget.id} removed\n`);
});

test("webhooks: made, switched, tried, looked at, removed", async ({ server }) => {
  const url = "https://receiver.example/hook";
  const hook = await readJson<Made & { secret: string }>(server, "webhook", "create", url, "--event", "agent.*");
  expect(hook.secret).toMatch(/^whsec_/);
  expect(await read(server, "webhook", "off", hook.id)).toMatch(
    new RegExp(`^${hook.id} +off +agent\\.\\* +https`, "m"),
  );
  const sent = await readJson<Made>(server, "webhook", "ping", hook.id);
  const [listed, log, again, rotated] = await Promise.all([
    read(server, "webhook", "list"),
    read(server, "webhook", "log", hook.id, "--state", "pending"),
    read(server, "webhook", "redeliver", hook.id, sent.id),
    readJson<{ secret: string }>(server, "webhook", "rotate", hook.id),
  ]);
  expect(listed).toContain(hook.id);
  expect(log).toMatch(new RegExp(`^${sent.id} +pending +0 +- +webhook.ping$`, "m"));
  expect(again).toContain(sent.id);
  expect(rotated.secret).not.toBe(hook.secret);
  expect(await runBinary(server, "webhook", "create", "https://127.0.0.1/")).toMatchObject({ code: EXIT.refused });
  expect(await read(server, "webhook", "rm", hook.id)).toBe(`${hook.id} removed\n`);
});

test("agents, pull requests, supervision and permissions", async ({ server, sandbox }) => {
  const [agents, pulls, monitor, guardian, permissions] = await Promise.all([
    read(server, "agents", "list"),
    read(server, "pr", "list"),
    read(server, "monitor"),
    read(server, "guardian", sandbox.id),
    read(server, "permissions", sandbox.id),
  ]);
  expect(agents).toMatch(/^claude +\S+ /m);
  expect(pulls).toBe("There are no such pull requests.\n");
  expect(monitor).toMatch(/^tasks +\d+ pending, \d+ completed$/m);
  expect(guardian).toMatch(new RegExp(`^${sandbox.id} is `));
  expect(permissions).toBe("The agent asks for nothing.\n");
});

test("exit codes: not understood, refused, not reachable", async ({ server }) => {
  const nowhere = { url: "http://127.0.0.1:1" };
  const [wrong, refused, malformed, gone] = await Promise.all([
    runBinary(server, "budgets", "create", "global", "--limit", "5", "--warn-at", "much"),
    runBinary(server, "task", "show", "00000000-0000-4000-8000-000000000000"),
    runBinary(server, "task", "create", "not-an-id", "measure"),
    runBinary(nowhere, "ticket", "list"),
  ]);
  expect(wrong).toMatchObject({ code: EXIT.usage, out: "" });
  expect(wrong.err).toContain("--warn-at takes a share");
  expect(refused).toMatchObject({ code: EXIT.refused, out: "" });
  expect(refused.err).toContain("`drover task list`");
  expect(malformed.err).toBe("drover: body ticket_id: is not the id of a ticket.\n");
  expect(gone).toMatchObject({ code: EXIT.unreachable, out: "" });
  expect(gone.err).toContain("drover up");
});
