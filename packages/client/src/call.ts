/** One HTTP call of an endpoint that is data: address, headers, retry, reply. */
import { API_BASE, type CallInput, type Endpoint, type ReplyParsed } from "@drover/contract";
import { toBackOffMs } from "./back-off.ts";
import { ClientError, toClientError } from "./client-error.ts";
import { sleep, type Timers } from "./timers.ts";

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** For a POST; made when absent where it creates. Under the same key it is done once, and may be tried again. */
  readonly idempotencyKey?: string;
  /** How often to try again after a failure that may pass; 3 unless given. */
  readonly retries?: number;
  /** The body of an endpoint that takes bytes instead of JSON. */
  readonly bytes?: BodyInit;
}

type Given<E extends Endpoint> = CallInput<E>;
type OptionalPart<T> = { [K in keyof T]: undefined extends T[K] ? K : {} extends T[K] ? K : never }[keyof T];

/** Path parameters, query and body; what the endpoint does not need may be left out. */
export type CallArguments<E extends Endpoint> = Omit<Given<E>, OptionalPart<Given<E>>> & {
  readonly [K in OptionalPart<Given<E>>]?: Given<E>[K];
};

/** An endpoint without a JSON reply gives the response itself. */
export type CallReply<E extends Endpoint> = unknown extends ReplyParsed<E> ? Response : ReplyParsed<E>;

export type Call<E extends Endpoint> =
  {} extends CallArguments<E>
    ? (input?: CallArguments<E>, options?: CallOptions) => Promise<CallReply<E>>
    : (input: CallArguments<E>, options?: CallOptions) => Promise<CallReply<E>>;

export interface CallContext {
  readonly baseUrl: string;
  readonly token: string | undefined;
  readonly fetch: typeof globalThis.fetch;
  readonly timers: Timers;
  readonly random: () => number;
}

interface LooseInput {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

const RETRIES = 3;
const RETRY_AFTER_LIMIT_SECONDS = 15;

/** Not `crypto.randomUUID`: browsers offer it on secure origins only, and a server in a LAN has none. */
export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

export function toAddress(baseUrl: string, endpoint: Endpoint, input: LooseInput): string {
  const path = endpoint.path.replaceAll(/:([a-z_]+)/g, (_, name: string) =>
    encodeURIComponent(String(input.params?.[name])),
  );
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(input.query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one));
    }
  }
  const query = search.toString();
  return `${baseUrl}${API_BASE}${path}${query === "" ? "" : `?${query}`}`;
}

function toRequest(context: CallContext, endpoint: Endpoint, input: LooseInput, options: CallOptions): RequestInit {
  const headers: Record<string, string> = { accept: "application/json" };
  if (context.token !== undefined) headers["authorization"] = `Bearer ${context.token}`;
  const key = options.idempotencyKey ?? (endpoint.creates === true ? newKey() : undefined);
  if (key !== undefined && endpoint.method === "POST") headers["idempotency-key"] = key;
  const hasJson = input.body !== undefined;
  if (hasJson) headers["content-type"] = "application/json";
  return {
    method: endpoint.method,
    headers,
    credentials: context.token === undefined ? "same-origin" : "omit",
    ...(hasJson ? { body: JSON.stringify(input.body) } : options.bytes === undefined ? {} : { body: options.bytes }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  };
}

async function send(context: CallContext, address: string, request: RequestInit): Promise<Response> {
  // `fetch` rejects when no reply came; an abort by the caller passes through as it is.
  const response = await context.fetch(address, request).catch((cause: unknown) => {
    if (request.signal?.aborted === true) throw cause;
    throw new ClientError(
      "client.unreachable",
      `no server answers at ${context.baseUrl === "" ? "this address" : context.baseUrl}`,
      { cause },
    );
  });
  if (!response.ok) throw await toClientError(response);
  return response;
}

/** Reading twice is harmless, and so is asking twice under one key; nothing else is repeated. */
const isRepeatable = (endpoint: Endpoint, request: RequestInit): boolean =>
  endpoint.method === "GET" || new Headers(request.headers).has("idempotency-key");

async function sendWithRetry(
  context: CallContext,
  endpoint: Endpoint,
  address: string,
  request: RequestInit,
  retries: number,
) {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await send(context, address, request);
    } catch (error) {
      // Expected: a refusal or silence that the table calls passing.
      const mayRepeat =
        error instanceof ClientError && error.isRetryable && isRepeatable(endpoint, request) && attempt < retries;
      if (!mayRepeat) throw error;
      const asked = Math.min(error.retryAfterSeconds ?? 0, RETRY_AFTER_LIMIT_SECONDS) * 1_000;
      await sleep(context.timers, Math.max(asked, toBackOffMs(attempt, context.random())), request.signal ?? undefined);
    }
  }
}

export async function callEndpoint(
  context: CallContext,
  endpoint: Endpoint,
  input: LooseInput = {},
  options: CallOptions = {},
): Promise<unknown> {
  const address = toAddress(context.baseUrl, endpoint, input);
  const request = toRequest(context, endpoint, input, options);
  const response = await sendWithRetry(context, endpoint, address, request, options.retries ?? RETRIES);
  if (endpoint.reply === undefined) return response;
  const body: unknown = await response.json().catch((cause: unknown) => {
    if (options.signal?.aborted === true) throw cause;
    throw new ClientError("client.bad_reply", `the reply of ${endpoint.method} ${endpoint.path} is not JSON`, {
      status: response.status,
      cause,
    });
  });
  const parsed = endpoint.reply.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ClientError("client.bad_reply", `${endpoint.method} ${endpoint.path}: ${parsed.error.message}`, {
    status: response.status,
    cause: parsed.error,
  });
}

/** The endpoint as a method. */
export const toCall = <E extends Endpoint>(context: CallContext, endpoint: E): Call<E> =>
  // What it takes and gives follows from the table; the function that serves every endpoint cannot say so.
  ((input?: object, options?: CallOptions) => callEndpoint(context, endpoint, input, options)) as Call<E>;
