/** One run each of the real agents. That of `claude-acp` is a part of its card: `npm run cards claude-acp`. */
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
];

for (const smoke of SMOKES) describeSmoke(smoke);
