/** One run each of the real agents, and in each sandbox a hunt for keys. */
import { expect, test } from "vitest";
import { RUNTIMES } from "../../../worker/src/run-worker.ts";
import { bringAgentServer } from "./bring-program.ts";
import { bearer, COMMAND, describeSmoke, type Smoke } from "./smoke-run.ts";

const SMOKES: readonly Smoke[] = [
  { runtime: "codex", tool: { name: "exec_command", input: { cmd: COMMAND } }, toKey: bearer, secret: "openai" },
  {
    runtime: "gemini",
    tool: { name: "run_shell_command", input: { command: COMMAND } },
    toKey: (headers) => headers["x-goog-api-key"],
    secret: "gemini",
    without: { tool: "Read", names: ["read_file", "read_many_files"] },
  },
  {
    runtime: "opencode",
    tool: { name: "bash", input: { command: COMMAND, description: "Make a file" } },
    toKey: bearer,
    secret: "openai",
    without: { tool: "Read", names: ["read"] },
  },
  // Not over ACP, and held to the same.
  {
    runtime: "claude",
    tool: { name: "Bash", input: { command: COMMAND, description: "Make a file" } },
    toKey: (headers) => headers["x-api-key"],
    secret: "anthropic",
    without: { tool: "Read", names: ["Read"] },
  },
  {
    runtime: "claude-acp",
    tool: { name: "Bash", input: { command: COMMAND, description: "Make a file" } },
    toKey: (headers) => headers["x-api-key"],
    secret: "anthropic",
  },
  {
    runtime: "openhands",
    bring: bringAgentServer,
    tool: { name: "terminal", input: { command: COMMAND } },
    toKey: bearer,
    secret: "openai",
  },
];

/** They have no model here; key-hunt.test.ts visits them. */
const WITHOUT_MODEL: readonly string[] = ["acp", "scripted"];

test("every runtime that a worker knows is visited", () => {
  const visited = [...SMOKES.map(({ runtime }) => runtime), ...WITHOUT_MODEL];
  expect(visited.toSorted()).toEqual(Object.keys(RUNTIMES).toSorted());
});

for (const smoke of SMOKES) describeSmoke(smoke);
