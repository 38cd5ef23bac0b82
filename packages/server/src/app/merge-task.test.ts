/** Branches that conflict: resolved by an agent where the project has one, kept only when the tests pass, and else left to a person. */
import { join } from "node:path";
import type { MergeAttempt, ProjectId, Task, Ticket } from "@drover/contract";
import { expect, vi } from "vitest";
import { commitFiles, readCommitted } from "../../../testkit/src/git/commit-files.ts";
import { startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { after, becomes, createWork, finish, loadTask, takeOver } from "../../../testkit/src/work.ts";
import { openProjectGit } from "./project-git.ts";

vi.setConfig({ testTimeout: 400_000 });
/** Many processes of Git, one after the other. */
const FACT_MS = 100_000;
const { signal } = new AbortController();

const RESOLVER = { runtime: "scripted" };
const TESTS = { argv: ["npm", "test"] };

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Two tasks beside each other that both write these files, a third that goes on behind them, and hands to play their agents. */
async function openQuarrel(
  server: TestServer,
  settings: Readonly<Record<string, unknown>>,
  toFiles: (side: "left" | "right") => Files = (side) => ({ "sheep.txt": `${side}\n` }),
) {
  const work = await createWork(server, settings);
  const git = await openProjectGit(server.deps, work.projectId as ProjectId);
  await git.host.ensureRepository(git.repo, signal);
  const gitDir = join(server.dataDir, "git", `${work.projectId}.git`);
  const tip = async (branch: string) =>
    (await server.deps.git.objects.resolve(work.projectId, `refs/heads/${branch}`, signal)) ?? "";
  const branchOf = async (sandboxId: string): Promise<string> =>
    (await server.call("GET", `/sandboxes/${sandboxId}`)).body.branch;
  const put = async (branch: string, files: Files, others: readonly string[] = []) => {
    const from = await tip(branch);
    const merged = await Promise.all(others.map(tip));
    const commit = commitFiles(gitDir, { parents: [from, ...merged], files, message: "work" });
    await git.host.ensureAdvanced(git.repo, branch, from, commit, signal);
  };
  // Nothing begins before all of them are there: what runs beside others is known then.
  await server.call("POST", `/tickets/${work.ticketId}/block`, { body: { reason: "environment" } });
  const sides = [await work.add("left"), await work.add("right")] as const;
  const last = await work.add("last", after(...sides));
  await server.call("POST", `/tickets/${work.ticketId}/unblock`);
  const branches: string[] = [];
  for (const [at, task] of sides.entries()) {
    const worker = await takeOver(server, task);
    const branch = await branchOf(worker.sandboxId);
    branches.push(branch);
    await put(branch, toFiles(at === 0 ? "left" : "right"));
  }
  for (const task of sides) await finish(server, task);
  const ticketBranch = branches[0]?.replace(/--.*$/, "") ?? "";
  const listTasks = async (type: string): Promise<readonly Task[]> =>
    (await server.call("GET", `/tasks?ticket_id=${work.ticketId}`)).body.items.filter(
      (one: Task) => one.task_type === type,
    );
  return {
    ticketId: work.ticketId,
    last,
    ticketBranch,
    /** Which of the two was merged first is theirs to say. */
    conflicting: async (): Promise<string> => {
      const { body } = await server.call("GET", `/merge-attempts?ticket_id=${work.ticketId}`);
      return body.items.flatMap((one: MergeAttempt) => one.conflicts)[0].branch;
    },
    tip,
    put,
    branchOf,
    read: (branch: string, path: string) => readCommitted(gitDir, branch, path),
    ticket: async (): Promise<Ticket> => (await server.call("GET", `/tickets/${work.ticketId}`)).body,
    merges: async (): Promise<readonly MergeAttempt[]> =>
      (await server.call("GET", `/merge-attempts?ticket_id=${work.ticketId}`)).body.items,
    /** The task of this type that Drover has added, once it is there. */
    added: async (type: string, number = 1): Promise<Task> => {
      await expect
        .poll(async () => (await listTasks(type)).length, { timeout: FACT_MS, interval: 20 })
        .toBeGreaterThanOrEqual(number);
      const found = (await listTasks(type)).toSorted((a, b) => a.created_at.localeCompare(b.created_at));
      const task = found[number - 1];
      if (task === undefined) throw new Error(`there is no task of type ${type}`);
      return task;
    },
    /** Waits until a person is asked, and why. */
    isBlockedBy: async (why: string) => {
      await expect.poll(() => readCause(server, work.ticketId), { timeout: FACT_MS, interval: 20 }).toContain(why);
    },
  };
}

async function readCause(server: TestServer, id: string): Promise<string> {
  const { body } = await server.call("GET", `/tickets/${id}`);
  return body.is_blocked ? String(body.context.blocked_cause) : "";
}

/** A task of Drover's own fails for good: it is tried twice. */
async function failTwice(server: TestServer, task: Task, error: string): Promise<void> {
  for (const number of [1, 2]) {
    const worker = await takeOver(server, task, number);
    await worker.say("agent.started");
    await worker.say("agent.failed", { error });
  }
}

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { maxConcurrentTasks: 1_000, retryBaseSeconds: 0.01 } });
      await use(server);
    },
    { scope: "file" },
  ],
});

test("an agent merges what conflicts; the fewest conflicts come first, and what was tested is kept", async ({
  server,
}) => {
  const quarrel = await openQuarrel(server, { conflict_resolver: RESOLVER, merge_tests: TESTS });
  const resolver = await quarrel.added("resolve_conflicts");
  expect(resolver).toMatchObject({ execution_config: { runtime: "scripted", force_execute: true } });
  expect(resolver.description).toContain("sheep.txt");
  const conflicting = await quarrel.conflicting();
  expect(resolver.description).toContain(`origin/${conflicting}`);
  const before = await quarrel.tip(quarrel.ticketBranch);
  await becomes(server, quarrel.last, "pending");
  expect(await loadTask(server, quarrel.last.id)).toMatchObject({
    dependencies: { depends_on: expect.arrayContaining([resolver.id]) },
  });

  const agent = await takeOver(server, resolver);
  const branch = await quarrel.branchOf(agent.sandboxId);
  // One side is merged there already: the agent has only to bring in the other.
  expect(quarrel.read(branch, "sheep.txt")).toMatch(/^(?:left|right)\n$/);
  expect(quarrel.read(branch, "sheep.txt")).not.toBe(quarrel.read(conflicting, "sheep.txt"));
  await quarrel.put(branch, { "sheep.txt": "left and right\n" }, [conflicting]);
  await finish(server, resolver);

  const tests = await quarrel.added("test_merge");
  expect(tests.execution_config).toMatchObject({
    runtime: "scripted",
    script: { steps: [{ command: { argv: TESTS.argv, required: true } }] },
  });
  const tester = await takeOver(server, tests);
  expect(quarrel.read(await quarrel.branchOf(tester.sandboxId), "sheep.txt")).toBe("left and right\n");
  expect(await quarrel.tip(quarrel.ticketBranch)).toBe(before);
  await finish(server, tests);

  await takeOver(server, quarrel.last);
  expect(quarrel.read(quarrel.ticketBranch, "sheep.txt")).toBe("left and right\n");
  // One more came when the last task began, and had nothing left to do.
  const [resolved, kept] = (await quarrel.merges()).toReversed();
  expect(resolved).toMatchObject({
    status: "resolved",
    merge_task_id: resolver.id,
    conflicts: [{ branch: conflicting, files: [{ path: "sheep.txt" }] }],
  });
  expect(kept).toMatchObject({ status: "completed", merge_task_id: tests.id, from_commit: before });
  expect(kept?.result_commit).toBe(await quarrel.tip(quarrel.ticketBranch));
  for (const { scores, merged } of kept?.rounds ?? []) {
    const least = Math.min(...Object.values(scores).map(({ count }) => count ?? Infinity));
    expect(scores[merged ?? ""]?.count).toBe(least);
  }
});

test("tests that fail keep nothing: the ticket waits for a person, and goes on when unblocked", async ({ server }) => {
  const quarrel = await openQuarrel(server, { merge_tests: TESTS }, (side) => ({ [`${side}.txt`]: "1\n" }));
  const tests = await quarrel.added("test_merge");
  const before = await quarrel.tip(quarrel.ticketBranch);
  await failTwice(server, tests, "npm exited with 1: 2 of 5 tests fail");
  await quarrel.isBlockedBy("2 of 5 tests fail");
  expect(await quarrel.tip(quarrel.ticketBranch)).toBe(before);
  expect((await quarrel.merges())[0]).toMatchObject({ status: "tests_failed" });
  await becomes(server, quarrel.last, "pending");
  expect((await loadTask(server, quarrel.last.id)).is_ready).toBe(false);

  await server.call("POST", `/tickets/${quarrel.ticketId}/unblock`);
  const again = await quarrel.added("test_merge", 2);
  await finish(server, again);
  await finish(server, quarrel.last);
  await becomes(server, quarrel.last, "completed");
  expect(quarrel.read(quarrel.ticketBranch, "right.txt")).toBe("1\n");
  // What failed on the way is none of the ticket's own work.
  await expect.poll(async () => (await quarrel.ticket()).status, { timeout: FACT_MS }).toBe("done");
});

test("without an agent a conflict blocks the ticket; merged by hand and unblocked it goes on", async ({ server }) => {
  const quarrel = await openQuarrel(server, {});
  await quarrel.isBlockedBy("sheep.txt");
  // The ticket is blocked a moment before the claim is given back.
  await becomes(server, quarrel.last, "pending");
  expect(await loadTask(server, quarrel.last.id)).toMatchObject({ retry_count: 0 });
  await quarrel.put(quarrel.ticketBranch, { "sheep.txt": "both\n" }, [await quarrel.conflicting()]);
  await server.call("POST", `/tickets/${quarrel.ticketId}/unblock`);
  await finish(server, quarrel.last);
  await becomes(server, quarrel.last, "completed");
  expect((await quarrel.merges()).map(({ status }) => status)).toContain("conflict");
});

test.for(["markers", "nothing"] as const)("an agent that leaves %s has resolved nothing", async (left, { server }) => {
  const quarrel = await openQuarrel(server, { conflict_resolver: RESOLVER });
  const resolver = await quarrel.added("resolve_conflicts");
  const agent = await takeOver(server, resolver);
  const before = await quarrel.tip(quarrel.ticketBranch);
  const text = "<<<<<<< HEAD\nleft\n=======\nright\n>>>>>>> other\n";
  if (left === "markers")
    await quarrel.put(await quarrel.branchOf(agent.sandboxId), { "sheep.txt": text }, [await quarrel.conflicting()]);
  await finish(server, resolver);
  await quarrel.isBlockedBy(left === "markers" ? "conflict markers" : "pushed nothing");
  expect(await quarrel.tip(quarrel.ticketBranch)).toBe(before);
});

/** Broken on purpose, each seen to fail here: only own branches of tasks are looked for; what is merged already is not. */
test("a task that waits for one of another ticket begins with its work, on whatever branch that lies", async ({
  server,
}) => {
  const work = await createWork(server, { auto_merge: false });
  const git = await openProjectGit(server.deps, work.projectId as ProjectId);
  await git.host.ensureRepository(git.repo, signal);
  const gitDir = join(server.dataDir, "git", `${work.projectId}.git`);
  const other = await createWork(server, {}, { project_id: work.projectId, title: "goes on from there" });
  const first = await work.add("first");
  const last = await work.add("last", after(first));
  const held = await other.add("waits for first", after(first));
  const behind = await other.add("waits for last", after(held, last));
  // So its ticket's branch is older than what the others do.
  await finish(server, await other.add("waits for nobody"));
  const commit = async (task: Task, path: string) => {
    const worker = await takeOver(server, task);
    const { branch } = (await server.call("GET", `/sandboxes/${worker.sandboxId}`)).body;
    const from = (await server.deps.git.objects.resolve(work.projectId, `refs/heads/${branch}`, signal)) ?? "";
    const made = commitFiles(gitDir, { parents: [from], files: { [path]: "1\n" }, message: "work" });
    await git.host.ensureAdvanced(git.repo, branch, from, made, signal);
    return branch as string;
  };
  const own = await commit(first, "hay.txt");
  await finish(server, first);
  const branch = await commit(held, "straw.txt");
  expect([own === branch, readCommitted(gitDir, branch, "hay.txt")]).toEqual([false, "1\n"]);

  await commit(last, "oats.txt");
  await finish(server, last);
  const listPulls = async () => (await server.call("GET", `/pulls?ticket_id=${work.ticketId}`)).body.items;
  await expect.poll(async () => (await listPulls()).length, { timeout: FACT_MS }).toBe(1);
  await server.call("POST", `/pulls/${(await listPulls())[0].id}/merge`, { body: {} });
  await finish(server, held);
  expect(readCommitted(gitDir, await commit(behind, "corn.txt"), "oats.txt")).toBe("1\n");
});

test("binary files are for a person, whatever agent there is", async ({ server }) => {
  const quarrel = await openQuarrel(server, { conflict_resolver: RESOLVER }, (side) => ({
    "sheep.png": Buffer.from([0, 1, side === "left" ? 2 : 3]),
  }));
  await quarrel.isBlockedBy("sheep.png");
  expect((await quarrel.merges())[0]).toMatchObject({ status: "manual", merge_task_id: null });
});
