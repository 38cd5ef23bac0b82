/** What stands in a model request, whatever its protocol: texts, tool results, tools, system prompt. */
import type { IncomingHttpHeaders } from "node:http";

export type Protocol = "anthropic" | "responses" | "chat" | "gemini";

interface ToolResult {
  readonly id: string;
  readonly content: string;
  readonly isError: boolean;
}

export interface ModelRequest {
  /** From 1, over all model requests. */
  readonly n: number;
  readonly protocol: Protocol;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonBody;
  readonly model: string;
  readonly isStream: boolean;
  readonly toolNames: readonly string[];
  readonly system: string;
  readonly texts: readonly { readonly role: string; readonly text: string }[];
  readonly toolResults: readonly ToolResult[];
  /** Resolves when the answer is out as a whole, or the caller hung up before. */
  readonly ended: Promise<"answered" | "aborted">;
  /** Bytes of the answer handed to the connection so far. */
  readonly sentBytes: () => number;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a vendor's body, in four shapes; tests assert on it
export type JsonBody = any;

type Content = Pick<ModelRequest, "toolNames" | "system" | "texts" | "toolResults">;

const list = (value: JsonBody): readonly JsonBody[] => (Array.isArray(value) ? value : []);

/** A content that is a text or a list of parts with texts. */
const joinTexts = (content: JsonBody): string =>
  typeof content === "string"
    ? content
    : list(content)
        .map((part) => part.text ?? `[${part.type}]`)
        .join("\n");

const blocksOf = (content: JsonBody): readonly JsonBody[] =>
  typeof content === "string" ? [{ type: "text", text: content }] : list(content);

function readAnthropic(body: JsonBody): Content {
  const blocks = list(body.messages).flatMap((message) =>
    blocksOf(message.content).map((block) => ({ role: String(message.role), block })),
  );
  return {
    toolNames: list(body.tools).map((tool) => tool.name),
    system: joinTexts(body.system),
    texts: blocks
      .filter(({ block }) => block.type === "text")
      .map(({ role, block }) => ({ role, text: String(block.text) })),
    toolResults: blocks
      .filter(({ block }) => block.type === "tool_result")
      .map(({ block }) => ({
        id: block.tool_use_id,
        content: joinTexts(block.content),
        isError: block.is_error === true,
      })),
  };
}

const isToolOutput = (item: JsonBody) => ["function_call_output", "custom_tool_call_output"].includes(item.type);

function readResponses(body: JsonBody): Content {
  const items = typeof body.input === "string" ? [{ role: "user", content: body.input }] : list(body.input);
  return {
    toolNames: list(body.tools).map((tool) => tool.name ?? tool.type),
    system: body.instructions ?? "",
    texts: items
      .filter((item) => item.role !== undefined)
      .flatMap((item) =>
        blocksOf(item.content).map((block) => ({ role: String(item.role), text: String(block.text ?? "") })),
      ),
    toolResults: items.filter(isToolOutput).map((item) => ({
      id: item.call_id,
      content: typeof item.output === "string" ? item.output : JSON.stringify(item.output),
      isError: false,
    })),
  };
}

const SYSTEM_ROLES = ["system", "developer"];

function readChat(body: JsonBody): Content {
  const messages = list(body.messages);
  return {
    toolNames: list(body.tools).map((tool) => tool.function?.name ?? tool.type),
    system: messages
      .filter((message) => SYSTEM_ROLES.includes(message.role))
      .map((message) => joinTexts(message.content))
      .join("\n"),
    texts: messages
      .filter((message) => !SYSTEM_ROLES.includes(message.role) && message.role !== "tool")
      .map((message) => ({ role: String(message.role), text: joinTexts(message.content) })),
    toolResults: messages
      .filter((message) => message.role === "tool")
      .map((message) => ({ id: message.tool_call_id, content: joinTexts(message.content), isError: false })),
  };
}

function readGemini(body: JsonBody): Content {
  const parts = list(body.contents).flatMap((content) =>
    list(content.parts).map((part) => ({ role: String(content.role), part })),
  );
  return {
    toolNames: list(body.tools).flatMap((tool) => list(tool.functionDeclarations).map((one) => one.name)),
    system: joinTexts(body.systemInstruction?.parts),
    texts: parts
      .filter(({ part }) => typeof part.text === "string")
      .map(({ role, part }) => ({ role, text: part.text })),
    toolResults: parts
      .filter(({ part }) => part.functionResponse !== undefined)
      .map(({ part }) => ({
        id: part.functionResponse.id ?? part.functionResponse.name,
        content: JSON.stringify(part.functionResponse.response),
        isError: false,
      })),
  };
}

const READERS = { anthropic: readAnthropic, responses: readResponses, chat: readChat, gemini: readGemini };

export const readContent = (protocol: Protocol, body: JsonBody): Content => READERS[protocol](body);

export interface Route {
  readonly protocol: Protocol;
  readonly model: string;
  readonly isStream: boolean;
}

/** Which protocol a path belongs to; a prefix before it does not matter, as in the base URLs people set. */
export function findRoute(path: string, body: JsonBody): Route | undefined {
  const common = { model: String(body.model ?? ""), isStream: body.stream === true };
  if (path.endsWith("/messages")) return { protocol: "anthropic", ...common };
  if (path.endsWith("/responses")) return { protocol: "responses", ...common };
  if (path.endsWith("/chat/completions")) return { protocol: "chat", ...common };
  const [, model, verb] = /\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(path) ?? [];
  return model === undefined
    ? undefined
    : { protocol: "gemini", model: decodeURIComponent(model), isStream: verb === "streamGenerateContent" };
}
