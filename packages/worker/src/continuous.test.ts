import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { ContinuousOptions } from "@drover/contract";
import type { Peer } from "./fixtures/peer.ts";
import { type Rig, test } from "./fixtures/worker-test.ts";

const IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@b"];
const COMMIT = { command: { argv: ["sh", "-c", `git add -A && git ${IDENTITY.join(" ")} commit -qm done`] } };

function git(rig: Rig, ...args: string[]): string {
  return execFileSync("git", [...IDENTITY, ...args], { cwd: rig.cwd }).toString();
}

function makeRepository(rig: Rig): void {
  mkdirSync(rig.cwd, { recursive: true });
  git(rig, "init", "-q");
  git(rig, "commit", "-q", "--allow-empty", "-m", "start");
}

const toAssignment = (script: unknown, options: Partial<ContinuousOptions>) => ({
  script: script as never,
  prompt: "make it so",
  continuous: true,
  continuous_options: ContinuousOptions.parse(options),
  post_completion_s: 0.01,
});

const story = (peer: Peer) =>
  peer.types().filter((type) => /^(continuous|iteration)\.|agent.(completed|failed)$/.test(type));

test("an agent works in iterations until evidence says that it is done, and its notes lie elsewhere", async ({
  rig,
}) => {
  makeRepository(rig);
  const script = {
    steps: [{ edit: { path: "a.txt", content: "1\n" } }, { text: "TASK_COMPLETE, everything is committed and pushed" }],
    on_message: [{ when: "not committed", steps: [COMMIT, { text: "now" }] }],
  };
  const peer = await rig.peer(toAssignment(script, { require: ["committed", "tests"] }));
  // What the worker's own environment asks for wins.
  const env = { REQUIRE_CLEAN_GIT: "true", REQUIRE_TESTS: "false" };
  expect(await rig.run(peer, env).exit).toMatchObject({ code: 0 });
  expect(story(peer)).toEqual([
    "continuous.started",
    "iteration.started",
    "iteration.completion_signal",
    "iteration.validation",
    "iteration.completed",
    "iteration.started",
    "iteration.validation",
    "iteration.completed",
    "continuous.completed",
    "agent.completed",
  ]);
  expect(peer.data("iteration.validation")).toMatchObject([
    { iteration_num: 1, passed: false, errors: [expect.any(String), expect.any(String)] },
    { iteration_num: 2, passed: true, git_status: { is_clean: true } },
  ]);
  expect(peer.data("iteration.completion_signal")).toMatchObject([
    { iteration_num: 1, signal_count: 1, threshold: 1, turn: 1 },
  ]);
  expect(peer.data("continuous.started")).toMatchObject([{ completion_signal: "TASK_COMPLETE" }]);
  expect(peer.data("continuous.completed")).toMatchObject([{ stop_reason: "validation_passed", files_changed: 1 }]);
  expect(peer.data("agent.completed")).toMatchObject([
    { success: true, code_committed: true, final_output: "now", files_changed: 1 },
  ]);
  expect(peer.data("agent.message_injected")).toEqual([]);
  expect(peer.requests.filter(({ path }) => path.includes("/ack"))).toEqual([]);
  expect(readdirSync(rig.cwd).toSorted()).toEqual([".git", "a.txt"]);
  expect(git(rig, "status", "--porcelain")).toBe("");
});

test("a worker that only looks around is asked for no evidence, and notes lie where the environment says", async ({
  rig,
}) => {
  makeRepository(rig);
  const script = { steps: [{ text: "seen" }], on_message: [{ steps: [COMMIT, { text: "again" }] }] };
  const looking = await rig.peer(toAssignment(script, { require: ["committed"] }));
  await rig.run(looking, { EXECUTION_MODE: "exploration", COMPLETION_SIGNAL: "seen" }).exit;
  expect(looking.data("iteration.completion_signal")).toHaveLength(1);
  expect(looking.data("continuous.completed")).toMatchObject([{ completion_signal_count: 1 }]);
  expect(looking.data("iteration.validation")).toMatchObject([{ passed: true }]);

  const noting = await rig.peer(toAssignment(script, { require: ["committed"], max_iterations: 1 }));
  const state = { STATE_DIR: `${rig.cwd}/../noting`, NOTES_FILE: `${rig.cwd}/../notes.md` };
  await rig.run(noting, { ...state, REQUIRE_PR_CREATED: "true" }).exit;
  expect(noting.data("iteration.validation")).toMatchObject([{ errors: [expect.any(String), expect.any(String)] }]);
  expect(readFileSync(state.NOTES_FILE, "utf8")).toMatch(/^## Iteration 1\nNothing has been committed.*\n.*push it\./);
});

/** Broken on purpose, seen here: a branch of that name at origin taken for what is here. */
test("work that is to be pushed is done when origin has what is here, and not when it has another commit", async ({
  rig,
}) => {
  makeRepository(rig);
  git(rig, "init", "-q", "--bare", "../origin.git");
  git(rig, "remote", "add", "origin", `${rig.cwd}/../origin.git`);
  // A branch of that name is there already, with what was before.
  git(rig, "push", "-q", "origin", "HEAD");
  const script = {
    steps: [{ edit: { path: "a.txt", content: "1\n" } }, COMMIT, { text: "pushed!" }],
    on_message: [{ when: "push it", steps: [{ command: { argv: ["git", "push", "-q", "origin", "HEAD"] } }] }],
  };
  const peer = await rig.peer(toAssignment(script, { require: ["committed", "pushed"] }));
  await rig.run(peer).exit;
  expect(peer.data("iteration.validation")).toMatchObject([
    { passed: false, errors: [expect.stringContaining("push it")] },
    { passed: true },
  ]);
  expect(peer.data("agent.completed")).toMatchObject([{ success: true, code_pushed: true, code_committed: true }]);
});

test("iterations, errors in a row, time and what models cost have limits, and what is not done by then has failed", async ({
  rig,
}) => {
  makeRepository(rig);
  const failing = await rig.peer(
    toAssignment(
      { steps: [{ text: "one" }], on_message: [{ steps: [{ text: "again" }] }] },
      { require: ["tests"], test_command: ["node", "-e", "console.log('3 of 4'); process.exit(1)"], max_iterations: 2 },
    ),
  );
  await rig.run(failing).exit;
  expect(failing.data("continuous.completed")).toMatchObject([
    { stop_reason: "max_iterations_reached", successful_iterations: 2, tests_passed: false },
  ]);
  expect(failing.data("agent.failed")[0]?.error).toContain("3 of 4");

  const erring = await rig.peer(
    toAssignment(
      { steps: [{ fail: "no model" }], on_message: [{ steps: [{ fail: "still none" }] }] },
      { max_errors: 2 },
    ),
  );
  await rig.run(erring, { STATE_DIR: `${rig.cwd}/../erring` }).exit;
  expect(erring.data("iteration.failed").map((data) => data.error)).toEqual(["no model", "still none"]);
  expect(erring.data("continuous.completed")).toMatchObject([{ stop_reason: "consecutive_errors" }]);

  // The agent counts no cost; the gateway does.
  const again = { steps: [{ text: "one" }], on_message: [{ steps: [{ text: "again" }] }] };
  const dear = await rig.peer({ ...toAssignment(again, { max_cost_usd: 2 }), spent_usd: 2.5 });
  await rig.run(dear, { STATE_DIR: `${rig.cwd}/../dear` }).exit;
  expect(dear.data("iteration.completed")).toMatchObject([{ cost_usd: 2.5, total_cost_usd: 2.5 }]);
  expect(dear.data("continuous.completed")).toMatchObject([
    { stop_reason: "max_cost_reached", total_cost_usd: 2.5, iteration_num: 1 },
  ]);

  const slow = await rig.peer(toAssignment({ steps: [{ wait: 600 }] }, { max_duration_s: 1 }));
  await rig.run(slow, { STATE_DIR: `${rig.cwd}/../slow` }).exit;
  expect(slow.data("continuous.completed")).toMatchObject([{ stop_reason: "max_duration_reached" }]);
  expect(slow.data("agent.failed")).toHaveLength(1);
});

test("who only looks around is done after one iteration", async ({ rig }) => {
  const peer = await rig.peer(toAssignment({ steps: [{ text: "seen" }] }, { require: [] }));
  await rig.run(peer).exit;
  expect(peer.data("iteration.started")).toHaveLength(1);
  expect(peer.data("agent.completed")).toMatchObject([{ validation_passed: true }]);
});

test("a worker that dies between two iterations goes on with the second", { timeout: 60_000 }, async ({ rig }) => {
  makeRepository(rig);
  const script = {
    steps: [{ edit: { path: "a.txt", content: "1\n" } }],
    on_message: [{ steps: [{ crash: true }, COMMIT] }],
  };
  const peer = await rig.peer(toAssignment(script, { require: ["clean", "committed"] }));
  expect(await rig.spawn(peer).gone).toBe("SIGKILL");
  expect(await rig.spawn(peer, { POST_COMPLETION_SECONDS: "0.05" }).gone).toBe(0);
  expect(peer.data("continuous.started")).toHaveLength(1);
  expect(peer.data("iteration.started").map((data) => data.iteration_num)).toEqual([1, 2]);
  expect(peer.data("agent.completed")).toMatchObject([{ success: true, successful_iterations: 2 }]);
});

test("a word of its own choosing, said in one iteration after another, is counted until the threshold, and ends nothing", async ({
  rig,
}) => {
  makeRepository(rig);
  const script = {
    steps: [{ text: "ALL FINE, almost" }, { text: "more" }],
    on_message: [{ steps: [{ text: "ALL FINE" }] }],
  };
  const options = { require: ["committed" as const], max_iterations: 3 };
  const peer = await rig.peer(
    toAssignment(script, { ...options, completion_signal: "ALL FINE", completion_threshold: 2 }),
  );
  await rig.run(peer).exit;
  expect(peer.data("iteration.completion_signal")).toMatchObject([
    { iteration_num: 1, signal_count: 1, threshold: 2, turn: 1 },
    { iteration_num: 2, signal_count: 2, threshold: 2, turn: 2 },
    { iteration_num: 3, signal_count: 1, threshold: 2, turn: 3 },
  ]);
  expect(peer.data("iteration.completed").map((data) => data.completion_signal_count)).toEqual([1, 2, 1]);
  expect(peer.data("continuous.completed")).toMatchObject([
    { stop_reason: "max_iterations_reached", validation_passed: false },
  ]);
});
