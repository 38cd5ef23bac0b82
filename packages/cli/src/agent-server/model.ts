/** Asks the model that a conversation names, as LiteLLM names models: `anthropic/claude-...`, `openai/gpt-...`, `gemini/...`. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, type LanguageModel, type ModelMessage } from "ai";
import { TOOLS } from "./tools.ts";
import type { LogEvent, NewMessage } from "./wire.ts";
import { toText } from "./wire.ts";

const SYSTEM =
  "You are a coding agent. You work in a workspace with the tools you are given until what you were asked for is done, then you say in a few words what you did.";
const RETRIES = 3;
const LIMIT_MS = 600_000;

const OPENAI = "https://api.openai.com/v1";

const withVersion = (address: string, version: string): string =>
  `${address.replace(/\/+$/, "").replace(/\/v1(?:beta)?$/, "")}${version}`;

interface Asked {
  readonly model: string;
  readonly baseUrl: string | null;
  readonly key: string;
  readonly tools: readonly ("terminal" | "file_editor")[];
}

function openModel({ model, baseUrl, key }: Asked): LanguageModel {
  const [vendor, name] = /^(anthropic|gemini|openai)\/(.+)$/.exec(model)?.slice(1) ?? [
    model.startsWith("claude") ? "anthropic" : model.startsWith("gemini") ? "gemini" : "openai",
    model,
  ];
  const at = (version: string) => (baseUrl === null ? {} : { baseURL: withVersion(baseUrl, version) });
  if (vendor === "anthropic") return createAnthropic({ apiKey: key, ...at("/v1") })(name ?? model);
  if (vendor === "gemini") return createGoogleGenerativeAI({ apiKey: key, ...at("/v1beta") })(name ?? model);
  const baseURL = baseUrl === null ? OPENAI : withVersion(baseUrl, "/v1");
  return createOpenAICompatible({ name: "openai", apiKey: key, baseURL })(name ?? model);
}

type AssistantPart =
  | { type: "text"; text: string }
  | { type: "tool-call"; toolCallId: string; toolName: string; input: unknown };

/** What an action was called with. */
const toInput = (event: LogEvent): unknown => JSON.parse((event["tool_call"] as { arguments: string }).arguments);

function toResult(event: LogEvent | undefined): string {
  if (event === undefined) return "[it was broken off]";
  if (event.kind === "UserRejectObservation") return `Rejected by the user: ${String(event["rejection_reason"])}`;
  return toText((event["observation"] as { content: NewMessage["content"] }).content);
}

/** The log as a model remembers it. A call without a result, of a run that was broken off, is told as such. */
function toMessages(events: readonly LogEvent[]): ModelMessage[] {
  const messages: ModelMessage[] = [];
  const results = new Map(
    events.flatMap((event) =>
      event.tool_call_id === undefined || event.kind === "ActionEvent" ? [] : [[event.tool_call_id, event] as const],
    ),
  );
  let response: unknown;
  let parts: AssistantPart[] = [];
  let calls: LogEvent[] = [];
  const flush = () => {
    if (parts.length > 0) messages.push({ role: "assistant", content: parts });
    if (calls.length > 0)
      messages.push({
        role: "tool",
        content: calls.map((call) => ({
          type: "tool-result" as const,
          toolCallId: call.tool_call_id ?? "",
          toolName: call.tool_name ?? "",
          output: { type: "text" as const, value: toResult(results.get(call.tool_call_id ?? "")) },
        })),
      });
    parts = [];
    calls = [];
    response = undefined;
  };
  for (const event of events) {
    if (event.kind === "ActionEvent") {
      if (event["llm_response_id"] !== response) flush();
      response = event["llm_response_id"];
      const thought = toText(event["thought"] as NewMessage["content"]);
      if (thought !== "") parts.push({ type: "text", text: thought });
      const toolCallId = event.tool_call_id ?? "";
      parts.push({ type: "tool-call", toolCallId, toolName: event.tool_name ?? "", input: toInput(event) });
      calls.push(event);
    } else if (event.kind === "MessageEvent") {
      // What was said while the calls of one answer ran comes after their results.
      flush();
      const { role, content } = event["llm_message"] as { role: string; content: NewMessage["content"] };
      messages.push({ role: role === "user" ? "user" : "assistant", content: toText(content) });
    }
  }
  flush();
  return messages;
}

export interface Answer {
  readonly id: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly usage: { readonly input: number; readonly output: number; readonly cacheRead: number };
}

export async function askModel(asked: Asked, events: readonly LogEvent[], signal: AbortSignal): Promise<Answer> {
  const result = await generateText({
    model: openModel(asked),
    system: SYSTEM,
    messages: toMessages(events),
    tools: Object.fromEntries(asked.tools.flatMap((name) => (TOOLS[name] === undefined ? [] : [[name, TOOLS[name]]]))),
    maxRetries: RETRIES,
    abortSignal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]),
  });
  return {
    id: result.response.id,
    text: result.text,
    calls: result.toolCalls.map((call) => ({ id: call.toolCallId, name: call.toolName, input: call.input as unknown })),
    usage: {
      input: result.usage.inputTokens ?? 0,
      output: result.usage.outputTokens ?? 0,
      cacheRead: result.usage.inputTokenDetails?.cacheReadTokens ?? 0,
    },
  };
}
