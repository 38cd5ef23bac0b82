/** Sandboxes for another Drover, over WebSocket: one request per connection, as `hosted.ts` of the contract says. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createWebSocketStream, WebSocketServer, type RawData, type WebSocket } from "ws";
import {
  AppError,
  CLOSE,
  HOSTED_FRAME_LIMIT_BYTES,
  HOSTED_PATH,
  HOSTED_REPLACED,
  HOSTED_STREAM,
  HostedInput,
  HostedRequest,
  type HostedAnswer,
  type HostedSocket,
} from "@drover/contract";
import type { Person } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { openHosting, type Hosting } from "../app/host-sandboxes.ts";
import type { ExecCommand } from "../ports/sandbox-provider.ts";
import { resolvePrincipal } from "./authorise.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import { requireServed, type HostCheck } from "./host-check.ts";
import { openRelays, type Relays } from "./hosted-relay.ts";
import { toAppError } from "./problem.ts";
import { openInbox, parseFrame, refuse, type Inbox } from "./socket-credential.ts";

/** What a command or a file may be given. */
const INPUT_LIMIT_BYTES = 512 * 1024 * 1024;
const BUFFER_LIMIT_BYTES = 4 * 1024 * 1024;
const CONNECTIONS = 1_024;
const KEEP_ALIVE_MS = 30_000;
/** For a caller that is told the end and does not hang up. */
const GOODBYE_MS = 2_000;

export interface HostedSockets {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  close(): Promise<void>;
}

interface Call {
  readonly socket: WebSocket;
  readonly inbox: Inbox;
  readonly hosting: Hosting;
  readonly owner: string;
  readonly relays: Relays;
  readonly signal: AbortSignal;
}

const say = (socket: WebSocket, answer: HostedAnswer) => socket.send(JSON.stringify(answer));

/** Waits where the caller does not keep up, so that a command is no quicker than its reader. */
async function sendBytes(socket: WebSocket, stream: number | undefined, bytes: Uint8Array): Promise<void> {
  const frame = stream === undefined ? bytes : Buffer.concat([Buffer.from([stream]), bytes]);
  if (socket.bufferedAmount < BUFFER_LIMIT_BYTES) return socket.send(frame);
  await new Promise<void>((resolve) => socket.send(frame, () => resolve()));
}

/** Everything up to the caller's `end`. */
function readInput({ inbox, signal }: Call): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    inbox.listen((data: RawData, isBinary) => {
      if (!isBinary) return resolve(Buffer.concat(chunks));
      size += (data as Buffer).length;
      if (size > INPUT_LIMIT_BYTES) return reject(new AppError("sandbox.rejected", "this is too much to be sent"));
      chunks.push(data as Buffer);
    });
  });
}

async function toCommand(call: Call, request: Extract<HostedRequest, { op: "exec" | "start" }>): Promise<ExecCommand> {
  const stdin = await readInput(call);
  const timeoutMs = request.op === "exec" ? request.timeout_ms : undefined;
  return {
    argv: request.argv,
    ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
    ...(request.env === undefined ? {} : { env: request.env }),
    ...(stdin.length === 0 ? {} : { stdin }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

async function exec(call: Call, request: Extract<HostedRequest, { op: "exec" }>): Promise<unknown> {
  const { hosting, socket, signal } = call;
  const command = await toCommand(call, request);
  for await (const event of hosting.provider.exec(hosting.toRef(request.key), command, signal)) {
    if (event.type === "exit") {
      const { type: _type, ...exit } = event;
      return exit;
    }
    await sendBytes(socket, HOSTED_STREAM[event.type], event.chunk);
  }
  throw new AppError("sandbox.unavailable", "the command's end was not told");
}

async function openTerminal(call: Call, request: Extract<HostedRequest, { op: "terminal" }>): Promise<unknown> {
  const { hosting, socket, signal } = call;
  const size = { columns: request.columns, rows: request.rows };
  const terminal = await hosting.provider.openTerminal(hosting.toRef(request.key), size, signal);
  signal.addEventListener("abort", () => terminal.close(), { once: true });
  say(socket, { type: "ready" });
  call.inbox.listen((data, isBinary) => {
    if (isBinary) return terminal.write(data as Buffer);
    const frame = parseFrame(data, (value) => HostedInput.parse(value));
    if (frame?.type === "resize") terminal.resize(frame.columns, frame.rows);
  });
  for await (const chunk of terminal.output) await sendBytes(socket, HOSTED_STREAM.stdout, chunk);
  return terminal.exited;
}

/** A port of a sandbox: what is read there is not read faster than the caller takes it, and the other way round. */
async function connect(call: Call, request: Extract<HostedRequest, { op: "connect" }>): Promise<null> {
  const { hosting, socket, signal, inbox } = call;
  const { provider } = hosting;
  if (provider.connect === undefined)
    throw new AppError("sandbox.rejected", `provider ${provider.name} has no way to a port of a sandbox`);
  const connection = await provider.connect(hosting.toRef(request.key), request.port, signal);
  const hangUp = () => void connection.destroy();
  // Expected: the program inside hangs up. Whoever reads is told the end.
  connection.on("error", () => undefined);
  signal.addEventListener("abort", hangUp, { once: true });
  if (signal.aborted) hangUp();
  say(socket, { type: "ready" });
  inbox.listen((data, isBinary) => {
    if (!isBinary) return void connection.end();
    if (connection.write(data as Buffer)) return;
    socket.pause();
    connection.once("drain", () => socket.resume());
  });
  try {
    for await (const chunk of connection) await sendBytes(socket, HOSTED_STREAM.stdout, chunk as Buffer);
  } finally {
    hangUp();
    if (socket.readyState === socket.OPEN) socket.resume();
  }
  return null;
}

async function download(call: Call, request: Extract<HostedRequest, { op: "download" }>): Promise<null> {
  const { hosting, socket, signal } = call;
  const bytes = await hosting.provider.download(hosting.toRef(request.key), request.path, request.limit, signal);
  for (let start = 0; start < bytes.length; start += HOSTED_FRAME_LIMIT_BYTES)
    await sendBytes(socket, HOSTED_STREAM.stdout, bytes.subarray(start, start + HOSTED_FRAME_LIMIT_BYTES));
  return null;
}

async function answer(call: Call, request: HostedRequest): Promise<unknown> {
  const { hosting, signal } = call;
  const { provider, toRef } = hosting;
  switch (request.op) {
    case "about": {
      const { pause, snapshot, terminal, socketDirectory, survivesServer } = provider.capabilities;
      return { provider: provider.name, capabilities: { pause, snapshot, terminal, socketDirectory, survivesServer } };
    }
    case "ensure":
      return hosting.ensure(request, signal);
    case "exec":
      return exec(call, request);
    case "start":
      await provider.startDetached(toRef(request.key), await toCommand(call, request), signal);
      return null;
    case "terminal":
      return openTerminal(call, request);
    case "connect":
      return connect(call, request);
    case "upload": {
      const options = request.mode === undefined ? {} : { mode: request.mode };
      await provider.upload(toRef(request.key), request.path, await readInput(call), options, signal);
      return null;
    }
    case "download":
      return download(call, request);
    case "files":
      return provider.listFiles(toRef(request.key), request.path, signal);
    case "info":
      return (await provider.info(toRef(request.key), signal)) ?? null;
    case "list":
      return hosting.list(request.labels, signal);
    case "pause":
      await provider.pause(toRef(request.key), signal);
      return null;
    case "resume":
      await provider.resume(toRef(request.key), signal);
      return null;
    case "snapshot":
      return provider.snapshot(toRef(request.key), request.name, signal);
    case "destroy":
      await call.relays.close(toRef(request.key).key);
      await provider.destroy(toRef(request.key), signal);
      return null;
    case "relay": {
      const directory = provider.socketDirectory(toRef(request.key));
      if (directory === undefined) throw new AppError("sandbox.rejected", "sandboxes here have no sockets");
      const caller = {
        announce: (id: string, socket: HostedSocket) => say(call.socket, { type: "connection", id, socket }),
        dismiss: () => call.socket.close(HOSTED_REPLACED),
      };
      await call.relays.open(toRef(request.key).key, directory, call.owner, caller, signal);
      say(call.socket, { type: "ready" });
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
      return null;
    }
  }
}

/** The connection is nothing but the bytes of the one inside. */
function join(socket: WebSocket, inside: Socket): void {
  const outside = createWebSocketStream(socket);
  // Expected: either side hangs up; what was sent before arrives, and the other is hung up on.
  outside.on("error", () => inside.destroy()).once("close", () => inside.destroySoon());
  inside.once("close", () => outside.end());
  outside.pipe(inside);
  inside.pipe(outside);
}

export function openHostedSockets(deps: Deps, hosts: HostCheck, watch: CredentialWatch): HostedSockets {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: HOSTED_FRAME_LIMIT_BYTES + 1,
  });
  const relays = openRelays(() => randomUUID());
  const stopping = new AbortController();
  const working = new Set<Promise<void>>();
  const keeper = setInterval(() => {
    for (const socket of server.clients) socket.ping();
  }, KEEP_ALIVE_MS);

  const readRequest = (inbox: Inbox, signal: AbortSignal) =>
    new Promise<HostedRequest | undefined>((resolve) => {
      signal.addEventListener("abort", () => resolve(undefined), { once: true });
      inbox.listen((data) => {
        inbox.listen(undefined);
        resolve(parseFrame(data, (value) => HostedRequest.parse(value)));
      });
    });

  const serve = async (socket: WebSocket, person: Person, inbox: Inbox) => {
    if (socket.readyState !== socket.OPEN) return;
    const hangUp = new AbortController();
    socket.once("close", () => hangUp.abort(new AppError("sandbox.unavailable", "the caller hung up")));
    const signal = AbortSignal.any([stopping.signal, hangUp.signal]);
    const unwatch = watch.add({
      who: person,
      session: undefined,
      end: () => refuse(socket, CLOSE.credential, "the credential has ended"),
    });
    socket.once("close", unwatch);
    const hosting = await openHosting(deps, person);
    socket.resume();
    const asked = await readRequest(inbox, signal);
    if (asked === undefined) throw new AppError("request.invalid", "the first frame is no request");
    const value = await answer({ socket, inbox, hosting, owner: person.name, relays, signal }, asked);
    say(socket, { type: "result", value: value ?? null });
    socket.close(1_000);
  };

  const authorise = async (request: IncomingMessage): Promise<Person> => {
    requireServed(hosts, request.headers);
    if (server.clients.size > CONNECTIONS) throw new AppError("server.not_ready", "too many requests are open");
    const { authorization } = request.headers;
    const principal = authorization === undefined ? undefined : await resolvePrincipal(deps, { authorization });
    if (principal === undefined) throw new AppError("auth.required", "a valid credential is needed");
    if (principal.kind !== "person") throw new AppError("auth.forbidden", "a sandbox has no sandboxes");
    return principal;
  };

  const accept = async (socket: WebSocket, request: IncomingMessage) => {
    const inbox = openInbox(socket);
    // What comes before anybody can take it waits at the caller.
    socket.pause();
    socket.on("error", (error) => deps.log.debug("hosted.error", { reason: error.message }));
    try {
      await serve(socket, await authorise(request), inbox);
    } catch (error) {
      // Expected: a refusal, or a sandbox that ended under the request.
      const { code, message } = toAppError(error);
      if (code === "server.failed") deps.log.error("hosted.failed", { reason: String(error) });
      if (socket.readyState !== socket.OPEN) return;
      socket.resume();
      say(socket, { type: "refused", code, message });
      socket.close(1_000);
      setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
    }
  };

  /** Asked before the handshake: once it is made, bytes may come at any time. */
  const takeOver = async (request: IncomingMessage, socket: Duplex, head: Buffer, id: string) => {
    const person = await authorise(request).catch(() => undefined);
    const inside = person === undefined ? undefined : relays.take(id, person.name);
    if (inside === undefined)
      return void socket.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    server.handleUpgrade(request, socket, head, (opened) => join(opened, inside));
  };

  return {
    handleUpgrade: (request, socket, head) => {
      const url = URL.parse(request.url ?? "/", "http://server");
      if (url?.pathname !== HOSTED_PATH) return false;
      const connection = url.searchParams.get("connection");
      if (connection !== null) {
        void takeOver(request, socket, head, connection);
        return true;
      }
      server.handleUpgrade(request, socket, head, (opened) => {
        const work = accept(opened, request).finally(() => working.delete(work));
        working.add(work);
      });
      return true;
    },
    close: async () => {
      clearInterval(keeper);
      stopping.abort(new AppError("sandbox.unavailable", "the server stops"));
      await relays.closeAll();
      for (const socket of server.clients) socket.terminate();
      await Promise.allSettled(working);
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
