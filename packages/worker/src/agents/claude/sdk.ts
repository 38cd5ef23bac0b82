/** The Claude Agent SDK as far as we use it: loaded at run time from where it is mounted, its messages read as what they may be. */
import { AGENT_PINS, AppError } from "@drover/contract";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import type { WorkOrder } from "../../agent-runtime.ts";

/** What is pushed into a running session. */
export interface SdkInput {
  readonly type: "user";
  readonly message: { readonly role: "user"; readonly content: string };
  readonly parent_tool_use_id: null;
  /** Ours: its lifecycle is told by it. */
  readonly uuid: string;
}

export interface SdkQuery extends AsyncIterable<unknown> {
  interrupt(): Promise<unknown>;
}

type HookOutput = Readonly<Record<string, unknown>>;
export type Hook = (input: unknown) => Promise<HookOutput>;

interface HookMatcher {
  readonly hooks: readonly Hook[];
  /** `block`: what a broken hook guards does not happen. */
  readonly onFailure?: "block";
}

export type PermissionResult =
  | { readonly behavior: "allow"; readonly updatedInput: Readonly<Record<string, unknown>> }
  | { readonly behavior: "deny"; readonly message: string };

export interface SdkOptions {
  readonly abortController: AbortController;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly permissionMode: string;
  readonly settingSources: readonly string[];
  /** Those that are offered; all that are found unless told. */
  readonly skills?: readonly string[];
  readonly systemPrompt: string | { readonly type: "preset"; readonly preset: "claude_code"; readonly append?: string };
  readonly hooks: Readonly<Record<string, readonly HookMatcher[]>>;
  readonly canUseTool: (
    tool: string,
    input: Readonly<Record<string, unknown>>,
    about: { readonly signal: AbortSignal; readonly toolUseID?: string },
  ) => Promise<PermissionResult>;
  readonly spawnClaudeCodeProcess: (spawn: SpawnRequest) => unknown;
  readonly allowDangerouslySkipPermissions?: true;
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
  readonly mcpServers: WorkOrder["mcpServers"];
  readonly mcpServersDelivery: "initialize";
  readonly agents: NonNullable<WorkOrder["subagents"]>;
  readonly model?: string;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  readonly resume?: string;
  readonly sessionId?: string;
}

export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Sdk {
  query(request: { readonly prompt: AsyncIterable<SdkInput>; readonly options: SdkOptions }): SdkQuery;
}

export async function loadSdk(agentHome: string | undefined): Promise<Sdk> {
  const { title, version, entry } = AGENT_PINS.claude;
  const missing = `${title} ${version} is not here; install it with: drover agents install claude`;
  if (agentHome === undefined) throw new AppError("runtime.unavailable", missing);
  const loaded = (await import(pathToFileURL(join(agentHome, entry)).href).catch((cause: unknown) => {
    throw new AppError("runtime.unavailable", missing, { cause });
  })) as Partial<Sdk>;
  if (typeof loaded.query !== "function") throw new AppError("runtime.unavailable", missing);
  return loaded as Sdk;
}

const Block = z.looseObject({ type: z.string() });
export type Block = z.infer<typeof Block>;

const Content = z.union([z.string().transform((text): Block[] => [{ type: "text", text }]), z.array(Block)]);

/** Every message of the SDK's stream; what we do not know is passed over. */
const SdkMessage = z.union([
  z.looseObject({ type: z.literal("command_lifecycle"), command_uuid: z.string(), state: z.string() }),
  z.looseObject({ type: z.literal("system"), subtype: z.string() }),
  z.looseObject({
    type: z.literal("assistant"),
    parent_tool_use_id: z.string().nullish(),
    message: z.looseObject({
      id: z.string(),
      model: z.string().optional(),
      stop_reason: z.string().nullish(),
      content: z.array(Block),
    }),
  }),
  z.looseObject({
    type: z.literal("user"),
    parent_tool_use_id: z.string().nullish(),
    isReplay: z.boolean().optional(),
    message: z.looseObject({ content: Content }),
  }),
  z.looseObject({
    type: z.literal("result"),
    subtype: z.string(),
    is_error: z.boolean().default(false),
    result: z.string().optional(),
    errors: z.array(z.string()).optional(),
    num_turns: z.number().optional(),
    duration_ms: z.number().optional(),
    duration_api_ms: z.number().optional(),
    total_cost_usd: z.number().optional(),
    terminal_reason: z.string().nullish(),
    usage: z
      .looseObject({
        input_tokens: z.number().nullish(),
        output_tokens: z.number().nullish(),
        cache_read_input_tokens: z.number().nullish(),
        cache_creation_input_tokens: z.number().nullish(),
      })
      .optional(),
  }),
]);
export type SdkMessage = z.infer<typeof SdkMessage>;
export type SdkResult = Extract<SdkMessage, { type: "result" }>;

export const readMessage = (message: unknown): SdkMessage | undefined => SdkMessage.safeParse(message).data;

const HookInput = z.looseObject({
  tool_name: z.string(),
  tool_use_id: z.string().default(""),
  tool_input: z.record(z.string(), z.unknown()).default({}),
  tool_response: z.unknown().optional(),
  duration_ms: z.number().optional(),
});
export type HookInput = z.infer<typeof HookInput>;

export const parseHookInput = (input: unknown): HookInput => HookInput.parse(input);
