/** Agents that are installed on demand, in versions that were tried: too large and too foreign to be dependencies. */

export interface AgentPin {
  readonly title: string;
  /** The package at the npm registry. */
  readonly npm: string;
  readonly version: string;
  /** What is started or loaded, below the place where the package is mounted. */
  readonly entry: string;
  /** On disk, about: progress is told against it. */
  readonly bytes: number;
}

const MEGABYTE = 1_000_000;

/** By the name of the runtime that needs it. */
export const AGENT_PINS = {
  claude: {
    title: "Claude Agent SDK",
    npm: "@anthropic-ai/claude-agent-sdk",
    version: "0.3.326",
    entry: "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs",
    bytes: 430 * MEGABYTE,
  },
  codex: {
    title: "Codex over ACP",
    npm: "@agentclientprotocol/codex-acp",
    version: "2.6.0",
    entry: "node_modules/.bin/codex-acp",
    bytes: 460 * MEGABYTE,
  },
  gemini: {
    title: "Gemini CLI",
    npm: "@google/gemini-cli",
    version: "0.61.0",
    entry: "node_modules/.bin/gemini",
    bytes: 110 * MEGABYTE,
  },
  opencode: {
    title: "OpenCode",
    npm: "opencode-ai",
    version: "1.18.33",
    entry: "node_modules/.bin/opencode",
    bytes: 160 * MEGABYTE,
  },
  "claude-acp": {
    title: "Claude over ACP",
    npm: "@agentclientprotocol/claude-agent-acp",
    version: "0.99.1",
    entry: "node_modules/.bin/claude-agent-acp",
    bytes: 430 * MEGABYTE,
  },
} as const satisfies Record<string, AgentPin>;

export type AgentName = keyof typeof AGENT_PINS;

export const isAgentName = (name: string): name is AgentName => Object.hasOwn(AGENT_PINS, name);

/** Where sandboxes see installed agents, each below its name, read-only. */
export const AGENTS_INSIDE = "/opt/drover/agents";
