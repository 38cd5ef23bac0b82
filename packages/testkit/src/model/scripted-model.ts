/**
 * A model server on loopback that says what a script tells it, in four protocols: Anthropic Messages, OpenAI Responses and chat
 * completions, Gemini. It keeps every request; what it waits for is a hold that the test releases, never time.
 */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { findRoute, type JsonBody, type ModelRequest, readContent, type Route } from "./read-request.ts";
import { speakAnthropic } from "./speak-anthropic.ts";
import { speakChat } from "./speak-chat.ts";
import { speakGemini } from "./speak-gemini.ts";
import { speakResponses } from "./speak-responses.ts";
import { type Frame, type ModelTurn, toSpokenTurn } from "./turn.ts";

/** Turns in order, or asked for each request: the second form is safe with retries, sub-agents and parallel calls. */
export type ModelScript =
  | readonly ModelTurn[]
  | ((request: ModelRequest) => ModelTurn | undefined | Promise<ModelTurn | undefined>);

export interface ScriptedModelOptions {
  readonly script?: ModelScript;
  /** Which requests take the next turn of a list; by default those with tools: agents ask for titles and the like besides. */
  readonly isTurn?: (request: ModelRequest) => boolean;
}

/** A request of whatever kind, as it came. */
export interface SeenCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonBody;
}

export interface ScriptedModel extends AsyncDisposable {
  /** Its origin; each vendor's base URL is this, with `/v1` where the vendor's has it. */
  readonly url: string;
  /** Every request, also for token counts, lists of models and unknown paths. */
  readonly calls: readonly SeenCall[];
  /** Model requests alone. */
  readonly requests: readonly ModelRequest[];
  /** The n-th model request, from 1: at once if it came, else when it comes. */
  nthRequest(n: number): Promise<ModelRequest>;
  /** Begins a new script; `requests` go on counting. */
  setScript(script: ModelScript): void;
}

const SPEAKERS = {
  anthropic: speakAnthropic,
  responses: speakResponses,
  chat: speakChat,
  gemini: speakGemini,
} as const;

const EXHAUSTED: ModelTurn = { text: "The script is over." };
const AUXILIARY: ModelTurn = { text: "ok" };
const MODELS = { object: "list", data: [{ id: "scripted-model", object: "model", created: 0, owned_by: "drover" }] };

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  529: "overloaded_error",
};

const toErrorBody = (status: number) => ({
  type: "error",
  error: { type: ERROR_TYPES[status] ?? "api_error", message: `scripted ${status}` },
});

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parseBody(bytes: Buffer): JsonBody {
  try {
    return bytes.length === 0 ? {} : JSON.parse(bytes.toString("utf8"));
  } catch {
    return {}; // expected: a test that sends something else than JSON
  }
}

const toText = ({ name, data }: Frame): string =>
  `${name === undefined ? "" : `event: ${name}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

/** Waits for the reader, so that what was sent says how far the reader is. */
async function write(response: ServerResponse, frames: readonly Frame[]): Promise<void> {
  const closed = once(response, "close");
  for (const frame of frames) {
    if (response.closed || response.destroyed) return;
    if (!response.write(toText(frame))) await Promise.race([once(response, "drain"), closed]);
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Readonly<Record<string, string>>) {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const isTurn = options.isTurn ?? ((request) => request.toolNames.length > 0);
  const calls: SeenCall[] = [];
  const requests: ModelRequest[] = [];
  const waiting = new Map<number, PromiseWithResolvers<ModelRequest>>();
  let script = options.script ?? [];
  let next = 0;
  let ids = 0;
  const newId = (prefix: string) => `${prefix}_${(++ids).toString(36).padStart(12, "0")}`;

  const pick = async (request: ModelRequest): Promise<ModelTurn> => {
    if (typeof script === "function") return (await script(request)) ?? EXHAUSTED;
    return isTurn(request) ? (script[next++] ?? EXHAUSTED) : AUXILIARY;
  };

  const note = (call: SeenCall, route: Route, response: ServerResponse): ModelRequest => {
    const ended = Promise.withResolvers<"answered" | "aborted">();
    // An answer lets go of its connection when it is out; another may have used it before.
    const { socket } = response;
    const sentBefore = socket?.bytesWritten ?? 0;
    response.once("close", () => ended.resolve(response.writableFinished ? "answered" : "aborted"));
    const request: ModelRequest = {
      n: requests.length + 1,
      ...route,
      path: call.path,
      headers: call.headers,
      body: call.body,
      ...readContent(route.protocol, call.body),
      ended: ended.promise,
      sentBytes: () => (socket?.bytesWritten ?? 0) - sentBefore,
    };
    requests.push(request);
    waiting.get(request.n)?.resolve(request);
    return request;
  };

  const speak = async (request: ModelRequest, response: ServerResponse): Promise<void> => {
    const turn = await pick(request);
    const headers = { "request-id": newId("req") };
    await turn.holdFirst?.wait();
    if (turn.error !== undefined) {
      const { status, body = toErrorBody(status), headers: extra } = turn.error;
      return sendJson(response, status, body, { ...headers, ...extra });
    }
    const spokenTurn = toSpokenTurn(turn, newId, request.protocol === "anthropic" ? "toolu" : "call");
    const spoken = SPEAKERS[request.protocol](spokenTurn, { model: request.model, newId });
    if (request.isStream) {
      response.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        ...headers,
      });
      response.flushHeaders();
      await write(response, spoken.content);
    }
    await turn.holdLast?.wait();
    if (turn.end === "hang") return;
    // What was said is out before the connection ends.
    if (turn.end === "break") return void response.socket?.end();
    if (!request.isStream) return sendJson(response, 200, spoken.whole, headers);
    await write(response, spoken.ending);
    response.end();
  };

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const bytes = await readBytes(incoming);
    const path = incoming.url ?? "/";
    const { pathname } = new URL(path, "http://model");
    const body = parseBody(bytes);
    const call = { method: incoming.method ?? "GET", path, headers: incoming.headers, body };
    calls.push(call);
    const route = call.method === "POST" ? findRoute(pathname, body) : undefined;
    if (route !== undefined) return speak(note(call, route, response), response);
    const estimate = Math.ceil(bytes.length / 4);
    if (pathname.endsWith("/count_tokens")) return sendJson(response, 200, { input_tokens: estimate }, {});
    if (pathname.endsWith(":countTokens")) return sendJson(response, 200, { totalTokens: estimate }, {});
    if (/\/models\/?$/.test(pathname)) return sendJson(response, 200, MODELS, {});
    return sendJson(response, 404, toErrorBody(404), {});
  };

  const server = createServer((incoming, response) => {
    // Expected: a caller that hangs up in the middle of its request.
    serve(incoming, response).catch(() => void response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    requests,
    nthRequest: (n) => {
      const known = requests[n - 1];
      if (known !== undefined) return Promise.resolve(known);
      const wait = waiting.get(n) ?? Promise.withResolvers<ModelRequest>();
      waiting.set(n, wait);
      return wait.promise;
    },
    setScript: (given) => {
      script = given;
      next = 0;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
