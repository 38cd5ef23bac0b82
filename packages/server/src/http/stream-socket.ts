/** The live stream over WebSocket: credential, filters, keep-alive, flow control. */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { API_BASE, AppError, ClientFrame, CLOSE, EventFilter, StreamQuery } from "@drover/contract";
import type { Person, Watcher } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { toAudience, type TailEvent } from "../app/tail-event.ts";
import { requireServed, type HostCheck } from "./host-check.ts";
import type { CredentialWatch } from "./credential-watch.ts";
import { identifySocket, openInbox, parseFrame, refuse, type Inbox } from "./socket-credential.ts";
import { encodeEvents } from "./socket-frame.ts";
import { openSubscriber, type Sink, type Subscriber } from "./subscriber.ts";

const FRAME_LIMIT_BYTES = 256 * 1024;
const BUFFER_LIMIT_BYTES = 1024 * 1024;
/** Answers that a client may leave unread. */
const UNREAD_ANSWERS = 1_000;
const SWEEP_MS = 1_000;
/** A link shows one run, whatever is asked for by it. */
const toAllowed = (who: Person | Watcher, filter: EventFilter) =>
  who.kind === "person"
    ? toAudience(who.grant.projectId, filter)
    : toAudience(who.projectId, { ...filter, entity_types: ["sandbox"], entity_ids: [who.sandboxId] });

/** A list that is given in several parts is one list. */
const parseQuery = (search: URLSearchParams) =>
  StreamQuery.safeParse(Object.fromEntries([...search.keys()].map((key) => [key, search.getAll(key).join(",")])));

const STREAM_PATH = `${API_BASE}/ws/events`;

interface Connection {
  readonly socket: WebSocket;
  readonly who: Person | Watcher;
  readonly session: string | undefined;
  lastWriteMs: number;
}

export interface StreamSockets {
  /** Takes the upgrade if it is for the stream. */
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): boolean;
  count(): number;
  close(): Promise<void>;
}

export function openStreamSockets(deps: Deps, hosts: HostCheck, watch: CredentialWatch): StreamSockets {
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: FRAME_LIMIT_BYTES,
    clientTracking: true,
  });
  const connections = new Set<Connection>();

  const serve = (
    connection: Connection,
    { raw, inbox, query }: { readonly raw: Socket; readonly inbox: Inbox; readonly query: StreamQuery },
  ) => {
    const { socket, who } = connection;
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
      audience: toAllowed(who, filter),
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
      subscriber.setAudience(toAllowed(who, filter));
      say({ status: "subscribed", filters: given });
    });
    const unwatch = watch.add({
      who,
      session: connection.session,
      end: () => refuse(socket, CLOSE.credential, "the credential has ended"),
    });
    socket.on("close", () => {
      unwatch();
      subscriber.close();
      connections.delete(connection);
    });
  };

  const accept = async (socket: WebSocket, raw: Socket, request: IncomingMessage, search: URLSearchParams) => {
    socket.on("error", (error) => deps.log.debug("stream.error", { reason: error.message }));
    const inbox = openInbox(socket);
    try {
      requireServed(hosts, request.headers);
      const ticket = search.get("ticket") ?? undefined;
      const { principal, session } = await identifySocket(deps, request, ticket, { socket, inbox });
      if (socket.readyState !== socket.OPEN) return;
      if (principal === undefined) return refuse(socket, CLOSE.credential, "a valid credential is needed");
      if (principal.kind === "worker")
        return refuse(socket, CLOSE.project, "a sandbox's token may not read the stream");
      const query = parseQuery(search);
      if (!query.success) return refuse(socket, 1008, "the query is not valid");
      serve(
        { socket, who: principal, session, lastWriteMs: deps.clock.now().getTime() },
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

  const sweeper = setInterval(() => {
    const nowMs = deps.clock.now().getTime();
    for (const connection of connections) {
      if (nowMs - connection.lastWriteMs < deps.config.streamPingSeconds * 1_000) continue;
      connection.lastWriteMs = nowMs;
      connection.socket.send('{"type":"ping"}');
    }
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
      for (const socket of server.clients) socket.close(CLOSE.restarting, "the server stops");
      setTimeout(() => {
        for (const socket of server.clients) socket.terminate();
      }, 500).unref();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
