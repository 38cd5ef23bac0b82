/** What a worker asks for, answered without a server: its assignment, messages, and a place for events and artifacts. In memory. */
import { createHash, randomUUID, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import {
  API_BASE,
  AppError,
  ArtifactId,
  ERRORS,
  EVENT_DATA_LIMIT_BYTES,
  findJsonComplaint,
  Heartbeat,
  IngestEvents,
  isReserved,
  type Assignment,
  type EventId,
  type EventSource,
  type JsonObject,
  type NewEvent,
} from "@drover/contract";
import type { PassModel } from "./pass-model.ts";
import type { RunEvent } from "./run-result.ts";

const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
const ARTIFACT_LIMIT_BYTES = 64 * 1024 * 1024;
const WAIT_LIMIT_SECONDS = 30;

export interface DeskOptions {
  readonly assignment: Assignment;
  /** Whoever does not have it is nobody. */
  readonly token: string;
  readonly passModel: PassModel;
  readonly onEvent: (event: RunEvent) => void;
}

export interface Desk {
  handle(request: IncomingMessage, response: ServerResponse): void;
  readonly events: readonly RunEvent[];
  /** By their SHA-256. */
  readonly artifacts: ReadonlyMap<string, Buffer>;
  /** An event that the server would write. */
  append(eventType: string, data: JsonObject, source?: EventSource): void;
  /** From now on the worker is told that its sandbox has ended, and leaves. */
  end(): void;
}

async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new AppError("request.too_large", `a body has at most ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const text = (await readBytes(request, BODY_LIMIT_BYTES)).toString("utf8");
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch (cause) {
    throw new AppError("request.not_json", "the body is not JSON", { cause });
  }
}

const digest = (text: string) => createHash("sha256").update(text).digest();

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const { code, message } = error instanceof AppError ? error : new AppError("server.failed", "this is a bug");
  const { status, title } = ERRORS[code];
  const problem = { type: code, title, status, detail: message, request_id: randomUUID() };
  response.writeHead(status, { "content-type": "application/problem+json" }).end(JSON.stringify(problem));
}

export function openDesk(options: DeskOptions): Desk {
  const { assignment, onEvent } = options;
  const id = assignment.sandbox_id;
  const base = `${API_BASE}/sandboxes/${id}`;
  const wanted = digest(`Bearer ${options.token}`);
  const events: RunEvent[] = [];
  const known = new Map<string, RunEvent>();
  const artifacts = new Map<string, Buffer>();
  const waiting = new Set<() => void>();
  let isEnded = false;

  const store = (event: NewEvent | { event_type: string; event_data: JsonObject; source: EventSource }): RunEvent => {
    const key = "client_event_id" in event ? event.client_event_id : undefined;
    const before = key === undefined ? undefined : known.get(key);
    if (before !== undefined) return before;
    const stored: RunEvent = {
      id: randomUUID() as EventId,
      seq: events.length + 1,
      sandbox_seq: events.length + 1,
      sandbox_id: id,
      task_id: null,
      event_type: event.event_type,
      event_data: event.event_data,
      source: event.source,
      created_at: new Date().toISOString(),
      client_event_id: key ?? null,
      generation: assignment.generation,
      caused_by: null,
    };
    events.push(stored);
    if (key !== undefined) known.set(key, stored);
    onEvent(stored);
    return stored;
  };

  const take = (body: unknown) => {
    const complaint = findJsonComplaint(body);
    if (complaint !== undefined) throw new AppError("request.invalid", `the body ${complaint}`);
    const parsed = IngestEvents.safeParse(body);
    if (!parsed.success) throw new AppError("request.invalid", parsed.error.message);
    const given = "events" in parsed.data ? parsed.data.events : [parsed.data];
    for (const { event_type, event_data } of given) {
      if (isReserved(event_type)) throw new AppError("event.reserved", `only the server writes ${event_type}`);
      if (Buffer.byteLength(JSON.stringify(event_data)) > EVENT_DATA_LIMIT_BYTES)
        throw new AppError("request.too_large", "event_data is too large");
    }
    const before = events.length;
    const stored = given.map(store);
    const last = stored.at(-1);
    if (!("events" in parsed.data) && last !== undefined) return toReceipt(last);
    const accepted = events.length - before;
    return {
      status: "received",
      sandbox_id: id,
      accepted,
      duplicates: given.length - accepted,
      last_seq: last?.seq ?? 0,
    };
  };
  const toReceipt = (event: RunEvent) => ({
    status: "received",
    sandbox_id: id,
    event_type: event.event_type,
    event_id: event.id,
    seq: event.seq,
    timestamp: event.created_at,
  });

  const hold = (response: ServerResponse, seconds: number): Promise<void> =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, seconds * 1_000);
      waiting.add(done);
      response.once("close", done);
    });
  const wake = () => {
    for (const done of waiting) done();
  };

  /** Nobody speaks to an agent that runs without a server: the worker is only kept from asking all the time. */
  const listMessages = async (response: ServerResponse, query: URLSearchParams) => {
    const seconds = Math.min(Number(query.get("wait") ?? 0) || 0, WAIT_LIMIT_SECONDS);
    if (seconds > 0) await hold(response, seconds);
    if (isEnded) throw new AppError("sandbox.terminal", "the run is over");
    return [];
  };
  const putArtifact = async (request: IncomingMessage, given: string) => {
    const artifact = ArtifactId.safeParse(given);
    if (!artifact.success) throw new AppError("artifact.not_found");
    const bytes = await readBytes(request, ARTIFACT_LIMIT_BYTES);
    if (createHash("sha256").update(bytes).digest("hex") !== given) throw new AppError("artifact.mismatch");
    artifacts.set(given, bytes);
    return { id: given, size: bytes.byteLength };
  };

  const answer = async (request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams) => {
    const [, artifact] = /^\/artifacts\/([^/]+)$/.exec(path) ?? [];
    if (request.method === "GET" && path === "/assignment") return assignment;
    if (request.method === "GET" && path === "/messages") return listMessages(response, query);
    if (request.method === "POST" && path === "/events") return take(await readJson(request));
    if (request.method === "PUT" && artifact !== undefined) return putArtifact(request, artifact);
    if (request.method === "POST" && path === "/heartbeat") {
      const { status, detail } = Heartbeat.parse((await readJson(request)) ?? {});
      return toReceipt(store({ event_type: "agent.heartbeat", event_data: { ...detail, status }, source: "worker" }));
    }
    if (request.method === "POST" && path === "/task-complete") {
      await readJson(request);
      return { status: "ok" };
    }
    throw new AppError("route.not_found", "a run without a server has nothing at this address");
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? "/", "http://desk");
    if (!timingSafeEqual(wanted, digest(request.headers.authorization ?? ""))) throw new AppError("auth.required");
    if (url.pathname.startsWith(`${API_BASE}/gateway/`)) return options.passModel(request, response);
    if (!url.pathname.startsWith(`${base}/`)) throw new AppError("sandbox.not_found");
    if (isEnded) throw new AppError("sandbox.terminal", "the run is over");
    const reply = await answer(request, response, url.pathname.slice(base.length), url.searchParams);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply));
    return undefined;
  };

  return {
    handle: (request, response) => void serve(request, response).catch((error: unknown) => refuse(response, error)),
    events,
    artifacts,
    append: (event_type, event_data, source = "server") => void store({ event_type, event_data, source }),
    end: () => {
      isEnded = true;
      wake();
    },
  };
}
