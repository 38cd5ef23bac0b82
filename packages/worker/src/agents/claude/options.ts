/** An order in the SDK's words: what the agent may do, what it is told besides the prompt, and the environment it starts in. */
import { AppError } from "@drover/contract";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkOrder } from "../../agent-runtime.ts";
import type { SdkOptions } from "./sdk.ts";
import { SUBAGENT_TOOLS } from "./to-events.ts";

const GUIDE_CHARACTERS = 100_000;
/** Names of the worker's own settings, and of whatever decides how the agent reaches its model: set by us alone. */
const WITHHELD =
  /^((ANTHROPIC|CLAUDE)_.*|SANDBOX_.*|CALLBACK_URL|STATE_DIR|AGENTS_DIR|TASK_.*|INITIAL_PROMPT|SCRIPT_FILE|IS_SANDBOX|HOME|TMPDIR|NODE_OPTIONS)$/;
const LOOPBACK = "localhost,127.0.0.1";
/** It stands where a key would; the bridge and the server put the real one in its place. */
const NO_KEY = "held-by-the-server";

/** The environment is made from scratch: the agent's own directory, the bridge, and what the sandbox was given. */
async function toEnv(order: WorkOrder): Promise<Record<string, string>> {
  const temporary = join(order.home, "tmp");
  await mkdir(temporary, { recursive: true });
  const given = Object.fromEntries(Object.entries(order.env).filter(([name]) => !WITHHELD.test(name)));
  const outer = order.env["HOME"];
  const gitConfig = outer === undefined ? undefined : join(outer, ".gitconfig");
  return {
    ...(gitConfig !== undefined && existsSync(gitConfig) ? { GIT_CONFIG_GLOBAL: gitConfig } : {}),
    ...given,
    HOME: order.home,
    CLAUDE_CONFIG_DIR: join(order.home, ".claude"),
    CLAUDE_CODE_TMPDIR: temporary,
    TMPDIR: temporary,
    ANTHROPIC_BASE_URL: `${order.bridgeUrl}/api/v1/gateway/anthropic`,
    ANTHROPIC_API_KEY: NO_KEY,
    NO_PROXY: [given["NO_PROXY"], LOOPBACK].filter((part) => part !== undefined && part !== "").join(","),
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    ...(order.isIsolated ? { IS_SANDBOX: "1" } : {}),
  };
}

/** The agent reads CLAUDE.md by itself. A repository that only has AGENTS.md means the same. */
async function readGuide(cwd: string): Promise<string | undefined> {
  if (["CLAUDE.md", ".claude/CLAUDE.md"].some((name) => existsSync(join(cwd, name)))) return undefined;
  const text = await readFile(join(cwd, "AGENTS.md"), "utf8").catch(() => undefined);
  return text === undefined
    ? undefined
    : `Instructions of this repository (AGENTS.md):\n\n${text.slice(0, GUIDE_CHARACTERS)}`;
}

const QUESTION_TOOL = "AskUserQuestion";

/** Nobody is there to answer a question unless the policy says that a person is asked. */
const toDisallowed = ({ disallowedTools, permissionPolicy, questions, subagents }: WorkOrder): readonly string[] => [
  ...disallowedTools,
  ...((questions ?? permissionPolicy.decision === "ask") ? [] : [QUESTION_TOOL]),
  ...(subagents === null ? SUBAGENT_TOOLS : []),
];

type Fixed = Omit<
  SdkOptions,
  "abortController" | "hooks" | "canUseTool" | "spawnClaudeCodeProcess" | "resume" | "sessionId"
>;

export async function toSdkOptions(order: WorkOrder): Promise<Fixed> {
  const isBypassed = order.permissionMode === "bypassPermissions";
  if (isBypassed && !order.isIsolated)
    throw new AppError(
      "request.invalid",
      "permission_mode bypassPermissions needs a sandbox that holds the agent in; this one does not",
    );
  const append = [await readGuide(order.cwd), order.systemPromptAppend].filter((part) => typeof part === "string");
  return {
    cwd: order.cwd,
    env: await toEnv(order),
    permissionMode: order.permissionMode,
    ...(isBypassed ? { allowDangerouslySkipPermissions: true } : {}),
    settingSources: order.settingSources ?? ["project"],
    ...(order.skills ? {} : { skills: [] }),
    systemPrompt:
      order.systemPrompt === null
        ? {
            type: "preset",
            preset: "claude_code",
            ...(append.length === 0 ? {} : { append: append.join("\n\n") }),
          }
        : [order.systemPrompt, ...append].join("\n\n"),
    allowedTools: order.allowedTools,
    disallowedTools: toDisallowed(order),
    mcpServers: order.mcpServers,
    // Not on the command line, which everybody inside can read.
    mcpServersDelivery: "initialize",
    agents: order.subagents ?? {},
    ...(order.model === null ? {} : { model: order.model }),
    ...(order.maxTurns === null ? {} : { maxTurns: order.maxTurns }),
    ...(order.maxBudgetUsd === null ? {} : { maxBudgetUsd: order.maxBudgetUsd }),
  };
}

/** Where the agent keeps what it remembers of a session. */
export const toTranscriptPath = ({ home, cwd }: Pick<WorkOrder, "home" | "cwd">, sessionId: string): string =>
  join(home, ".claude", "projects", cwd.replaceAll(/[^A-Za-z0-9]/g, "-"), `${sessionId}.jsonl`);
