/**
 * The agent's way to models and Git: a listener on loopback that hands requests on to the server over the worker's own
 * transport, with the sandbox's credential. The agent's processes see an address and no key.
 */
import { randomBytes } from "node:crypto";
import {
  Agent as HttpAgent,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { API_BASE } from "@drover/contract";
import type { Log } from "./log.ts";
import { parseAddress } from "./transport.ts";

export interface BridgeParts {
  readonly callbackUrl: string;
  readonly token: string;
  readonly log: Log;
}

export interface Bridge {
  /** The server as the agent's processes reach it, without a slash at its end. */
  readonly url: string;
  /** The last call of a model was refused by Drover because no money is left for it. */
  isBudgetSpent(): boolean;
  close(): Promise<void>;
}

const MODELS = `${API_BASE}/gateway/`;
const PASSED = [MODELS, `${API_BASE}/git/`];
const PAYMENT_REQUIRED = 402;
/** The server lets one sandbox have 64; the worker's own calls need some of them. */
const CONNECTIONS = 32;

/** They belong to one connection, or claim to be somebody. */
const DROPPED: ReadonlySet<string> = new Set([
  "authorization",
  "connection",
  "cookie",
  "host",
  "keep-alive",
  "origin",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
]);

const toPassed = (headers: IncomingHttpHeaders): IncomingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !DROPPED.has(name)));

/** What is left after the secret part, if it may pass: no step upwards, in whatever spelling. */
function findPath(url: string, prefix: string): string | undefined {
  if (!url.startsWith(`${prefix}/`)) return undefined;
  const path = url.slice(prefix.length);
  const [bare = ""] = path.split("?");
  const isClean = !/\\|%2e|%2f|%5c|\/\.{1,2}(\/|$)|\/\//i.test(bare);
  return isClean && PASSED.some((start) => bare.startsWith(start)) ? path : undefined;
}

function refuse(response: ServerResponse, status: number, detail: string): void {
  if (response.headersSent) return void response.destroy();
  const body = JSON.stringify({ type: "error", error: { type: "api_error", message: detail } });
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

export async function openBridge(parts: BridgeParts): Promise<Bridge> {
  const { options, prefix, isSecure } = parseAddress(parts.callbackUrl);
  const pool = { keepAlive: true, maxSockets: CONNECTIONS };
  const agent = isSecure ? new HttpsAgent(pool) : new HttpAgent(pool);
  const request = isSecure ? requestHttps : requestHttp;
  // Outside a sandbox other people's programs reach this port too; they do not know this part of the address.
  const secret = `/${randomBytes(12).toString("hex")}`;

  let isSpent = false;
  /** A vendor whose own account is empty says 402 too: nobody here can raise that, so the agent hears of it as of any error. */
  const noteMoney = (path: string, { statusCode = 502, headers }: IncomingMessage) => {
    if (!path.startsWith(MODELS)) return;
    const isOurs = headers["content-type"]?.startsWith("application/problem+json") === true;
    if (statusCode === PAYMENT_REQUIRED) isSpent = isOurs;
    else if (statusCode < 400) isSpent = false;
  };

  const forward = (incoming: IncomingMessage, response: ServerResponse, path: string) => {
    const outgoing = request({
      ...options,
      agent,
      method: incoming.method,
      path: prefix + path,
      headers: { ...toPassed(incoming.headers), authorization: `Bearer ${parts.token}` },
    });
    // Whoever hangs up, the other side hears of it.
    response.once("close", () => {
      if (!response.writableFinished) outgoing.destroy();
    });
    outgoing.once("error", (error: NodeJS.ErrnoException) => {
      if (response.destroyed) return;
      parts.log("bridge.failed", { path: path.split("?")[0] ?? "", detail: error.code ?? error.message });
      refuse(response, 502, `the Drover server does not answer: ${error.code ?? error.message}`);
    });
    outgoing.once("response", (answer) => {
      noteMoney(path, answer);
      const {
        connection: _connection,
        "keep-alive": _alive,
        "transfer-encoding": _coding,
        ...headers
      } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, headers);
      response.flushHeaders();
      // An answer may come before the whole request is read: what is left of it has nowhere to go.
      answer.once("end", () => void incoming.unpipe(outgoing).resume());
      pipeline(answer, response, () => undefined);
    });
    incoming.pipe(outgoing);
    incoming.once("error", () => void outgoing.destroy());
  };

  const server = createServer((incoming, response) => {
    const path = findPath(incoming.url ?? "", secret);
    if (path === undefined) return refuse(response, 404, "only models and Git are reached from here");
    forward(incoming, response, path);
  });
  // A model may think for long before it says a word.
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `http://127.0.0.1:${port}${secret}`,
    isBudgetSpent: () => isSpent,
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      agent.destroy();
    },
  };
}
