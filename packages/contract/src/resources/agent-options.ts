/** How the agent of a sandbox may work: what it may do unasked, with which tools, for how many turns. */
import { z } from "zod";

/** What the agent asks about before it does it. */
export const PermissionMode = z.enum(["default", "acceptEdits", "bypassPermissions", "plan", "dontAsk"]);
export type PermissionMode = z.infer<typeof PermissionMode>;

export const PermissionDecision = z.enum(["allow", "deny", "ask"]);
export type PermissionDecision = z.infer<typeof PermissionDecision>;

/** Who answers when the agent asks: the first rule whose tool matches, else `decision`. `ask` asks a person. */
export const PermissionPolicy = z.strictObject({
  decision: PermissionDecision.default("allow"),
  /** Nobody answered `ask` for so long: denied. Without it the agent waits. */
  deadline_s: z.int().positive().max(604_800).optional(),
  /** `tool` is a name, or the beginning of one and `*`. */
  rules: z
    .array(z.strictObject({ tool: z.string().min(1).max(200), decision: PermissionDecision }))
    .max(100)
    .default([]),
});
export type PermissionPolicy = z.infer<typeof PermissionPolicy>;

const ToolNames = z.array(z.string().min(1).max(500)).max(200);
const Texts = z.record(z.string().min(1).max(200), z.string().max(32_768));

/** A server of tools: a program inside the sandbox, or an address it can reach. */
export const McpServer = z.union([
  z.strictObject({
    type: z.literal("stdio").default("stdio"),
    command: z.string().min(1).max(1_000),
    args: z.array(z.string().max(10_000)).max(100).default([]),
    env: Texts.default({}),
  }),
  z.strictObject({
    type: z.enum(["http", "sse"]),
    url: z.url({ protocol: /^https?$/ }).max(2_000),
    headers: Texts.default({}),
  }),
]);
export type McpServer = z.infer<typeof McpServer>;

/** An agent that the agent may give a part of the work to. */
export const Subagent = z.strictObject({
  description: z.string().min(1).max(2_000),
  prompt: z.string().min(1).max(50_000),
  tools: ToolNames.optional(),
  model: z.string().min(1).max(200).optional(),
});
export type Subagent = z.infer<typeof Subagent>;

const Name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/);

export const AgentOptions = z.strictObject({
  permission_mode: PermissionMode.optional(),
  permission_policy: PermissionPolicy.optional(),
  /** For the runtime `acp`: the program that speaks the protocol, inside the sandbox. */
  command: z.array(z.string().min(1).max(4_096)).min(1).max(100).optional(),
  max_turns: z.int().positive().max(10_000).optional(),
  /** Need no permission. */
  allowed_tools: ToolNames.optional(),
  /** Are not offered to the agent. */
  disallowed_tools: ToolNames.optional(),
  mcp_servers: z.record(Name, McpServer).optional(),
  subagents: z.record(Name, Subagent).optional(),
  /** Skills of the repository are loaded; true unless told. */
  skills: z.boolean().optional(),
  system_prompt_append: z.string().min(1).max(50_000).optional(),
});
export type AgentOptions = z.infer<typeof AgentOptions>;

/** The agent's part of what a sandbox was asked for. */
export const parseAgentOptions = (spec: unknown): AgentOptions => z.object(AgentOptions.shape).parse(spec);
