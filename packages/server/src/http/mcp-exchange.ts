/** One request of an MCP client and its answer, by the official SDK: nothing is kept between two, so any replica answers. */
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
  type Tool as ToolCard,
} from "@modelcontextprotocol/sdk/types.js";
import { isAllowedVerb } from "@drover/core";
import { AppError, type Role } from "@drover/contract";
import { z } from "zod";
import type { Deps } from "../app/deps.ts";
import { TOOLS, type CallAs, type Tool } from "./mcp-tools.ts";
import { toInvalid } from "./problem.ts";

const INSTRUCTIONS =
  "Drover runs coding agents in sandboxes. spawn_sandbox starts one on a prompt, wait_for_sandbox and read_events follow it, send_message steers it, " +
  "read_diff shows what it changed. For larger work: create_ticket, then create_task with dependencies; the result is a pull request that merge_pull merges.";

/** A refusal of an endpoint, as its problem document says it. */
export class RefusedError extends Error {
  override readonly name = "RefusedError";
}

const toCard = (tool: Tool): ToolCard => {
  const { $schema: _, ...schema } = z.toJSONSchema(tool.input, { io: "input", unrepresentable: "any" });
  const isReading = tool.verb === "read";
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: schema as ToolCard["inputSchema"],
    annotations: { readOnlyHint: isReading, destructiveHint: tool.isDestructive === true, openWorldHint: false },
  };
};

const CARDS = new Map(TOOLS.map((tool) => [tool.name, { tool, card: toCard(tool) }]));

const toResult = (value: unknown, isError: boolean): CallToolResult => ({
  content: [{ type: "text", text: typeof value === "string" ? value : JSON.stringify(value) }],
  ...(isError ? { isError } : {}),
});

export interface Exchange {
  readonly deps: Deps;
  readonly role: Role;
  readonly call: CallAs;
  readonly request: Request;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

async function callTool({ deps, call, signal }: Exchange, tool: Tool, given: unknown): Promise<CallToolResult> {
  const parsed = tool.input.safeParse(given ?? {});
  if (!parsed.success) return toResult(toInvalid(parsed.error, "body").message, true);
  try {
    return toResult(await tool.run({ deps, call, signal }, parsed.data), false);
  } catch (error) {
    // Expected: the endpoint refused; the model is told why and may do better.
    if (error instanceof RefusedError || error instanceof AppError) return toResult(error.message, true);
    throw error;
  }
}

export async function answerExchange(exchange: Exchange): Promise<Response> {
  const server = new Server(
    { name: "drover", version: "0.1.0" },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  const offered = [...CARDS.values()].filter(({ tool }) => isAllowedVerb(exchange.role, tool.verb));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: offered.map(({ card }) => card) }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    const found = CARDS.get(params.name);
    if (found === undefined)
      throw new McpError(ErrorCode.InvalidParams, `there is no tool ${params.name.slice(0, 100)}`);
    return callTool(exchange, found.tool, params.arguments);
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    const response = await transport.handleRequest(exchange.request, { parsedBody: exchange.body });
    // Read to its end before the server that writes it is closed.
    const text = await response.text();
    return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
  } finally {
    await server.close();
  }
}
