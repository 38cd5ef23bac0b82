/** One HTTP request as bytes on the wire: any path, header or body, also those that a polite client would not send. */
import { request, type Agent, type IncomingHttpHeaders } from "node:http";
import { gunzipSync } from "node:zlib";

export interface CallOptions {
  /** Sent as a bearer. */
  readonly token?: string | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly raw?: string | Uint8Array;
  /** `undefined` takes one away that would be sent otherwise. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** As they came. */
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed body, decompressed if need be; undefined when it is not JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests assert on its shape
  readonly body: any;
}

function parseBody(headers: IncomingHttpHeaders, bytes: Buffer): unknown {
  if (bytes.length === 0 || !/json/.test(headers["content-type"] ?? "")) return undefined;
  return JSON.parse((headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes).toString("utf8"));
}

/** `path` is sent unchanged. */
export function callHttp(
  origin: string,
  agent: Agent,
  method: string,
  path: string,
  options: CallOptions,
): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  const bytes = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const given = {
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
    ...(bytes === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(bytes)) }),
    ...options.headers,
  };
  const headers = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return new Promise((resolve, reject) => {
    const outgoing = request({
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      method,
      path,
      headers,
      agent,
      signal: options.signal,
    });
    outgoing.once("error", reject);
    outgoing.once("response", (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.once("error", reject);
      incoming.once("end", () => {
        const all = Buffer.concat(chunks);
        const text = all.toString("utf8");
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          bytes: all,
          text,
          body: parseBody(incoming.headers, all),
        });
      });
    });
    outgoing.end(bytes);
  });
}
