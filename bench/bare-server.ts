/** The floors that need a server: plain `node:http`, `pg` and `ws`, doing the same work with nothing around it. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { WebSocketServer, type WebSocket } from "ws";
import { answer } from "./child.ts";

const PAGE_ROWS = 1_000;

let pool: pg.Pool | undefined;
const sockets = new Set<WebSocket>();
let frames: readonly string[] = [];

interface StoredRow {
  readonly seq: number;
  readonly sandbox_seq: number;
  readonly id: string;
  readonly created_at: Date;
  readonly event_type: string;
  readonly sandbox_id: string;
  readonly project_id: string;
  readonly event_data: Record<string, unknown>;
}

const toFrame = (row: StoredRow) =>
  JSON.stringify({
    type: "event",
    seq: Number(row.seq),
    sandbox_seq: Number(row.sandbox_seq),
    id: row.id,
    ts: row.created_at,
    event_type: `SANDBOX_${row.event_type}`,
    entity_type: "sandbox",
    entity_id: row.sandbox_id,
    project_id: row.project_id,
    payload: row.event_data,
  });

/** One row, one commit, one send: what a POST that reaches a socket cannot do without. */
async function insertAndSend(body: string): Promise<void> {
  const event = JSON.parse(body) as { event_type: string; event_data: Record<string, unknown> };
  await pool?.query({
    name: "insert",
    text: "insert into bare_events (id, event_type, event_data, created_at) values ($1, $2, $3, now())",
    values: [randomUUID(), event.event_type, JSON.stringify(event.event_data)],
  });
  const frame = JSON.stringify({ type: "event", event_type: event.event_type, payload: event.event_data });
  for (const socket of sockets) socket.send(frame);
}

async function readPage(sandboxId: string, limit: number): Promise<string> {
  const found = await pool?.query({
    name: "page",
    text: `select id, seq, sandbox_seq, sandbox_id, task_id, event_type, event_data, source, created_at, client_event_id, generation, caused_by
      from events where sandbox_id = $1 and flags & 3 = 0 order by seq desc limit $2`,
    values: [sandboxId, limit],
  });
  return JSON.stringify({ events: found?.rows });
}

/** Everything of one sandbox, page by page, as frames. */
async function sendAll(socket: WebSocket, sandboxId: string): Promise<void> {
  for (let after = 0; ;) {
    const found = await pool?.query<StoredRow>({
      name: "tail",
      text: `select seq, sandbox_seq, id, created_at, event_type, sandbox_id, project_id, event_data from events
        where sandbox_id = $1 and seq > $2 order by seq limit $3`,
      values: [sandboxId, after, PAGE_ROWS],
    });
    const rows = found?.rows ?? [];
    for (const row of rows) socket.send(toFrame(row));
    if (rows.length < PAGE_ROWS) break;
    after = Number(rows.at(-1)?.seq);
  }
  socket.send('{"type":"sync"}');
}

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://server");
  const chunks: Buffer[] = [];
  request
    .on("data", (chunk: Buffer) => chunks.push(chunk))
    .on("end", () => {
      const work =
        request.method === "POST"
          ? insertAndSend(Buffer.concat(chunks).toString())
          : readPage(url.searchParams.get("sandbox") ?? "", 100);
      work.then(
        (text) => response.writeHead(200, { "content-type": "application/json" }).end(text ?? "{}"),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
});
const sockServer = new WebSocketServer({ server, perMessageDeflate: false });
sockServer.on("connection", (socket, request) => {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
  const sandboxId = new URL(request.url ?? "/", "http://server").searchParams.get("all");
  if (sandboxId !== null) void sendAll(socket, sandboxId);
});

answer(
  {
    start: async (databaseUrl: string | undefined) => {
      if (databaseUrl !== undefined) {
        pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
        await pool.query(
          "create table if not exists bare_events (seq bigint generated always as identity primary key, id uuid, event_type text, event_data jsonb, created_at timestamptz)",
        );
      }
      await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
    setFrames: (given: readonly string[]) => {
      frames = given;
    },
    /** Each frame to each socket, waiting for the slowest after every few, as anything that must not grow without bound does. */
    broadcast: async () => {
      for (let index = 0; index < frames.length; index += 1) {
        for (const socket of sockets) socket.send(frames[index] ?? "");
        if (index % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
      }
    },
  },
  async () => {
    server.closeAllConnections();
    await pool?.end();
  },
);
