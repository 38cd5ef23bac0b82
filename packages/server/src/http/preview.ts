/** The proxy of previews: a port of a sandbox at an origin of its own. What is inside is hostile: nothing of ours goes in, and what comes out
 *  stays at its origin. */
import { request as requestHttp, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pipeline } from "node:stream";
import { AppError, ERRORS, type TokenId } from "@drover/contract";
import type { Deps } from "../app/deps.ts";
import {
  connectPreview,
  OPEN_PATH,
  openPreviews,
  parsePreviewHost,
  type PreviewTarget,
} from "../app/preview-sandbox.ts";
import { signalOf } from "./hang-up.ts";
import { toAppError } from "./problem.ts";

const COOKIE = "drover_preview";
/** Of this server: they are neither shown to a sandbox nor taken from one. */
const OWN_COOKIE = /^drover_/i;
const OWN_BEARER = /^bearer\s+drv_/i;
const LOOK_MS = 5_000;
const CONNECT_LIMIT_MS = 20_000;
const HOP_BY_HOP: ReadonlySet<string> = new Set([
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
/** What would tell the inside where it is seen from, or the browser something about more than this origin. */
const NOT_IN: ReadonlySet<string> = new Set(["host", "cookie", "referer", "forwarded", "x-real-ip"]);
const NOT_OUT: ReadonlySet<string> = new Set([
  "strict-transport-security",
  "alt-svc",
  "public-key-pins",
  "nel",
  "report-to",
]);

type Headers = Record<string, string | string[]>;

export interface PreviewSite {
  /** True when the host is one of previews: then it is answered here. */
  handle(request: IncomingMessage, response: ServerResponse): boolean;
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  close(): Promise<void>;
}

const toPairs = (cookie: string | undefined): readonly (readonly [string, string])[] =>
  (cookie ?? "").split(";").flatMap((part) => {
    const [name = "", ...value] = part.trim().split("=");
    return name === "" ? [] : [[name, value.join("=")] as const];
  });

function toInside({ headers }: IncomingMessage, port: number): Headers {
  const inside: Headers = { host: `localhost:${port}` };
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || NOT_IN.has(name)) continue;
    if (name.startsWith("x-forwarded-") || name.startsWith("x-drover-")) continue;
    if (name === "authorization" && OWN_BEARER.test(headers.authorization ?? "")) continue;
    inside[name] = value;
  }
  // Programs in development answer only to pages of their own.
  if (headers.origin !== undefined) inside["origin"] = `http://localhost:${port}`;
  const cookies = toPairs(headers.cookie).filter(([name]) => !OWN_COOKIE.test(name));
  if (cookies.length > 0) inside["cookie"] = cookies.map(([name, value]) => `${name}=${value}`).join("; ");
  return inside;
}

/** A cookie for this origin alone, never for a name above it, and never one of ours. */
function toOwnCookie(line: string): string[] {
  const [pair = "", ...attributes] = line.split(";");
  if (OWN_COOKIE.test(pair.trim()) || !pair.includes("=")) return [];
  return [[pair, ...attributes.filter((one) => !/^\s*domain\s*(?:=|$)/i.test(one))].join(";")];
}

/** A place of the sandbox's own is one of this origin; any other is left as it is. */
function toOwnLocation(location: string, port: number): string {
  const url = URL.parse(location, `http://localhost:${port}`);
  const isOwn = url !== null && ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"].includes(url.hostname);
  if (!isOwn || Number(url.port || "80") !== port) return location;
  // Two slashes at its beginning would name a host.
  return `${url.pathname.replace(/^\/+/, "/")}${url.search}${url.hash}`;
}

function toOutside(headers: IncomingHttpHeaders, port: number): Headers {
  const outside: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || HOP_BY_HOP.has(name) || NOT_OUT.has(name)) continue;
    if (name === "set-cookie") outside[name] = [value].flat().flatMap(toOwnCookie);
    else if (name === "location") outside[name] = toOwnLocation(headers.location ?? "", port);
    else outside[name] = value;
  }
  return outside;
}

/** Another page may lead a browser here, and do nothing else: neither ask in its user's name, nor show this inside of itself. */
function isForeign({ method, headers }: IncomingMessage): boolean {
  if (headers.origin !== undefined) return URL.parse(headers.origin)?.host !== headers.host?.toLowerCase();
  const site = headers["sec-fetch-site"];
  if (site === undefined || site === "same-origin" || site === "none") return false;
  return !(method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document");
}

function say(response: ServerResponse, status: number, text: string, more: Headers = {}): void {
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'",
    "referrer-policy": "no-referrer",
    ...more,
  });
  response.end(`${text}\n`);
}

const NOT_LET_IN =
  "This preview is opened from Drover: by its button on the run's page, or by drover preview <id> <port>.";

export function openPreviewSite(deps: Deps): PreviewSite {
  const previews = openPreviews(deps);
  const live = new Map<Duplex, TokenId>();
  const looker = setInterval(() => {
    for (const [socket, tokenId] of live)
      // Expected: the store is away; then nothing is concluded.
      void previews.isGood(tokenId).then(
        (isGood) => (isGood ? undefined : socket.destroy()),
        () => undefined,
      );
  }, LOOK_MS).unref();

  const findTarget = (request: IncomingMessage) => parsePreviewHost(deps.config.previewHost, request.headers.host);
  const findToken = (target: PreviewTarget, request: IncomingMessage) =>
    previews.findToken(
      target,
      toPairs(request.headers.cookie).flatMap(([name, value]) => (name === COOKIE ? [value] : [])),
    );

  const redeem = async (target: PreviewTarget, url: URL, response: ServerResponse) => {
    const found = await previews.redeem(target, url.searchParams.get("ticket") ?? "");
    if (found === undefined) return say(response, 401, `The link was used or has run out. ${NOT_LET_IN}`);
    const isSecure = deps.address().startsWith("https:") ? "; Secure" : "";
    say(response, 303, "See /", {
      location: "/",
      "set-cookie": `${COOKIE}=${found.pass}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${found.seconds}${isSecure}`,
    });
  };

  /** Asks the inside; the connection is made for this request alone. */
  const ask = async (target: PreviewTarget, request: IncomingMessage, more: Headers, signal: AbortSignal) => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_LIMIT_MS)]);
    const connection = await connectPreview(deps, target, limit);
    signal.addEventListener("abort", () => connection.destroy(), { once: true });
    return requestHttp({
      createConnection: () => connection,
      method: request.method,
      path: request.url,
      headers: { ...toInside(request, target.port), ...more },
    });
  };

  const pass = async (target: PreviewTarget, request: IncomingMessage, response: ServerResponse) => {
    const inner = await ask(target, request, { connection: "close" }, signalOf(response, []));
    const answered = new Promise<IncomingMessage>((resolve, reject) =>
      inner.once("response", resolve).once("error", reject),
    );
    // Expected: either side hangs up.
    pipeline(request, inner, () => undefined);
    const answer = await answered.catch((cause: unknown) => {
      throw new AppError("port.not_answering", "the program in the sandbox hung up", { cause });
    });
    response.writeHead(answer.statusCode ?? 502, toOutside(answer.headers, target.port));
    pipeline(answer, response, () => undefined);
  };

  const answer = async (target: PreviewTarget | null, request: IncomingMessage, response: ServerResponse) => {
    if (target === null) return say(response, 404, "There is no such preview.");
    if (isForeign(request)) return say(response, 403, "Another site may not ask here.");
    const url = URL.parse(request.url ?? "/", "http://preview");
    if (url === null || !request.url?.startsWith("/")) return say(response, 400, "This is no path.");
    if (url.pathname === OPEN_PATH && request.method === "GET") return redeem(target, url, response);
    if ((await findToken(target, request)) === undefined) return say(response, 401, NOT_LET_IN);
    await pass(target, request, response);
  };

  const upgrade = async (target: PreviewTarget | null, request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const tokenId = target === null || isForeign(request) ? undefined : await findToken(target, request);
    if (target === null || tokenId === undefined || request.headers.origin === undefined)
      return void socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    const more = { connection: "Upgrade", upgrade: String(request.headers.upgrade) };
    const inner = await ask(target, request, more, signalOf(socket, []));
    const refuse = () => void socket.end("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    inner.once("error", refuse);
    inner.once("response", refuse);
    inner.once("upgrade", (response, inside, first) => {
      const lines = Object.entries(toOutside(response.headers, target.port)).flatMap(([name, values]) =>
        [values].flat().map((value) => `${name}: ${value}\r\n`),
      );
      const kept = `connection: Upgrade\r\nupgrade: ${String(request.headers.upgrade)}\r\n`;
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${kept}${lines.join("")}\r\n`);
      live.set(socket, tokenId);
      socket.once("close", () => live.delete(socket));
      if (head.length > 0) inside.write(head);
      if (first.length > 0) socket.write(first);
      pipeline(inside, socket, () => undefined);
      pipeline(socket, inside, () => undefined);
    });
    inner.end();
  };

  return {
    handle: (request, response) => {
      const target = findTarget(request);
      if (target === undefined) return false;
      answer(target, request, response).catch((error: unknown) => {
        const { code, message } = toAppError(error);
        if (code === "server.failed") deps.log.error("preview.failed", { reason: String(error) });
        if (response.headersSent) response.destroy();
        else say(response, ERRORS[code].status, code === "server.failed" ? "The preview failed." : message);
      });
      return true;
    },
    handleUpgrade: (request, socket, head) => {
      const target = findTarget(request);
      if (target === undefined) return false;
      upgrade(target, request, socket, head).catch(() => socket.destroy());
      return true;
    },
    close: async () => {
      clearInterval(looker);
      for (const socket of live.keys()) socket.destroy();
    },
  };
}
