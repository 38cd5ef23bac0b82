/** The ACP agents we know, and in what they differ. Whatever is not here speaks the plain protocol. */
import { AGENT_PINS, type PermissionMode } from "@drover/contract";
import { join } from "node:path";
import { z } from "zod";
import type { AgentCapabilities, WorkOrder } from "../../agent-runtime.ts";
import { matchesTool } from "../../permissions.ts";

export interface AcpAgent {
  readonly name: string;
  readonly capabilities: AgentCapabilities;
  /** Below the place where its package is mounted, the first that is there; none: the command is given with the sandbox. */
  readonly entries?: readonly string[];
  readonly args?: (order: AgentOrder) => readonly string[];
  readonly env?: (order: AgentOrder) => Readonly<Record<string, string>>;
  /** Written below the agent's HOME before it starts. */
  readonly files?: (order: AgentOrder) => Readonly<Record<string, string>>;
  /** Which of the agent's own modes says a permission mode, where it has one. */
  readonly modes?: Readonly<Partial<Record<PermissionMode, string>>>;
  /** Below HOME: what it remembers of its sessions. */
  readonly memory?: string;
  /** Whether an update says that the turn has failed: some end it as if it had not, with the error as their last word. */
  readonly isFailure?: (update: unknown) => boolean;
  /** A command goes on when the turn that began it is cancelled: we end it. */
  readonly isLeavingTools?: true;
  /** It damages a session that is loaded again: start afresh instead, told what went before. */
  readonly isResumeBroken?: true;
}

export type AgentOrder = Pick<
  WorkOrder,
  "bridgeUrl" | "home" | "model" | "permissionMode" | "isIsolated" | "permissionPolicy" | "disallowedTools"
>;

/** Not a key: the bridge attaches the sandbox's own credential. Some agents do not start without a text here. */
const NO_KEY = "not-a-key";

const gateway = ({ bridgeUrl }: AgentOrder, protocol: string) => `${bridgeUrl}/api/v1/gateway/${protocol}`;

const CAPABLE = {
  interrupt: true,
  hooks: false,
  permission: "requests",
  toolLimits: "noticed",
  subagents: false,
} as const;

/** The agent's own names of what it is not to have; a pattern or a name that is none of ours is taken for one of its own. */
function listWithout(tools: Readonly<Record<string, readonly string[]>>, { disallowedTools }: AgentOrder): string[] {
  const names = disallowedTools.flatMap((pattern) => {
    const ours = Object.keys(tools).filter((name) => matchesTool(pattern, name));
    return ours.length > 0 ? ours.flatMap((name) => tools[name] ?? []) : [pattern];
  });
  return [...new Set(names)];
}

/** Nobody is asked where the sandbox holds the agent in and everything is allowed anyway. */
const isFree = ({ isIsolated, permissionMode, permissionPolicy, disallowedTools }: AgentOrder) =>
  isIsolated &&
  disallowedTools.length === 0 &&
  (permissionMode === "bypassPermissions" ||
    (permissionMode !== "plan" &&
      permissionMode !== "dontAsk" &&
      permissionPolicy.decision === "allow" &&
      permissionPolicy.rules.length === 0));

/** Why the agent cannot be given the order; undefined when it can. What it would not keep is not promised. */
export function refuseOrder(agent: AcpAgent, order: AgentOrder): string | undefined {
  if (agent.entries === undefined) return undefined;
  if (order.permissionMode === "plan" && agent.modes?.plan === undefined) return `${agent.name} has no mode for plans`;
  return agent.capabilities.permission === "none" && order.isIsolated && !isFree(order)
    ? `${agent.name} does not ask before it acts in a sandbox: give it permission_policy allow without rules and no disallowed_tools, or take another runtime`
    : undefined;
}

const toToml = (text: string) => JSON.stringify(text);

const BrokenThread = z.object({
  _meta: z.object({ codex: z.object({ threadStatus: z.object({ type: z.literal("systemError") }) }) }),
});

const codex: AcpAgent = {
  name: "codex",
  entries: [AGENT_PINS.codex.entry],
  memory: ".codex/sessions",
  capabilities: {
    ...CAPABLE,
    permission: "none",
    toolLimits: "refused",
    steer: "extension",
    cost: false,
    resume: "native",
  },
  isLeavingTools: true,
  isFailure: (update) => BrokenThread.safeParse(update).success,
  env: (order) => ({
    CODEX_HOME: join(order.home, ".codex"),
    DROVER_KEY: NO_KEY,
    NO_BROWSER: "1",
    MODEL_PROVIDER: "drover",
    // Its own sandbox needs what ours withholds; its reviewer, which asks models nobody chose, is not wanted anywhere.
    INITIAL_AGENT_MODE: order.isIsolated ? "agent-full-access" : "workspace-write",
  }),
  files: (order) => ({
    ".codex/config.toml": [
      // Only a model that it knows gets the tool that edits files.
      `model = ${toToml(order.model ?? "gpt-5.5")}`,
      'model_provider = "drover"',
      "[model_providers.drover]",
      'name = "drover"',
      `base_url = ${toToml(`${gateway(order, "openai")}/v1`)}`,
      'env_key = "DROVER_KEY"',
      'wire_api = "responses"',
      "[features]",
      "plugins = false",
      "[analytics]",
      "enabled = false",
      "",
    ].join("\n"),
  }),
};

const GEMINI_TOOLS = {
  Read: ["read_file", "read_many_files"],
  Edit: ["replace", "write_file"],
  Grep: ["glob", "grep_search", "search_file_content", "list_directory"],
  Bash: ["run_shell_command"],
  WebFetch: ["web_fetch", "google_web_search"],
} as const;

const gemini: AcpAgent = {
  name: "gemini",
  entries: [AGENT_PINS.gemini.entry],
  capabilities: { ...CAPABLE, toolLimits: "prevented", steer: "cancel", cost: false, resume: "reseeded" },
  args: (order) => [
    "--acp",
    "--skip-trust",
    "-m",
    order.model ?? "gemini-2.5-pro",
    ...(isFree(order) ? ["--approval-mode", "yolo"] : []),
  ],
  env: (order) => ({
    GEMINI_API_KEY: NO_KEY,
    GOOGLE_GEMINI_BASE_URL: gateway(order, "gemini"),
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    GEMINI_CLI_NO_RELAUNCH: "true",
  }),
  files: (order) => ({
    ".gemini/settings.json": JSON.stringify({
      ...(order.disallowedTools.length === 0 ? {} : { tools: { exclude: listWithout(GEMINI_TOOLS, order) } }),
      security: { auth: { selectedType: "gemini-api-key" } },
      privacy: { usageStatisticsEnabled: false },
      general: { disableAutoUpdate: true },
    }),
  }),
  isResumeBroken: true,
};

const OPENCODE_TOOLS = {
  Read: ["read"],
  Edit: ["edit", "write", "patch", "apply_patch", "multiedit"],
  Grep: ["grep", "glob", "list"],
  Bash: ["bash"],
  WebFetch: ["webfetch", "websearch"],
} as const;

const opencode: AcpAgent = {
  name: "opencode",
  // What npm links is put in place by a script of the package, which is not run. The slower build runs on every processor.
  entries: [`-baseline`, ""].map(
    (build) => `node_modules/opencode-${process.platform}-${process.arch}${build}/bin/opencode`,
  ),
  memory: ".local/share/opencode",
  capabilities: { ...CAPABLE, toolLimits: "prevented", steer: "reprompt", cost: true, resume: "native" },
  args: () => ["acp"],
  env: (order) => ({
    OPENCODE_CONFIG: join(order.home, "opencode.json"),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    XDG_DATA_HOME: join(order.home, ".local/share"),
    XDG_CONFIG_HOME: join(order.home, ".config"),
    XDG_CACHE_HOME: join(order.home, ".cache"),
    XDG_STATE_HOME: join(order.home, ".local/state"),
  }),
  files: (order) => {
    const model = order.model ?? "gpt-5.5";
    const ask = isFree(order) ? "allow" : "ask";
    return {
      "opencode.json": JSON.stringify({
        autoupdate: false,
        share: "disabled",
        model: `drover/${model}`,
        small_model: `drover/${model}`,
        enabled_providers: ["drover"],
        permission: {
          edit: order.permissionMode === "acceptEdits" ? "allow" : ask,
          bash: ask,
          // A tool that is denied is not offered to the model.
          ...Object.fromEntries(listWithout(OPENCODE_TOOLS, order).map((name) => [name, "deny"])),
        },
        provider: {
          drover: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${gateway(order, "openai")}/v1`, apiKey: NO_KEY },
            models: { [model]: { tool_call: true, limit: { context: 200_000, output: 32_000 } } },
          },
        },
      }),
    };
  },
};

const CLAUDE_TOOLS = {
  Read: ["Read"],
  Edit: ["Edit", "Write", "MultiEdit", "NotebookEdit"],
  Grep: ["Grep", "Glob"],
  Bash: ["Bash"],
  WebFetch: ["WebFetch", "WebSearch"],
} as const;

const claude: AcpAgent = {
  name: "claude-acp",
  entries: [AGENT_PINS["claude-acp"].entry],
  memory: ".claude/projects",
  capabilities: { ...CAPABLE, toolLimits: "prevented", steer: "extension", cost: true, resume: "native" },
  files: (order): Readonly<Record<string, string>> =>
    order.disallowedTools.length === 0
      ? {}
      : { ".claude/settings.json": JSON.stringify({ permissions: { deny: listWithout(CLAUDE_TOOLS, order) } }) },
  env: (order) => ({
    CLAUDE_CONFIG_DIR: join(order.home, ".claude"),
    ANTHROPIC_BASE_URL: gateway(order, "anthropic"),
    ANTHROPIC_API_KEY: NO_KEY,
    ...(order.model === null ? {} : { ANTHROPIC_MODEL: order.model }),
    // They are calls of the model that nobody sees.
    CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: "false",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    ...(order.isIsolated ? { IS_SANDBOX: "1" } : {}),
  }),
  modes: {
    default: "default",
    acceptEdits: "acceptEdits",
    bypassPermissions: "bypassPermissions",
    plan: "plan",
    dontAsk: "dontAsk",
  },
};

/** Any command that speaks the protocol. What it can do is learnt when it starts; until then the least is assumed. */
const plain: AcpAgent = {
  name: "acp",
  capabilities: { ...CAPABLE, steer: "cancel", cost: false, resume: "native" },
};

export const ACP_AGENTS: readonly AcpAgent[] = [codex, gemini, opencode, claude, plain];
