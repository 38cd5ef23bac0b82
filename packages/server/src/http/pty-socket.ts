/** Terminals over WebSocket: bytes both ways, sizes as text frames, closed with the credential. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import {
  api,
  API_BASE,
  AppError,
  CLOSE,
  ERRORS,
  TerminalQuery,
  TerminalResize,
  type SandboxId,
  type TerminalServerFrame,
} from "@drover/contract";
import type { Deps } from "../app/deps.ts";
import { openTerminal, type RecordedTerminal } from "../app/open-terminal.ts";
import { StandsElsewhere } from "../app/stand-elsewhere.ts";
import { authorisePerson } from "./authorise.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import { FORWARDED } from "./forward-request.ts";
import { forwardTerminal } from "./forward-terminal.ts";
import { requireServed, type HostCheck } from "./host-check.ts";
import { identifySocket, openInbox, parseFrame, refuse, type Inbox } from "./socket-credential.ts";

const FRAME_LIMIT_BYTES = 256 * 1024;
const BUFFER_LIMIT_BYTES = 1024 * 1024;
const KEEP_ALIVE_MS = 30_000;
const SESSION_LIMIT = 64;
const PTY_PATH = new RegExp(`^${API_BASE}/sandboxes/([^/]+)/pty$`);

interface Session {
  readonly socket: WebSocket;
  readonly terminal: RecordedTerminal;
}

export interface PtySockets {
  /** Takes the upgrade if it is for a terminal. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  /** Resolves when every recording is kept. */
  close(): Promise<void>;
}

const say = (socket: WebSocket, frame: TerminalServerFrame) => {
  if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(frame));
};

/** A refusal closes with 4000 and its HTTP status; what may pass with time is 1013. */
const toCloseCode = (error: AppError): number => {
  const { status } = ERRORS[error.code];
  return status >= 500 ? CLOSE.stalled : 4_000 + status;
};

/** Resolves at once while the client keeps up, else when it has taken this chunk. */
function send(socket: WebSocket, chunk: Uint8Array): Promise<void> | undefined {
  if (socket.bufferedAmount < BUFFER_LIMIT_BYTES) return void socket.send(chunk);
  // An error here is a socket that closes; its `close` event ends the terminal.
  return new Promise((resolve) => socket.send(chunk, () => resolve()));
}

async function pump({ socket, terminal }: Session): Promise<void> {
  for await (const chunk of terminal.output) {
    if (socket.readyState === socket.OPEN) await send(socket, chunk);
  }
  say(socket, { type: "exit", code: (await terminal.exited).code });
  socket.close(1_000, "the shell has ended");
}

function listen(inbox: Inbox, { socket, terminal }: Session): void {
  inbox.listen((data: RawData, isBinary) => {
    if (isBinary) return terminal.write(data as Buffer);
    const frame = parseFrame(data, (value) => TerminalResize.safeParse(value).data);
    if (frame === undefined) return say(socket, { error: "Unknown message" });
    terminal.resize({ columns: frame.columns, rows: frame.rows });
  });
}

export function openPtySockets(deps: Deps, hosts: HostCheck, watch: CredentialWatch): PtySockets {
  const server = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: FRAME_LIMIT_BYTES });
  const sessions = new Set<Session>();
  const ending = new Set<Promise<unknown>>();
  const stopping = new AbortController();
  const keeper = setInterval(() => {
    for (const { socket } of sessions) socket.ping();
  }, KEEP_ALIVE_MS);

  const open = async (socket: WebSocket, request: IncomingMessage, id: string, search: URLSearchParams) => {
    const inbox = openInbox(socket);
    const query = TerminalQuery.safeParse(Object.fromEntries(search));
    if (!query.success) throw new AppError("request.invalid", "the query is not valid");
    requireServed(hosts, request.headers);
    const { principal, session } = await identifySocket(deps, request, query.data.ticket, { socket, inbox });
    if (principal === undefined) throw new AppError("auth.required", "a valid credential is needed");
    if (principal.kind !== "person") throw new AppError("auth.forbidden", "only a person opens a terminal");
    // Whoever may run commands may open a terminal.
    await authorisePerson(deps, api.execCommand, principal, { sandbox_id: id });
    if (sessions.size >= SESSION_LIMIT) throw new AppError("server.not_ready", "too many terminals are open");
    const size = { columns: query.data.columns, rows: query.data.rows };
    const hangUp = new AbortController();
    socket.once("close", () => hangUp.abort());
    if (socket.readyState !== socket.OPEN) return;
    const signal = AbortSignal.any([stopping.signal, hangUp.signal]);
    const end = () => refuse(socket, CLOSE.credential, "the credential has ended");
    const opened = await openTerminal(deps, principal, id as SandboxId, size, signal).catch((error: unknown) => {
      if (error instanceof StandsElsewhere && request.headers[FORWARDED] === undefined) return error;
      throw error;
    });
    if (opened instanceof StandsElsewhere) {
      const unwatch = watch.add({ who: principal, session, end });
      const call = { socket, inbox, person: principal, sandboxId: id as SandboxId, ...size };
      return forwardTerminal(deps, opened, call).finally(unwatch);
    }
    const terminal = opened;
    const member: Session = { socket, terminal };
    sessions.add(member);
    const unwatch = watch.add({ who: principal, session, end });
    socket.once("close", () => terminal.close());
    say(socket, { type: "ready" });
    listen(inbox, member);
    try {
      await pump(member);
    } finally {
      unwatch();
      sessions.delete(member);
      await terminal.saved;
    }
  };

  const accept = async (socket: WebSocket, request: IncomingMessage, id: string, search: URLSearchParams) => {
    socket.on("error", (error) => deps.log.debug("terminal.error", { reason: error.message }));
    try {
      await open(socket, request, id, search);
    } catch (error) {
      // Expected: a refusal, or the sandbox ended under the terminal.
      const refusal = error instanceof AppError ? error : new AppError("server.failed", undefined, { cause: error });
      if (refusal.code === "server.failed") deps.log.error("terminal.failed", { reason: String(error) });
      if (socket.readyState === socket.OPEN) refuse(socket, toCloseCode(refusal), refusal.message);
    }
  };

  return {
    handleUpgrade: (request, socket, head) => {
      const url = URL.parse(request.url ?? "/", "http://server");
      const [, id] = PTY_PATH.exec(url?.pathname ?? "") ?? [];
      if (url === null || id === undefined) return false;
      server.handleUpgrade(request, socket, head, (opened) => {
        const work = accept(opened, request, id, url.searchParams).finally(() => ending.delete(work));
        ending.add(work);
      });
      return true;
    },
    close: async () => {
      clearInterval(keeper);
      for (const socket of server.clients) socket.close(CLOSE.restarting, "the server stops");
      stopping.abort();
      setTimeout(() => {
        for (const socket of server.clients) socket.terminate();
      }, 500).unref();
      await Promise.all(ending);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
