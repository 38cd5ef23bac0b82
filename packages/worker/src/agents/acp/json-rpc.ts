/** One side of JSON-RPC 2.0 over lines. What arrives is handled in the order in which it stands on the wire: a reply never
 *  overtakes the notifications before it. */
import { readLines } from "./json-lines.ts";

/** The other side refused a request. */
export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}

export const METHOD_NOT_FOUND = -32_601;
export const CONNECTION_CLOSED = -32_000;

export interface RpcHandlers {
  /** Awaited before the next line is read: this is how a slow reader slows the other side. */
  onNotification(method: string, params: unknown): Promise<void> | void;
  /** May take long; the lines behind it are read meanwhile. */
  onRequest(method: string, params: unknown): Promise<unknown>;
  /** A line that is no message: other programs print to standard output too. */
  onNoise(line: string | undefined): void;
}

export interface RpcPeer {
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): void;
  /** Resolves when the other side has said its last. Requests that it owes an answer are rejected then. */
  readonly closed: Promise<void>;
}

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown };
}

function parseMessage(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const toError = (error: NonNullable<Message["error"]>): RpcError =>
  new RpcError(
    typeof error.code === "number" ? error.code : 0,
    typeof error.message === "string" ? error.message : "the request was refused",
    error.data,
  );

export function connectRpc(
  source: AsyncIterable<Uint8Array>,
  write: (line: string) => void,
  handlers: RpcHandlers,
): RpcPeer {
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: RpcError) => void }>();
  let nextId = 0;
  let isClosed = false;
  const send = (message: Readonly<Record<string, unknown>>) =>
    write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

  const serve = async (id: unknown, method: string, params: unknown) => {
    try {
      send({ id, result: (await handlers.onRequest(method, params)) ?? {} });
    } catch (error) {
      const refusal = error instanceof RpcError ? error : new RpcError(-32_603, String(error));
      send({ id, error: { code: refusal.code, message: refusal.message } });
    }
  };

  const settle = (id: unknown, message: Message) => {
    const found = waiting.get(id as number);
    if (found === undefined) return;
    waiting.delete(id as number);
    if (message.error === undefined || message.error === null) found.resolve(message.result);
    else found.reject(toError(message.error));
  };

  const read = async () => {
    for await (const line of readLines(source)) {
      const message = line === undefined ? undefined : parseMessage(line);
      if (message === undefined) handlers.onNoise(line);
      else if (typeof message.method !== "string") settle(message.id, message);
      else if (message.id === undefined) await handlers.onNotification(message.method, message.params);
      else void serve(message.id, message.method, message.params);
    }
  };

  const closed = read()
    .catch(() => {}) // a broken pipe is an end like any other
    .then(() => {
      isClosed = true;
      for (const { reject } of waiting.values()) reject(new RpcError(CONNECTION_CLOSED, "the agent is gone"));
      waiting.clear();
    });

  return {
    request(method, params) {
      if (isClosed) return Promise.reject(new RpcError(CONNECTION_CLOSED, "the agent is gone"));
      const id = (nextId += 1);
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      waiting.set(id, { resolve, reject });
      send({ id, method, params });
      return promise;
    },
    notify: (method, params) => send({ method, params }),
    closed,
  };
}
