/** How the worker reaches the server: HTTP over TCP, TLS or a unix socket, with connections kept open. */
import { AppError } from "@drover/contract";
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export interface Call {
  readonly method: "GET" | "POST" | "PUT";
  /** Below the sandbox's own address. */
  readonly path: string;
  readonly body?: string | Buffer;
  readonly timeoutMs: number;
  /** Called when the whole request is out and nothing of the reply was read. */
  readonly onSent?: () => void;
}

export type Reply =
  | {
      readonly kind: "reply";
      readonly status: number;
      readonly retryAfterSeconds: number | undefined;
      readonly body: string;
      /** The body as it came, where it is no text. */
      readonly bytes?: Buffer;
    }
  | { readonly kind: "unreachable"; readonly detail: string };

/** Contract: never rejects; an abort is `unreachable`. Whether an unanswered request was carried out is unknown. */
export interface Transport {
  send(call: Call, signal: AbortSignal): Promise<Reply>;
  close(): void;
}

/** Where the server is, as Node's requests want it. */
export interface Address {
  readonly options: RequestOptions;
  readonly prefix: string;
  readonly isSecure: boolean;
}

export function parseAddress(url: string): Address {
  if (url.startsWith("unix://")) {
    return { options: { socketPath: url.slice("unix://".length), host: "localhost" }, prefix: "", isSecure: false };
  }
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol)) {
    throw new AppError("config.invalid", `CALLBACK_URL must be http://, https:// or unix://, not ${url}`);
  }
  const port = parsed.port === "" ? undefined : Number(parsed.port);
  const host = parsed.hostname.replace(/^\[|\]$/g, "");
  return {
    options: { host, ...(port === undefined ? {} : { port }) },
    prefix: parsed.pathname.replace(/\/+$/, ""),
    isSecure: parsed.protocol === "https:",
  };
}

const read = async (response: IncomingMessage): Promise<Reply> => {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const after = Number(response.headers["retry-after"]);
  const bytes = Buffer.concat(chunks);
  const isText = response.headers["content-type"]?.includes("json") ?? true;
  return {
    kind: "reply",
    status: response.statusCode ?? 0,
    retryAfterSeconds: Number.isFinite(after) ? after : undefined,
    body: isText ? bytes.toString("utf8") : "",
    ...(isText ? {} : { bytes }),
  };
};

const toContentType = (body: string | Buffer) =>
  typeof body === "string" ? "application/json" : "application/octet-stream";

export function createTransport(url: string, token: string): Transport {
  const { options, prefix, isSecure } = parseAddress(url);
  const agent = isSecure ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true });
  const request = isSecure ? requestHttps : requestHttp;

  const attempt = (call: Call, signal: AbortSignal) =>
    new Promise<{ reply: Reply; isStale: boolean }>((resolve) => {
      const outgoing = request({
        ...options,
        agent,
        method: call.method,
        path: prefix + call.path,
        signal: AbortSignal.any([signal, AbortSignal.timeout(call.timeoutMs)]),
        headers: {
          authorization: `Bearer ${token}`,
          accept: "application/json",
          ...(call.body === undefined
            ? {}
            : { "content-type": toContentType(call.body), "content-length": Buffer.byteLength(call.body) }),
        },
      });
      const fail = (error: NodeJS.ErrnoException) =>
        resolve({
          reply: { kind: "unreachable", detail: error.code ?? error.message },
          // The server closed an idle connection while we wrote: it has not seen the request, most likely.
          isStale: outgoing.reusedSocket && error.code === "ECONNRESET",
        });
      outgoing.once("error", fail);
      outgoing.once("response", (response) => {
        read(response).then((reply) => resolve({ reply, isStale: false }), fail);
      });
      if (call.onSent !== undefined) outgoing.once("finish", call.onSent);
      outgoing.end(call.body);
    });

  return {
    async send(call, signal) {
      const { reply, isStale } = await attempt(call, signal);
      return isStale ? (await attempt(call, signal)).reply : reply;
    },
    close: () => agent.destroy(),
  };
}
