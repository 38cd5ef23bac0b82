/** Daytona's toolbox inside a sandbox of the emulator: it listens on the socket that its argument names. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { answerFrom, readBody, Refusal, sendAnswer, type Answer, type Route } from "./http-answer.ts";
import { FILE_ROUTES } from "./toolbox-files.ts";
import { openSessions } from "./toolbox-sessions.ts";
import { openTerminals } from "./toolbox-terminals.ts";

const sessions = openSessions();
const terminals = openTerminals();

/** In bytes, of the whole machine: the emulator limits nothing. */
function readMemory(): { readonly memTotal: number; readonly memUsed: number } {
  const text = readFileSync("/proc/self/statm", "utf8");
  return { memTotal: 0, memUsed: Number(text.split(" ")[1]) * 4_096 };
}

const routes: readonly Route[] = [
  ...sessions.routes,
  ...terminals.routes,
  ...FILE_ROUTES,
  { method: "GET", path: /^\/work-dir$/, answer: () => ({ status: 200, body: { dir: "/workspace" } }) },
  {
    method: "GET",
    path: /^\/user-home-dir$/,
    answer: () => ({ status: 200, body: { dir: process.env["HOME"] ?? "/" } }),
  },
  {
    method: "GET",
    path: /^\/system\/metrics$/,
    answer: () => ({ status: 200, body: { ...readMemory(), timestamp: new Date().toISOString() } }),
  },
];

function toError(error: unknown, method: string | undefined, path: string): Answer {
  const refusal = error instanceof Refusal ? error : new Refusal(500, String(error), "INTERNAL_SERVER_ERROR");
  const { status, message, code } = refusal;
  const timestamp = new Date().toISOString();
  return { status, body: { statusCode: status, message, code, source: "DAYTONA_DAEMON", method, path, timestamp } };
}

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? "/", "http://toolbox");
  readBody(request)
    .then((bytes) => answerFrom(routes, request, pathname, bytes))
    .catch((error: unknown) => toError(error, request.method, pathname))
    .then((answer) => sendAnswer(response, answer))
    .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
});

/** Of the offered names the one that asks for exit codes; the other carries variables. */
const sockets = new WebSocketServer({
  noServer: true,
  handleProtocols: (offered) => [...offered].find((name) => name.endsWith("Exit-Control")) ?? [...offered][0] ?? false,
});

server.on("upgrade", (request, socket, head) => {
  const url = new URL(request.url ?? "/", "http://toolbox");
  const [, session = "", command = ""] =
    /^\/process\/session\/([^/]+)\/command\/([^/]+)\/logs$/.exec(url.pathname) ?? [];
  if (sessions.has(session, command)) {
    sockets.handleUpgrade(request, socket, head, (opened) => sessions.follow(session, command, opened));
  } else if (url.pathname === "/process/pty/create-connect") {
    const protocols = request.headers["sec-websocket-protocol"] ?? "";
    sockets.handleUpgrade(request, socket, head, (opened) => terminals.connect(opened, url.searchParams, protocols));
  } else {
    socket.end("HTTP/1.1 404 Not Found\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
  }
});

server.listen(process.argv[2], () => console.log("ready"));
