/** An HTTP proxy per sandbox on a unix socket: CONNECT and absolute form, nothing that was not judged, everything bounded. */
import { chmod, open, rm } from "node:fs/promises";
import {
  createServer,
  request as sendRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import type { SandboxId } from "@drover/contract";
import type { EgressJudge, EgressProxy, NameResolver } from "../ports/egress.ts";
import { dial } from "./egress/dial.ts";

const SOCKET = "egress.sock";
const CONNECTIONS = 128;
const HEADER_BYTES = 16 * 1024;
const HEADER_MS = 10_000;
const REQUEST_MS = 30 * 60 * 1_000;
const IDLE_MS = 10 * 60 * 1_000;
const DEFAULT_PORT = 80;

/** Headers between two neighbours; they say nothing to whoever comes after. */
const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

function toForwarded(headers: IncomingMessage["headers"]): Record<string, string | string[]> {
  const named = (headers.connection ?? "").toLowerCase().split(/\s*,\s*/);
  const kept = Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.includes(name));
  return Object.fromEntries(kept.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

interface AbsoluteForm {
  readonly authority: string;
  readonly path: string;
}

/** `http://host[:port]/path`, with nobody's name in it. */
function toAbsoluteForm(url: string): AbsoluteForm | undefined {
  const [, authority = "", rest = ""] = /^http:\/\/([^/?#@\\]+)([/?][^#]*)?$/i.exec(url) ?? [];
  if (authority === "") return undefined;
  const hasPort = /:\d+$/.test(authority.replace(/^\[[^\]]*\]/, ""));
  return {
    authority: hasPort ? authority : `${authority}:${DEFAULT_PORT}`,
    path: rest.startsWith("/") ? rest : `/${rest}`,
  };
}

type Way =
  | { readonly ok: true; readonly socket: Socket }
  | { readonly ok: false; readonly status: number; readonly reason: string };

async function openWay(
  judge: EgressJudge,
  resolver: NameResolver,
  authority: string,
  signal: AbortSignal,
): Promise<Way> {
  const refuse = (reason: string): Way => {
    judge.note(authority, "refused", reason);
    return { ok: false, status: 403, reason };
  };
  const fail = (reason: string): Way => {
    judge.note(authority, "failed", reason);
    return { ok: false, status: 502, reason };
  };
  const named = await judge.judgeTarget(authority);
  if (!named.ok) return refuse(named.reason);
  // Resolved once: whatever the name means a moment later, these are the addresses that were judged.
  const addresses = await resolver.resolve(named.target.host, signal).catch(() => []);
  if (addresses.length === 0) return fail("name_not_found");
  const found = await judge.judgeAddresses(named.target, addresses);
  if (!found.ok) return refuse(found.reason);
  const socket = await dial(addresses, named.target.port, signal);
  if (socket === undefined) return fail("no_answer");
  judge.note(authority, "allowed", null);
  return { ok: true, socket };
}

/** Aborts when the inside hangs up, so that nothing is dialled for nobody. */
function signalOf(stream: Duplex): AbortSignal {
  const gone = new AbortController();
  stream.once("close", () => gone.abort());
  return gone.signal;
}

function joinBoth(inside: Duplex, outside: Socket): void {
  const end = () => {
    inside.destroy();
    outside.destroy();
  };
  inside.on("error", end).on("close", end);
  outside.on("error", end).on("close", end);
  outside.setTimeout(IDLE_MS, end);
  inside.pipe(outside).pipe(inside);
}

function serveProxy(judge: EgressJudge, resolver: NameResolver): { server: Server; closeAll: () => void } {
  const tunnels = new Set<Duplex>();

  const forward = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refuse = (status: number, reason: string) =>
      void response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${reason}\n`);
    const target = toAbsoluteForm(request.url ?? "");
    if (target === undefined) {
      judge.note((request.url ?? "").slice(0, 200), "refused", "not_a_host");
      return refuse(400, "this is a proxy: ask for http://host/path, or CONNECT host:port");
    }
    const way = await openWay(judge, resolver, target.authority, signalOf(request.socket));
    if (!way.ok) return refuse(way.status, way.reason);
    way.socket.setTimeout(IDLE_MS, () => way.socket.destroy());
    // One connection per request: nobody's leftovers can become the beginning of somebody's answer.
    const sent = sendRequest({
      // With an agent, `false` included, this would be ignored and the name dialled anew.
      createConnection: () => way.socket,
      method: request.method,
      path: target.path,
      headers: { ...toForwarded(request.headers), host: target.authority.replace(/:80$/, ""), connection: "close" },
      setHost: false,
      maxHeaderSize: HEADER_BYTES,
    });
    response.once("close", () => sent.destroy());
    sent.once("error", () => (response.headersSent ? response.destroy() : refuse(502, "no_answer")));
    sent.once("response", (answer) => {
      answer.once("error", () => response.destroy());
      response.writeHead(answer.statusCode ?? 502, { ...toForwarded(answer.headers), connection: "close" });
      answer.pipe(response);
    });
    request.pipe(sent);
  };

  const tunnel = async (request: IncomingMessage, inside: Duplex, head: Buffer): Promise<void> => {
    tunnels.add(inside);
    inside.once("close", () => tunnels.delete(inside)).on("error", () => inside.destroy());
    const way = await openWay(judge, resolver, request.url ?? "", signalOf(inside));
    if (inside.destroyed) return void (way.ok && way.socket.destroy());
    if (!way.ok) {
      const status = way.status === 403 ? "403 Forbidden" : "502 Bad Gateway";
      const body = `${way.reason}\n`;
      const lines = [
        `HTTP/1.1 ${status}`,
        "content-type: text/plain",
        `content-length: ${body.length}`,
        "connection: close",
      ];
      return void inside.end(`${lines.join("\r\n")}\r\n\r\n${body}`);
    }
    inside.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (head.length > 0) way.socket.write(head);
    joinBoth(inside, way.socket);
  };

  const server = createServer({
    maxHeaderSize: HEADER_BYTES,
    headersTimeout: HEADER_MS,
    requestTimeout: REQUEST_MS,
    connectionsCheckingInterval: HEADER_MS,
  });
  server.maxConnections = CONNECTIONS;
  server.timeout = IDLE_MS;
  server.on("request", (request, response) => void forward(request, response).catch(() => response.destroy()));
  server.on(
    "connect",
    (request, inside, head: Buffer) => void tunnel(request, inside, head).catch(() => inside.destroy()),
  );
  server.on("clientError", (_, socket) => void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n"));
  const closeAll = () => {
    server.closeAllConnections();
    for (const inside of tunnels) inside.destroy();
  };
  return { server, closeAll };
}

export function openEgressProxy(resolver: NameResolver): EgressProxy & { closeAll(): Promise<void> } {
  const opened = new Map<SandboxId, ReturnType<typeof serveProxy>>();
  const shut = async (sandboxId: SandboxId) => {
    const one = opened.get(sandboxId);
    if (one === undefined) return;
    opened.delete(sandboxId);
    one.closeAll();
    await new Promise<void>((resolve) => one.server.close(() => resolve()));
  };
  return {
    open: async (sandboxId, directory, judge) => {
      await shut(sandboxId);
      // By its open directory: the path of a unix socket has at most 107 bytes.
      const handle = await open(directory);
      const path = join(process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : directory, SOCKET);
      await rm(path, { force: true });
      const one = serveProxy(judge, resolver);
      await new Promise<void>((resolve, reject) => one.server.once("error", reject).listen(path, resolve));
      await chmod(path, 0o666);
      await handle.close();
      opened.set(sandboxId, one);
    },
    close: shut,
    closeAll: async () => {
      for (const sandboxId of opened.keys()) await shut(sandboxId);
    },
  };
}
