/** What the SDK says as events of ours. */
import type { AgentEvent } from "../../agent-runtime.ts";
import type { AgentDeath } from "./agent-process.ts";
import type { Block, HookInput, SdkMessage, SdkResult } from "./sdk.ts";

const RESULT_CHARACTERS = 5_000;
export const SUBAGENT_TOOLS: ReadonlySet<string> = new Set(["Agent", "Task"]);
const SKILL_TOOL = "Skill";

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const readRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

/** A tool's output as text: as it is, or its parts. */
export function toOutputText(content: unknown): string {
  if (typeof content === "string") return content;
  const { stdout, stderr } = readRecord(content);
  if (typeof stdout === "string")
    return typeof stderr === "string" && stderr !== "" ? `${stdout}\n[stderr]: ${stderr}` : stdout;
  if (!Array.isArray(content)) return content === undefined || content === null ? "" : JSON.stringify(content);
  return (content as readonly Readonly<Record<string, unknown>>[])
    .map((part) => (typeof part["text"] === "string" ? part["text"] : `[${String(part["type"])}]`))
    .join("\n");
}

export const toBounded = (text: string) => ({
  result: text.slice(0, RESULT_CHARACTERS),
  result_truncated: text.length > RESULT_CHARACTERS,
  result_full_length: text.length,
});

/** Of a result that is told in full beside it. */
const GIVEN_CHARACTERS = 500;

/** A result as it stands in what the model is given. */
export const toGivenResult = (tool: string, id: string, text: string): AgentEvent => ({
  event_type: "agent.user_tool_result",
  event_data: {
    tool,
    tool_use_id: id,
    result: text.slice(0, GIVEN_CHARACTERS),
    result_truncated: text.length > GIVEN_CHARACTERS,
    result_full_length: text.length,
    told_as: "agent.tool_result",
  },
});

function toAbout(tool: string, input: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (SUBAGENT_TOOLS.has(tool))
    return {
      subagent_type: textOf(input["subagent_type"]),
      subagent_description: textOf(input["description"]),
      subagent_prompt: textOf(input["prompt"]),
    };
  return tool === SKILL_TOOL ? { skill_name: textOf(input["skill"] ?? input["command"] ?? input["name"]) } : {};
}

const toKind = (tool: string) => (SUBAGENT_TOOLS.has(tool) ? "subagent" : tool === SKILL_TOOL ? "skill" : "tool");

const BEGUN = { subagent: "agent.subagent_invoked", skill: "agent.skill_invoked", tool: "agent.tool_use" } as const;
const DONE = {
  subagent: "agent.subagent_completed",
  skill: "agent.skill_completed",
  tool: "agent.tool_completed",
} as const;

export interface ToolUse {
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export const readToolUse = (block: Block): ToolUse => ({
  id: textOf(block["id"]),
  tool: textOf(block["name"]),
  input: readRecord(block["input"]),
});

/** One block of an answer; nothing for kinds that say nothing to people. */
export function toBlockEvent(block: Block): AgentEvent | undefined {
  if (block.type === "text") {
    const content = textOf(block["text"]);
    return { event_type: "agent.message", event_data: { content, content_length: content.length } };
  }
  if (block.type === "thinking")
    return {
      event_type: "agent.thinking",
      event_data: { content: textOf(block["thinking"]), thinking_type: "thinking" },
    };
  if (block.type !== "tool_use") return undefined;
  const { id, tool, input } = readToolUse(block);
  const event_type = BEGUN[toKind(tool)];
  const event_subtype = event_type.slice("agent.".length);
  return { event_type, event_data: { tool, tool_use_id: id, input, event_subtype, ...toAbout(tool, input) } };
}

/** The SDK says what a sub-agent used, and not what it cost: that is among the gateway's records. */
function toSubagentEnd(input: Readonly<Record<string, unknown>>, { tool_response: given, duration_ms }: HookInput) {
  const { usage, totalDurationMs } = readRecord(given);
  return {
    description: textOf(input["description"]),
    subagent_result: toOutputText(readRecord(given)["content"] ?? given).slice(0, RESULT_CHARACTERS),
    subagent_usage: usage ?? null,
    subagent_cost_usd: null,
    subagent_duration_ms: typeof totalDurationMs === "number" ? totalDurationMs : (duration_ms ?? null),
  };
}

/** A tool has ended well: told by the hook, which knows what it answered. */
export function toCompletedEvent(hook: HookInput): AgentEvent {
  const { tool_name: tool, tool_input: input } = hook;
  const kind = toKind(tool);
  const response = toOutputText(hook.tool_response);
  return {
    event_type: DONE[kind],
    event_data: {
      tool,
      tool_use_id: hook.tool_use_id,
      tool_input: input,
      tool_response: response.slice(0, RESULT_CHARACTERS),
      ...(hook.duration_ms === undefined ? {} : { duration_ms: hook.duration_ms }),
      ...toAbout(tool, input),
      ...(kind === "subagent" ? toSubagentEnd(input, hook) : {}),
    },
  };
}

const SYSTEM_FIELDS = [
  "session_id",
  "model",
  "tools",
  "mcp_servers",
  "skills",
  "agents",
  "permissionMode",
  "claude_code_version",
  "attempt",
  "max_retries",
  "retry_delay_ms",
  "error_status",
  "error",
  "content",
  "message",
  "tool_name",
  "task_id",
  "description",
  "status",
  "summary",
] as const;

export function toSystemEvent(message: Extract<SdkMessage, { type: "system" }>): AgentEvent {
  const known = SYSTEM_FIELDS.flatMap((name) => (message[name] === undefined ? [] : [[name, message[name]] as const]));
  return {
    event_type: "agent.system_message",
    event_data: { metadata: { subtype: message.subtype, ...Object.fromEntries(known) } },
  };
}

/** How an answer ended, in the SDK's words. */
export const toTurnComplete = (result: SdkResult, sessionId: string): AgentEvent => ({
  event_type: "agent.turn_complete",
  event_data: {
    num_turns: result.num_turns ?? 0,
    total_cost_usd: result.total_cost_usd ?? 0,
    session_id: sessionId,
    is_error: result.is_error,
    duration_ms: result.duration_ms ?? 0,
    duration_api_ms: result.duration_api_ms ?? 0,
    stop_reason: result.terminal_reason ?? result.subtype,
  },
});

/** `isOpened`: the session had begun, so that it is the stream that broke. */
export function toErrorType({ code, signal }: AgentDeath, isOpened: boolean): string {
  if (signal === "SIGKILL") return "sigkill";
  if (!isOpened) return "stream_init";
  return code === 0 ? "unknown" : "command_failed";
}

export const toStreamError = (error: string, errorType: string, output: string): AgentEvent => ({
  event_type: "agent.stream_error",
  event_data: { error, error_type: errorType, final_output_length: output.length },
});

export const toWhy = (result: SdkResult): string =>
  result.errors?.join("; ") ?? (result.result === undefined || result.result === "" ? result.subtype : result.result);

export const isFailed = ({ is_error, subtype }: SdkResult) => is_error || subtype !== "success";

/** The tool asks several questions; one answer is for all of them. */
export function withAnswer(input: Readonly<Record<string, unknown>>, text: string): Readonly<Record<string, unknown>> {
  const questions = Array.isArray(input["questions"]) ? (input["questions"] as readonly { question?: unknown }[]) : [];
  return { ...input, answers: Object.fromEntries(questions.map(({ question }) => [String(question), text])) };
}

export const toCompleted = (result: SdkResult, sessionId: string, turns: number, output: string): AgentEvent => ({
  event_type: "agent.completed",
  event_data: {
    success: true,
    turns,
    session_id: sessionId,
    stop_reason: result.terminal_reason ?? "completed",
    final_output: (result.result ?? output).slice(0, RESULT_CHARACTERS),
    /** The agent's own estimate; what the gateway metered is in `agent.usage`. */
    cost_usd: result.total_cost_usd ?? 0,
    input_tokens: result.usage?.input_tokens ?? 0,
    output_tokens: result.usage?.output_tokens ?? 0,
    cache_read_tokens: result.usage?.cache_read_input_tokens ?? 0,
    cache_write_tokens: result.usage?.cache_creation_input_tokens ?? 0,
  },
});
