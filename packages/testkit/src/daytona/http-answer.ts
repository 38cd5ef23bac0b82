/** A few lines of HTTP that both halves of the emulator use: reading bodies, finding routes, answering. */
import type { IncomingMessage, ServerResponse } from "node:http";

export interface Asked {
  readonly url: URL;
  /** What the route's groups matched, decoded. */
  readonly parts: readonly string[];
  readonly headers: IncomingMessage["headers"];
  readonly bytes: Buffer;
  /** Parsed when asked for; an empty body is an empty object. */
  json(): Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  /** Instead of a body of JSON. */
  readonly raw?: { readonly type: string; readonly bytes: Buffer };
}

export interface Route {
  readonly method: string;
  readonly path: RegExp;
  readonly answer: (asked: Asked) => Promise<Answer> | Answer;
}

/** An answer that is an error. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string | undefined;

  constructor(status: number, message: string, code?: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export async function answerFrom(
  routes: readonly Route[],
  request: IncomingMessage,
  path: string,
  bytes: Buffer,
): Promise<Answer> {
  const url = new URL(request.url ?? "/", "http://emulator");
  for (const route of routes) {
    const match = route.method === request.method ? route.path.exec(path) : null;
    if (match === null) continue;
    const parts = match.slice(1).map((part) => decodeURIComponent(part ?? ""));
    const json = () => (bytes.length === 0 ? {} : JSON.parse(bytes.toString()));
    return route.answer({ url, parts, headers: request.headers, bytes, json });
  }
  throw new Refusal(404, `no route ${request.method} ${path}`);
}

export function sendAnswer(
  response: ServerResponse,
  { status, body, raw }: Answer,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (raw !== undefined) {
    response
      .writeHead(status, { ...headers, "content-type": raw.type, "content-length": raw.bytes.length })
      .end(raw.bytes);
  } else if (body === undefined) {
    response.writeHead(status, headers).end();
  } else {
    response.writeHead(status, { ...headers, "content-type": "application/json" }).end(JSON.stringify(body));
  }
}
