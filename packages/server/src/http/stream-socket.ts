/** The live stream over WebSocket: credential, filters, keep-alive, flow control. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { WebSocketServer, type RawData, type WebSocket } from "ws";
import { API_BASE, AppError, AuthFrame, ClientFrame, CLOSE, EventFilter, StreamQuery } from "@drover/contract";
import type { Person, Principal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { toAudience, type TailEvent } from "../app/tail-event.ts";
import { resolvePrincipal } from "./authorise.ts";
import { requireServed, type HostCheck } from "./host-check.ts";
import { parseSessionCookie } from "./session-cookie.ts";
import { encodeEvents } from "./socket-frame.ts";
import { openSubscriber, type Sink, type Subscriber } from "./subscriber.ts";

const AUTH_LIMIT_MS = 5_000;
const FRAME_LIMIT_BYTES = 256 * 1024;
const BUFFER_LIMIT_BYTES = 1024 * 1024;
/** Frames that a client may send before it is known who it is, and answers that it may leave unread. */
const WAITING_FRAMES = 16;
const UNREAD_ANSWERS = 1_000;
const SWEEP_MS = 1_000;
const CREDENTIAL_CHECK_SWEEPS = 5;
const STREAM_PATH = `${API_BASE}/ws/events`;

interface Connection {
  readonly socket: WebSocket;
  readonly person: Person;
  /** Of a browser that came with a cookie. */
  readonly session: string | undefined;
  lastWriteMs: number;
}

export interface StreamSockets {
  /** Takes the upgrade if it is for the stream. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  count(): number;
  close(): Promise<void>;
}

function refuse(socket: WebSocket, code: number, error: string): void {
  socket.send(JSON.stringify({ error }));
  socket.close(code, error.slice(0, 100));
}

interface Inbox {
  /** Undefined: frames wait again. */
  listen(listener: ((data: RawData) => void) | undefined): void;
}

/** Frames wait until somebody listens, so that a client may speak the moment it is connected. */
function openInbox(socket: WebSocket): Inbox {
  const waiting: RawData[] = [];
  let listener: ((data: RawData) => void) | undefined;
  const drain = () => {
    while (listener !== undefined && waiting.length > 0) listener(waiting.shift() as RawData);
  };
  socket.on("message", (data) => {
    waiting.push(data);
    drain();
    if (waiting.length > WAITING_FRAMES) socket.terminate();
  });
  return {
    listen: (next) => {
      listener = next;
      drain();
    },
  };
}

/** Resolves with the first frame, which must be a credential, or undefined when none comes in time. */
function waitForAuthFrame(socket: WebSocket, inbox: Inbox): Promise<string | undefined> {
  return new Promise((resolve) => {
    const finish = (token: string | undefined) => {
      clearTimeout(timer);
      inbox.listen(undefined);
      socket.off("close", onClose);
      resolve(token);
    };
    const onClose = () => finish(undefined);
    const timer = setTimeout(() => finish(undefined), AUTH_LIMIT_MS);
    socket.once("close", onClose);
    inbox.listen((data) => finish(parseFrame(data, (value) => AuthFrame.safeParse(value).data?.token)));
  });
}

function parseFrame<T>(data: RawData, read: (value: unknown) => T): T | undefined {
  try {
    return read(JSON.parse((data as Buffer).toString("utf8")));
  } catch {
    // Expected: the client sent something else than JSON.
    return undefined;
  }
}

export function openStreamSockets(deps: Deps, hosts: HostCheck): StreamSockets {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: FRAME_LIMIT_BYTES,
    clientTracking: true,
  });
  const connections = new Set<Connection>();

  /** The first one present of bearer, ticket and cookie decides; with none of them the first frame does. */
  const identify = async (
    request: IncomingMessage,
    query: StreamQuery,
    socket: WebSocket,
    inbox: Inbox,
  ): Promise<Principal | undefined> => {
    const { authorization, cookie } = request.headers;
    if (authorization !== undefined) return resolvePrincipal(deps, { authorization });
    if (query.ticket !== undefined) return deps.credentials.takeTicket(query.ticket);
    if (parseSessionCookie(cookie) !== undefined) return resolvePrincipal(deps, { cookie });
    const token = await waitForAuthFrame(socket, inbox);
    return token === undefined ? undefined : deps.credentials.resolveBearer(token);
  };

  const serve = (
    connection: Connection,
    { raw, inbox, query }: { readonly raw: Socket; readonly inbox: Inbox; readonly query: StreamQuery },
  ) => {
    const { socket, person } = connection;
    let unread = 0;
    connections.add(connection);
    let filter: EventFilter = {
      event_types: query.event_types,
      entity_types: query.entity_types,
      entity_ids: query.entity_ids,
    };
    const say = (frame: unknown) => {
      connection.lastWriteMs = deps.clock.now().getTime();
      // Who asks without reading the answers is not answered without end.
      if ((unread += 1) > UNREAD_ANSWERS) return socket.terminate();
      socket.send(JSON.stringify(frame), () => void (unread -= 1));
    };
    const sink: Sink = {
      writeEvents: (events: readonly TailEvent[]) => {
        connection.lastWriteMs = deps.clock.now().getTime();
        // Whole frames only, so that they mix with those that `ws` writes itself. A closing socket takes nothing more.
        if (socket.readyState !== socket.OPEN) return false;
        return raw.write(encodeEvents(events)) || raw.writableLength < BUFFER_LIMIT_BYTES;
      },
      writeSync: (from_seq, through_seq) => say({ type: "sync", from_seq, through_seq }),
      onDrain: (listener) => raw.on("drain", listener),
      stall: () => {
        socket.close(CLOSE.stalled, "stalled");
        // What is buffered would never be read: do not wait for it.
        setTimeout(() => socket.terminate(), SWEEP_MS).unref();
      },
    };
    const subscriber: Subscriber = openSubscriber({
      tail: deps.tail,
      sink,
      audience: toAudience(person.grant.projectId, filter),
      afterSeq: query.after_seq,
      stallMs: deps.config.streamStallSeconds * 1_000,
      onError: (error) => deps.log.warn("stream.read_failed", { reason: String(error) }),
    });
    inbox.listen((data) => {
      const frame = parseFrame(data, (value) => ClientFrame.safeParse(value));
      if (frame === undefined) return say({ error: "Invalid JSON message" });
      if (!frame.success) return say({ error: "Unknown message" });
      const message = frame.data;
      if (message.type === "ping") return say({ type: "pong", head: deps.tail.head() });
      if (message.type === "ack") return subscriber.acknowledge(message.seq);
      if (message.type === "auth") return;
      const given = EventFilter.parse(message);
      filter = { ...filter, ...Object.fromEntries(Object.entries(given).filter(([, names]) => names !== undefined)) };
      subscriber.setAudience(toAudience(person.grant.projectId, filter));
      say({ status: "subscribed", filters: given });
    });
    socket.on("close", () => {
      subscriber.close();
      connections.delete(connection);
    });
  };

  const accept = async (socket: WebSocket, raw: Socket, request: IncomingMessage, search: URLSearchParams) => {
    socket.on("error", (error) => deps.log.debug("stream.error", { reason: error.message }));
    const inbox = openInbox(socket);
    const query = StreamQuery.safeParse(Object.fromEntries(search));
    if (!query.success) return refuse(socket, 1008, "the query is not valid");
    try {
      requireServed(hosts, request.headers);
      const principal = await identify(request, query.data, socket, inbox);
      if (socket.readyState !== socket.OPEN) return;
      if (principal === undefined) return refuse(socket, CLOSE.credential, "a valid credential is needed");
      if (principal.kind === "worker")
        return refuse(socket, CLOSE.project, "a sandbox's token may not read the stream");
      const isBrowser = request.headers.authorization === undefined && query.data.ticket === undefined;
      const session = isBrowser ? parseSessionCookie(request.headers.cookie) : undefined;
      serve(
        { socket, person: principal, session, lastWriteMs: deps.clock.now().getTime() },
        { raw, inbox, query: query.data },
      );
    } catch (error) {
      // Expected: a foreign Origin, or the database is away and nobody can be identified.
      if (!(error instanceof AppError)) deps.log.error("stream.failed", { reason: String(error) });
      const isForeign = error instanceof AppError && error.code === "request.host_refused";
      refuse(
        socket,
        isForeign ? CLOSE.project : CLOSE.stalled,
        error instanceof AppError ? error.message : "the server failed",
      );
    }
  };

  const endSessionsOf = (isEnded: (connection: Connection) => boolean) => {
    for (const connection of connections) {
      if (isEnded(connection)) refuse(connection.socket, CLOSE.credential, "the credential was revoked");
    }
  };

  // Revocations come through the log, of whichever replica; the sweep below catches what expires without an event.
  const stopListening = deps.tail.onAdvance((events) => {
    const revoked = new Set(
      events.filter((event) => event.storedType === "token.revoked").map((event) => event.entityId),
    );
    if (revoked.size > 0) endSessionsOf((connection) => revoked.has(connection.person.tokenId));
  });

  let sweeps = 0;
  const sweep = async () => {
    const nowMs = deps.clock.now().getTime();
    for (const connection of connections) {
      if (nowMs - connection.lastWriteMs < deps.config.streamPingSeconds * 1_000) continue;
      connection.lastWriteMs = nowMs;
      connection.socket.send('{"type":"ping"}');
    }
    sweeps += 1;
    if (sweeps % CREDENTIAL_CHECK_SWEEPS !== 0 || connections.size === 0) return;
    const ids = [...new Set([...connections].map((connection) => connection.person.tokenId))];
    const ended = await deps.credentials.findEnded(ids);
    endSessionsOf((connection) => ended.has(connection.person.tokenId));
    // Whoever has logged out, on whichever replica, has no session any more.
    const sessions = new Set([...connections].flatMap((connection) => connection.session ?? []));
    for (const session of sessions) {
      if ((await deps.credentials.resolveSession(session)) !== undefined) sessions.delete(session);
    }
    endSessionsOf((connection) => connection.session !== undefined && sessions.has(connection.session));
  };
  const sweeper = setInterval(() => {
    sweep().catch((error: unknown) => deps.log.debug("stream.sweep_failed", { reason: String(error) }));
  }, SWEEP_MS);

  return {
    handleUpgrade: (request, socket, head) => {
      const url = URL.parse(request.url ?? "/", "http://server");
      if (url?.pathname !== STREAM_PATH) return false;
      const raw = socket as Socket;
      raw.setKeepAlive(true, 30_000);
      raw.setNoDelay(true);
      server.handleUpgrade(request, socket, head, (opened) => void accept(opened, raw, request, url.searchParams));
      return true;
    },
    count: () => connections.size,
    close: async () => {
      clearInterval(sweeper);
      stopListening();
      for (const socket of server.clients) socket.close(CLOSE.restarting, "the server stops");
      setTimeout(() => {
        for (const socket of server.clients) socket.terminate();
      }, 500).unref();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
