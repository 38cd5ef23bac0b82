/** The agent server: conversations over REST, their events over sockets, as the documents and current OpenHands clients ask for them. */
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer, type WebSocket } from "ws";
import { z } from "zod";
import { type Conversation, openConversation, Refusal, toMeta } from "./conversation.ts";
import { eraseLog, listKept, listRemoved, openEventLog } from "./event-log.ts";
import { BashCommand, downloadFile, executeBash, uploadFile } from "./outside-tools.ts";
import { parse, searchConversations, searchEvents } from "./search.ts";
import type { AgentServerSettings } from "./settings.ts";
import { openWebhookQueue } from "./webhook-queue.ts";
import {
  ConfirmationAnswer,
  LlmChange,
  type LogEvent,
  NewConversation,
  NewMessage,
  PolicyChange,
  TitleChange,
} from "./wire.ts";

/** The version of the protocol's published client that the tests drive it with; clients look at it. */
const SPOKEN = "1.39.0";
const BODY_BYTES = 8 * 1024 * 1024;
const AUTH_MS = 5_000;
const CLOSE = { unauthorised: 4001, notFound: 4004 };
const OPEN_PATHS: ReadonlySet<string> = new Set(["/health", "/alive", "/ready"]);
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface AgentServer {
  readonly url: string;
  /** Files of earlier conversations that were passed over. */
  readonly unreadable: readonly string[];
  close(): Promise<void>;
}

const digest = (text: string) => createHash("sha256").update(text).digest();

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES) throw new Refusal(413, `a body has at most ${BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(400, "the body is not JSON");
  }
}

type Operation = (conversation: Conversation, body: unknown, query: unknown) => unknown;

const OK = { success: true };

const OPERATIONS: Readonly<Record<string, Operation>> = {
  "GET ": (conversation) => conversation.toInfo(),
  "PATCH ": (conversation, body) => {
    conversation.setTitle(parse(TitleChange, body).title ?? null);
    return OK;
  },
  "POST events": (conversation, body) => {
    conversation.send(parse(NewMessage, body));
    return OK;
  },
  "POST run": (conversation) => {
    conversation.run();
    return OK;
  },
  "POST pause": (conversation) => {
    conversation.pause();
    return OK;
  },
  "POST interrupt": (conversation) => {
    conversation.interrupt();
    return OK;
  },
  "POST events/respond_to_confirmation": (conversation, body) => {
    const { accept, reason } = parse(ConfirmationAnswer, body);
    conversation.answer(accept, reason ?? "");
    return OK;
  },
  "POST confirmation_policy": (conversation, body) => {
    conversation.setConfirming(parse(PolicyChange, body).policy.kind === "AlwaysConfirm");
    return OK;
  },
  "POST switch_llm": (conversation, body) => {
    conversation.setLlm(parse(LlmChange, body).llm);
    return OK;
  },
  "GET agent_final_response": (conversation) => ({ response: conversation.finalText }),
  "GET events/search": (conversation, _body, query) => searchEvents(conversation.events, query).page,
  "GET events/count": (conversation, _body, query) => searchEvents(conversation.events, query).count,
};

/** Null: what was asked for is no address, such as two slashes. */
const toUrl = ({ url }: IncomingMessage): URL | null => URL.parse(url ?? "/", "http://server");

/** `after_seq`: numbered frames, from there on. Otherwise plain events, earlier ones only when asked for. */
interface Subscription {
  readonly id: string;
  readonly isNumbered: boolean;
  readonly afterSeq: number | undefined;
}

function toSubscription(url: URL | null): Subscription | undefined {
  if (url === null) return undefined;
  const [, kind, first] = /^\/sockets\/(events|session)\/([^/]+)$/.exec(url.pathname) ?? [];
  const [, second] = /^(?:\/api)?\/conversations\/([^/]+)\/events\/socket$/.exec(url.pathname) ?? [];
  const id = first ?? second;
  if (id === undefined) return undefined;
  const after = url.searchParams.get("after_seq");
  const isAll = url.searchParams.get("resend_mode") === "all" || url.searchParams.get("resend_all") === "true";
  const isNumbered = kind === "session";
  const afterSeq = after !== null && /^-?\d{1,15}$/.test(after) ? Number(after) : isNumbered || isAll ? -1 : undefined;
  return { id, isNumbered, afterSeq };
}

export async function startAgentServer(settings: AgentServerSettings): Promise<AgentServer> {
  const conversations = new Map<string, Conversation>();
  const hooks = settings.webhooks.map((one) => openWebhookQueue(one, settings.directory));
  const onEvent = ({ id, events }: Conversation) => {
    for (const hook of hooks) hook.wake(id, events);
  };
  /** Being removed, and not yet told to every webhook. */
  const leaving = new Set<string>();
  const erase = (id: string) => {
    const owing = new Set(hooks);
    const goOn = () => {
      if (owing.size > 0) return;
      eraseLog(settings.directory, id);
      leaving.delete(id);
    };
    for (const hook of hooks)
      hook.release(id, () => {
        owing.delete(hook);
        goOn();
      });
    goOn();
  };
  const { kept, unreadable } = listKept(settings.directory);
  for (const meta of kept) {
    const parts = { directory: settings.directory, meta, key: undefined, env: settings.env, onEvent };
    const conversation = openConversation(parts);
    conversations.set(meta.id, conversation);
    for (const hook of hooks) hook.resume(meta.id, conversation.events);
  }
  for (const id of listRemoved(settings.directory)) {
    const { events } = openEventLog(settings.directory, id);
    for (const hook of hooks) hook.resume(id, events);
    leaving.add(id);
    erase(id);
  }
  const wanted = settings.key === undefined ? undefined : digest(settings.key);
  const startedMs = Date.now();

  const isKey = (given: string | undefined): boolean =>
    wanted === undefined || (given !== undefined && timingSafeEqual(wanted, digest(given)));
  const findKey = ({ headers }: IncomingMessage): string | undefined => {
    const given = headers["x-session-api-key"];
    return typeof given === "string" ? given : /^bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
  };
  /** Without a key the server is on loopback: a page of another site must not reach it by a name of its own. */
  const isServed = ({ headers }: IncomingMessage): boolean => {
    const isNamed = wanted !== undefined || LOOPBACK_NAMES.has((headers.host ?? "").toLowerCase().replace(/:\d+$/, ""));
    return isNamed && (headers.origin === undefined || settings.corsOrigins.includes(headers.origin));
  };

  const create = (body: unknown) => {
    const input = parse(NewConversation, body);
    const known = input.conversation_id === undefined ? undefined : conversations.get(input.conversation_id);
    if (known !== undefined) return known.toInfo();
    const meta = toMeta(input, new Date());
    if (leaving.has(meta.id)) throw new Refusal(409, "an earlier conversation of this id is not gone yet");
    for (const hook of hooks) hook.begin(meta.id);
    const key = input.agent.llm.api_key ?? undefined;
    const made = openConversation({ directory: settings.directory, meta, key, env: settings.env, onEvent });
    conversations.set(made.id, made);
    if (input.initial_message !== undefined && input.initial_message !== null) made.send(input.initial_message);
    return made.toInfo();
  };

  const search = (url: URL) => searchConversations(conversations.values(), Object.fromEntries(url.searchParams));
  const find = (id: string): Conversation => {
    const found = conversations.get(id);
    if (found === undefined) throw new Refusal(404, "there is no such conversation");
    return found;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    const url = toUrl(request);
    if (url === null) throw new Refusal(400, "this is no address");
    const method = request.method ?? "GET";
    if (method === "GET" && OPEN_PATHS.has(url.pathname)) return { status: "ok" };
    if (!isKey(findKey(request))) throw new Refusal(401, "the session's API key is needed (X-Session-API-Key)");
    if (method === "GET" && url.pathname === "/server_info")
      return { title: "Drover agent server", version: SPOKEN, uptime: Math.round((Date.now() - startedMs) / 1_000) };
    if (method === "POST" && url.pathname === "/api/bash/execute_bash_command")
      return executeBash(parse(BashCommand, await readBody(request)), settings.env);
    if (method === "POST" && url.pathname === "/api/file/upload") return uploadFile(request, url);
    if (method === "GET" && url.pathname === "/api/file/download") return downloadFile(response, url);
    const [, id, rest = ""] = /^\/api\/conversations(?:\/([^/]+)(?:\/(.+))?)?$/.exec(url.pathname) ?? [];
    if (id === undefined) {
      const isList = url.pathname === "/api/conversations" && (method === "GET" || method === "POST");
      if (!isList) throw new Refusal(404, "there is nothing at this address");
      if (method === "POST") return create(await readBody(request));
      const ids = url.searchParams.getAll("ids");
      return ids.length > 0 ? ids.map((one) => conversations.get(one)?.toInfo() ?? null) : search(url).page;
    }
    if (method === "GET" && id === "search") return search(url).page;
    if (method === "GET" && id === "count") return search(url).count;
    const conversation = find(id);
    if (method === "DELETE" && rest === "") {
      conversations.delete(id);
      // Nobody begins one of this id while its log is still written to.
      leaving.add(id);
      await conversation.close();
      conversation.remove();
      erase(id);
      return OK;
    }
    const operation = OPERATIONS[`${method} ${rest}`];
    if (operation !== undefined)
      return operation(conversation, await readBody(request), Object.fromEntries(url.searchParams));
    const eventId = method === "GET" ? /^events\/([^/]+)$/.exec(rest)?.[1] : undefined;
    const event = conversation.events.find((one) => one.id === eventId);
    if (event === undefined) throw new Refusal(404, "there is nothing at this address");
    return event;
  };

  const toCors = ({ headers }: IncomingMessage): Readonly<Record<string, string>> =>
    headers.origin !== undefined && settings.corsOrigins.includes(headers.origin)
      ? {
          "access-control-allow-origin": headers.origin,
          "access-control-allow-methods": "GET, POST, PATCH, DELETE",
          "access-control-allow-headers": "content-type, x-session-api-key, authorization",
          vary: "origin",
        }
      : {};

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const send = (status: number, body: unknown) =>
      response
        .writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...toCors(request) })
        .end(JSON.stringify(body));
    try {
      if (!isServed(request)) throw new Refusal(403, "this Host or Origin is not served");
      if (request.method === "OPTIONS") return void response.writeHead(204, toCors(request)).end();
      const reply = await answer(request, response);
      if (!response.headersSent) send(200, reply);
    } catch (error) {
      // Expected: a refusal; anything else is a bug, whose words are not for the caller.
      if (error instanceof Refusal) send(error.status, { detail: error.message });
      else send(500, { detail: "the agent server failed; this is a bug" });
    }
  };

  const server = createServer((request, response) => void handle(request, response));
  const sockets = new WebSocketServer({ noServer: true, maxPayload: BODY_BYTES });

  const follow = (socket: WebSocket, { id, isNumbered, afterSeq }: Subscription) => {
    const conversation = conversations.get(id);
    if (conversation === undefined) return socket.close(CLOSE.notFound, "there is no such conversation");
    const tell = (event: LogEvent, seq: number) =>
      socket.send(JSON.stringify(isNumbered ? { type: "durable", seq, event } : event));
    if (isNumbered)
      socket.send(
        JSON.stringify({ type: "sync", from_seq: afterSeq ?? -1, through_seq: conversation.events.length - 1 }),
      );
    if (afterSeq !== undefined)
      for (const [seq, event] of conversation.events.entries()) if (seq > afterSeq) tell(event, seq);
    const state = {
      id: crypto.randomUUID(),
      kind: "ConversationStateUpdateEvent",
      source: "environment",
      timestamp: new Date().toISOString(),
      key: isNumbered ? "full_state" : "__full_state__",
      value: conversation.toInfo(),
    };
    // As things stand, said to this one alone: it is not part of the log.
    socket.send(JSON.stringify(isNumbered ? { type: "transient", event: state } : state));
    const end = conversation.listen(tell);
    socket.on("close", end);
    return undefined;
  };

  /** A message may also be said over the socket; what is none is passed over. */
  const hear = (id: string, data: unknown) => {
    const message = NewMessage.safeParse(data);
    if (message.success) conversations.get(id)?.send(message.data);
  };

  server.on("upgrade", (request, stream, head) => {
    stream.on("error", () => undefined);
    const url = toUrl(request);
    const subscription = toSubscription(url);
    if (subscription === undefined || !isServed(request))
      return void stream.end("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    sockets.handleUpgrade(request, stream, head, (socket) => {
      socket.on("error", () => undefined);
      const given = url?.searchParams.get("session_api_key") ?? findKey(request);
      let isAllowed = isKey(given ?? undefined);
      const late = setTimeout(() => socket.close(CLOSE.unauthorised, "no key came"), AUTH_MS);
      const admit = () => {
        clearTimeout(late);
        isAllowed = true;
        follow(socket, subscription);
      };
      if (isAllowed) admit();
      socket.on("close", () => clearTimeout(late));
      socket.on("message", (bytes: Buffer) => {
        let frame: unknown;
        try {
          frame = JSON.parse(bytes.toString("utf8"));
        } catch {
          return; // Expected: never from a client of ours.
        }
        const auth = z.looseObject({ type: z.literal("auth"), session_api_key: z.string() }).safeParse(frame).data;
        if (auth !== undefined && !isAllowed) {
          if (isKey(auth.session_api_key)) admit();
          else socket.close(CLOSE.unauthorised, "the key is not this session's");
        } else if (isAllowed && auth === undefined) hear(subscription.id, frame);
      });
    });
    return undefined;
  });

  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(settings.port, settings.host, done);
  });
  const { port } = server.address() as AddressInfo;
  return {
    unreadable,
    url: `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${port}`,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      const closed = new Promise((done) => server.close(done));
      server.closeAllConnections();
      await closed;
      await Promise.all([...conversations.values()].map((one) => one.close()));
      await Promise.all(hooks.map((hook) => hook.close()));
    },
  };
}
