/** A small server for the client's tests: the contract's stream and event pages over a log in memory, with faults on demand. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  API_BASE,
  CLOSE,
  ClientFrame,
  StreamQuery,
  toFrame,
  type EventFilter,
  type EventFrame,
  isMatch,
  toMatcher,
} from "@drover/contract";
import { WebSocketServer, type WebSocket } from "ws";

export const SANDBOX = "drover-00000001-00000a";
export const OTHER_SANDBOX = "drover-00000002-00000b";
const PROJECT = "project-00000000-0000-4000-8000-000000000000";

/** What happens to the next event frame of any connection. */
export type Fault = "twice" | "lose" | "cut-before" | "cut-after";

interface Connection {
  readonly ws: WebSocket;
  cursor: number;
  filter: EventFilter;
  isOpen: boolean;
  isSynced: boolean;
  acked: number | undefined;
  unacked: number[];
}

interface Row {
  readonly frame: EventFrame;
  readonly stored: Readonly<Record<string, unknown>>;
}

const toId = (seq: number) => `00000000-0000-4000-8000-${String(seq).padStart(12, "0")}`;

export class ServerDouble {
  /** Events a client may leave unacknowledged: small, so that a client that forgets to acknowledge stands still. */
  readonly window = 50;
  readonly faults: Fault[] = [];
  readonly received: ClientFrame[] = [];
  readonly addresses: string[] = [];
  token: string | undefined;
  /** How the next HTTP calls fail. */
  httpFaults: ("throw" | 503)[] = [];
  port = 0;
  private readonly rows: Row[] = [];
  private readonly heads = new Map<string, number>();
  private readonly connections = new Set<Connection>();
  private server: WebSocketServer | undefined;

  get baseUrl(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get head(): number {
    return this.rows.at(-1)?.frame.seq ?? 0;
  }

  headOf(sandboxId: string): number {
    return this.heads.get(sandboxId) ?? 0;
  }

  get connectionCount(): number {
    return this.connections.size;
  }

  async start(): Promise<void> {
    const server = new WebSocketServer({ host: "127.0.0.1", port: this.port });
    await once(server, "listening");
    this.port = (server.address() as AddressInfo).port;
    this.server = server;
    server.on("connection", (ws, request) => this.accept(ws, new URL(request.url ?? "/", this.baseUrl)));
  }

  async stop(code = 1001): Promise<void> {
    const { server } = this;
    this.server = undefined;
    this.closeAll(code);
    if (server === undefined) return;
    for (const ws of server.clients) ws.terminate();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  closeAll(code: number): void {
    for (const connection of this.connections) connection.ws.close(code);
  }

  cutAll(): void {
    for (const connection of this.connections) connection.ws.terminate();
  }

  /** Other sandboxes take numbers too, so `seq` has holes for whoever follows one. */
  append(count: number, sandboxId = SANDBOX, type = "agent.message", data: Record<string, string> = {}): void {
    for (let n = 0; n < count; n += 1) {
      const seq = this.head + 1;
      const sandboxSeq = this.headOf(sandboxId) + 1;
      this.heads.set(sandboxId, sandboxSeq);
      const event = {
        id: toId(seq),
        seq,
        sandbox_seq: sandboxSeq,
        sandbox_id: sandboxId,
        event_type: type,
        event_data: { n: sandboxSeq, ...data },
        source: "agent",
        created_at: new Date(seq * 1_000),
        entity_type: "sandbox",
        entity_id: sandboxId,
        project_id: PROJECT,
      };
      const { entity_type: _type, entity_id: _id, project_id: _project, ...stored } = event;
      const rest = {
        task_id: null,
        client_event_id: null,
        generation: 1,
        caused_by: null,
        created_at: event.created_at.toISOString(),
      };
      this.rows.push({ frame: toFrame(event), stored: { ...stored, ...rest } });
    }
    for (const connection of this.connections) this.pump(connection);
  }

  /** Answers the calls of a client; give it as its `fetch`. */
  readonly fetch: typeof globalThis.fetch = async (address) => {
    if (this.server === undefined) throw new TypeError("fetch failed");
    const fault = this.httpFaults.shift();
    if (fault === "throw") throw new TypeError("fetch failed");
    if (fault === 503) return Response.json({}, { status: 503 });
    const url = new URL(address instanceof Request ? address.url : address);
    const [, sandboxId = ""] = /\/sandboxes\/([^/]+)\/events$/.exec(url.pathname) ?? [];
    const { limit = "100", after_seq, before_seq, order = "desc" } = Object.fromEntries(url.searchParams);
    const mine = this.rows.filter((row) => row.frame.entity_id === sandboxId);
    const inRange = mine.filter(
      ({ frame }) => frame.seq > Number(after_seq ?? 0) && frame.seq < Number(before_seq ?? Number.POSITIVE_INFINITY),
    );
    const ordered = order === "asc" ? inRange : inRange.toReversed();
    const events = ordered.slice(0, Number(limit)).map((row) => row.stored);
    return Response.json({
      events,
      total_count: inRange.length,
      sandbox_id: sandboxId,
      last_seq: mine.at(-1)?.frame.seq ?? 0,
      has_more: ordered.length > events.length,
    });
  };

  private accept(ws: WebSocket, url: URL): void {
    this.addresses.push(`${url.pathname}${url.search}`);
    const { after_seq, event_types, entity_types, entity_ids } = StreamQuery.parse(
      Object.fromEntries(url.searchParams),
    );
    const filter = {
      ...(event_types && { event_types }),
      ...(entity_types && { entity_types }),
      ...(entity_ids && { entity_ids }),
    };
    const connection: Connection = {
      ws,
      filter,
      cursor: after_seq ?? this.head,
      isOpen: this.token === undefined,
      isSynced: false,
      acked: undefined,
      unacked: [],
    };
    if (url.pathname !== `${API_BASE}/ws/events`) return ws.close(1008);
    this.connections.add(connection);
    ws.on("close", () => this.connections.delete(connection));
    ws.on("message", (data) => this.hear(connection, ClientFrame.parse(JSON.parse((data as Buffer).toString()))));
    this.pump(connection);
  }

  private hear(connection: Connection, frame: ClientFrame): void {
    this.received.push(frame);
    if (frame.type === "auth") {
      if (frame.token !== this.token) return connection.ws.close(CLOSE.credential);
      connection.isOpen = true;
    }
    if (frame.type === "ping") connection.ws.send(JSON.stringify({ type: "pong", head: this.head }));
    if (frame.type === "subscribe") {
      connection.filter = frame;
      connection.ws.send(JSON.stringify({ status: "subscribed", filters: frame }));
    }
    if (frame.type === "ack") {
      connection.acked = frame.seq;
      connection.unacked = connection.unacked.filter((seq) => seq > frame.seq);
    }
    this.pump(connection);
  }

  /** Sends from the log at the connection's own pace, as far as its window is open. */
  private pump(connection: Connection): void {
    if (!connection.isOpen) return;
    const matcher = toMatcher(connection.filter);
    const send = (value: unknown) => connection.ws.send(JSON.stringify(value));
    for (const { frame } of this.rows) {
      if (frame.seq <= connection.cursor) continue;
      if (connection.acked !== undefined && connection.unacked.length >= this.window) return;
      connection.cursor = frame.seq;
      if (!isMatch(matcher, frame)) continue;
      const fault = this.faults.shift();
      if (fault === "cut-before") return connection.ws.terminate();
      connection.unacked.push(frame.seq);
      if (fault !== "lose") send(frame);
      if (fault === "twice") send(frame);
      if (fault === "cut-after") return connection.ws.terminate();
    }
    if (connection.isSynced) return;
    connection.isSynced = true;
    send({ type: "sync", from_seq: 0, through_seq: this.head });
  }
}
