/** Kinds of tests: `fast`, `processes` and `containers` beside the sources, and `e2e`, `agents`, `browser`, `chaos` in the testkit. Those
 *  four are one queue: each starts whole servers and waits for them often, and two files wait better than one. */
import { defineConfig } from "vitest/config";
import { OutcomeReporter } from "./packages/testkit/src/outcome-reporter.ts";

const POSTGRES = "./packages/testkit/src/global-postgres.ts";
const SANDBOXES = "./packages/testkit/src/global-sandboxes.ts";
const AGENTS = "./packages/testkit/src/global-agents.ts";
/** A shared machine may stand still for longer than any limit; what fails twice is broken. See docs/DECISIONS.md, 17. */
const RETRIES = process.env.CI === undefined ? 0 : 1;
/** How long `expect.poll` looks for a fact. Nothing waits this long unless it fails. */
const POLL_MS = 20_000;
/** They start a dockerd, as root. */
const CONTAINERS = [
  "packages/*/src/**/sandbox-docker.test.ts",
  "packages/harness/src/docker.test.ts",
  "packages/testkit/src/hostile/docker.test.ts",
];
/** They start databases, sandboxes, workers and git, and kill them. */
const PROCESSES = [
  "packages/server/src/adapters/{sandbox-*,postgres-*,checkpoint-git}.test.ts",
  "packages/server/src/adapters/local/*.test.ts",
  "packages/server/src/app/{branch-workflow,claim-tasks,dispatch-tasks,fill-workspace,follow-tasks,govern-egress,inside-sandbox,merge-task,pause-sandbox,provision-sandboxes,prune-sandboxes,read-ticket,replace-lost,work-gates}.test.ts",
  "packages/server/src/http/{agent-events,preview,pty-socket,git-endpoint,github-webhook,mcp,replicas}.test.ts",
  "packages/server/src/adapters/git-*.test.ts",
  "packages/worker/src/{continuous,crash,watch-workspace}.test.ts",
  "packages/worker/src/agents/{acp,openhands}/*.test.ts",
  "packages/cli/src/{sandbox-verbs,run-verbs,work-verbs,program-verbs,agent-server/*,doctor/*}.test.ts",
  "packages/server/src/app/archive/*.test.ts",
  "packages/harness/src/*.test.ts",
  "packages/testkit/src/hostile/**/*.test.ts",
];
const OUTAGE = "packages/testkit/src/chaos/outage.test.ts";
const ELSEWHERE = [
  "**/node_modules/**",
  "**/dist/**",
  "packages/testkit/fixtures/**",
  "packages/testkit/src/{e2e,agents,browser,chaos}/**",
  ...CONTAINERS,
  ...PROCESSES,
];

interface Kind {
  readonly name: string;
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
  /** Several times what a quiet machine needs: a limit ends what hangs, and measures nothing. */
  readonly testSeconds: number;
  readonly hookSeconds: number;
  /** Its turn; kinds with the same one share a queue, and `atOnce`. */
  readonly turn: number;
  /** Files that run at once. */
  readonly atOnce: number;
  /** Once for all its files, before the first kind begins. */
  readonly setup?: readonly string[];
  /** Files of a worker share its modules: what takes a third of a file's time is loaded once. */
  readonly shareModules?: boolean;
}

const KINDS: readonly Kind[] = [
  {
    name: "fast",
    include: ["packages/*/src/**/*.test.{ts,tsx}", "scripts/**/*.test.ts", "bench/**/*.test.ts"],
    exclude: ELSEWHERE,
    testSeconds: 60,
    hookSeconds: 60,
    turn: 0,
    // One more than there are cores: some wait for a time that passes by itself.
    atOnce: 3,
    shareModules: true,
  },
  {
    name: "processes",
    include: PROCESSES,
    exclude: ["**/node_modules/**", ...CONTAINERS],
    testSeconds: 120,
    hookSeconds: 120,
    turn: 1,
    atOnce: 2,
    shareModules: true,
  },
  { name: "containers", include: CONTAINERS, testSeconds: 180, hookSeconds: 180, turn: 2, atOnce: 1 },
  {
    name: "e2e",
    include: ["packages/testkit/src/e2e/**/*.test.ts"],
    testSeconds: 240,
    hookSeconds: 120,
    turn: 3,
    atOnce: 2,
  },
  /** Real agents, fetched from npm while the kinds before run. */
  {
    name: "agents",
    include: ["packages/testkit/src/agents/**/*.test.ts"],
    testSeconds: 240,
    hookSeconds: 900,
    turn: 3,
    atOnce: 2,
    setup: [AGENTS],
  },
  {
    name: "browser",
    include: ["packages/testkit/src/browser/**/*.test.ts"],
    testSeconds: 180,
    hookSeconds: 180,
    turn: 3,
    atOnce: 2,
  },
  {
    name: "chaos",
    include: ["packages/testkit/src/chaos/**/*.test.ts"],
    exclude: ["**/node_modules/**", OUTAGE],
    testSeconds: 3_600,
    hookSeconds: 90,
    turn: 3,
    atOnce: 2,
  },
  /** Says how soon all are back: with nothing beside it. */
  { name: "outage", include: [OUTAGE], testSeconds: 3_600, hookSeconds: 90, turn: 4, atOnce: 1 },
];

/** The suite of runtimes against every real agent: minutes, and no part of `npm test`. Run by `npm run cards`. */
const CARDS: Kind = {
  name: "cards",
  include: ["packages/testkit/src/cards/**/*.card.ts"],
  testSeconds: 240,
  hookSeconds: 900,
  turn: 5,
  atOnce: 1,
};

export default defineConfig({
  test: {
    globalSetup: [POSTGRES, SANDBOXES],
    reporters:
      process.env.DROVER_TEST_REPORT === undefined
        ? ["default"]
        : ["default", new OutcomeReporter({ file: process.env.DROVER_TEST_REPORT })],
    projects: [...KINDS, ...(process.env.DROVER_CARDS === undefined ? [] : [CARDS])].map((kind) => ({
      test: {
        name: kind.name,
        include: [...kind.include],
        globalSetup: [...(kind.setup ?? [])],
        exclude: [...(kind.exclude ?? ["**/node_modules/**"])],
        pool: "forks",
        maxWorkers: kind.atOnce,
        isolate: kind.shareModules !== true,
        testTimeout: kind.testSeconds * 1_000,
        hookTimeout: kind.hookSeconds * 1_000,
        teardownTimeout: 60_000,
        retry: RETRIES,
        expect: { poll: { timeout: POLL_MS } },
        sequence: { groupOrder: kind.turn },
        env: { NODE_ENV: "test" },
      },
    })),
  },
});
