/**
 * An agent server that speaks the protocol of OpenHands, written from its published schema: conversations over REST, events over
 * the numbered session socket and the older one. Its agents have no model: a message is a script, as a JSON list of steps.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { type WebSocket, WebSocketServer } from "ws";
import { z } from "zod";

const Step = z.union([
  z.strictObject({ say: z.string() }),
  z.strictObject({ think: z.string() }),
  z.strictObject({ write: z.strictObject({ path: z.string(), content: z.string() }) }),
  /** A command that goes on until the test releases it, or until it is interrupted. */
  z.strictObject({ hold: z.string() }),
  /** A command of a shell. */
  z.strictObject({ run: z.string() }),
  z.strictObject({ tell_messages: z.literal(true) }),
  z.strictObject({ tool_error: z.string() }),
  z.strictObject({ fail: z.string() }),
  z.strictObject({ stuck: z.literal(true) }),
  /** Every open socket is cut. */
  z.strictObject({ drop: z.literal(true) }),
  z.strictObject({ finish: z.string() }),
]);
type Step = z.infer<typeof Step>;

const NewConversation = z.looseObject({
  agent: z.looseObject({ llm: z.looseObject({ model: z.string() }) }),
  workspace: z.looseObject({ working_dir: z.string() }),
  confirmation_policy: z.looseObject({ kind: z.string() }).optional(),
});
const NewMessage = z.looseObject({
  role: z.literal("user"),
  content: z.array(z.looseObject({ type: z.literal("text"), text: z.string() })),
  run: z.boolean().default(false),
});

export interface LoggedEvent extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly kind: string;
}

interface Talk {
  readonly id: string;
  readonly cwd: string;
  readonly isConfirming: boolean;
  readonly events: LoggedEvent[];
  readonly sockets: Set<{ readonly socket: WebSocket; readonly isNumbered: boolean }>;
  readonly messages: string[];
  status: string;
  isInterrupted: boolean;
  wake: () => void;
  answer: { accept: boolean } | undefined;
  /** How much of the plan is played. */
  planned: number;
  isWanted: boolean;
  stop: () => void;
}

export interface OpenHandsServerOptions {
  readonly key?: string;
  /** It has no numbered socket, as servers had none until 2026. */
  readonly isOld?: boolean;
  /** Messages are taken, and answered only when the test releases this. */
  readonly holdsAnswers?: string;
  /** What its agents do when messages are no scripts: each run plays on, up to the next word. */
  readonly plan?: readonly object[];
}

export interface OpenHandsServer extends AsyncDisposable {
  readonly url: string;
  /** Bodies of `POST /api/conversations`. */
  readonly started: readonly z.infer<typeof NewConversation>[];
  eventsOf(id: string): readonly LoggedEvent[];
  /** How many sockets were opened, by path without the id. */
  readonly opened: readonly string[];
  release(name: string): void;
  /** Cuts every connection. */
  drop(): void;
}

const isAtWork = ({ status }: Talk) => status === "running" || status === "waiting_for_confirmation";

const parseScript = (text: string): readonly Step[] =>
  text.startsWith("[") ? z.array(Step).parse(JSON.parse(text)) : [{ say: `You said: ${text}` }];

/** What it printed; its whole group ends when the run is interrupted. */
function runShell(talk: Talk, command: string): Promise<string> {
  return new Promise((resolve) => {
    const child = spawn("sh", ["-c", command], { cwd: talk.cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => chunks.push(bytes));
    talk.stop = () => process.kill(-(child.pid ?? 0), "SIGKILL");
    child.once("close", () => {
      talk.stop = () => undefined;
      resolve(Buffer.concat(chunks).toString("utf8"));
    });
  });
}

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? {} : JSON.parse(text);
};

const STATS = {
  usage_to_metrics: {
    agent: {
      accumulated_cost: 0.002,
      accumulated_token_usage: {
        prompt_tokens: 100,
        completion_tokens: 20,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
      },
    },
  },
};

export async function startOpenHandsServer(options: OpenHandsServerOptions = {}): Promise<OpenHandsServer> {
  const talks = new Map<string, Talk>();
  const started: z.infer<typeof NewConversation>[] = [];
  const opened: string[] = [];
  const released = new Set<string>();
  const waiting = new Set<() => void>();
  const plan = z.array(Step).parse(options.plan ?? []);
  /** From where it was left; what is begun counts as played. */
  function* playOn(talk: Talk): Generator<Step> {
    for (let step = plan[talk.planned]; step !== undefined; step = plan[talk.planned]) {
      talk.planned += 1;
      yield step;
      if ("say" in step) return;
    }
  }

  const toFrame = (isNumbered: boolean, event: LoggedEvent, seq?: number) =>
    JSON.stringify(
      isNumbered
        ? { type: seq === undefined ? "transient" : "durable", ...(seq === undefined ? {} : { seq }), event }
        : event,
    );
  const append = (talk: Talk, kind: string, source: string, data: Readonly<Record<string, unknown>>): LoggedEvent => {
    const event = { id: randomUUID(), kind, source, timestamp: new Date().toISOString(), ...data };
    talk.events.push(event);
    const seq = talk.events.length - 1;
    for (const { socket, isNumbered } of talk.sockets) socket.send(toFrame(isNumbered, event, seq));
    return event;
  };
  const setStatus = (talk: Talk, status: string) => {
    talk.status = status;
    append(talk, "ConversationStateUpdateEvent", "environment", { key: "execution_status", value: status });
  };
  const waitUntil = async (talk: Talk, isSo: () => boolean) => {
    while (!isSo()) await new Promise<void>((resolve) => (talk.wake = resolve));
  };
  const untilReleased = async (name: string) => {
    while (!released.has(name)) await new Promise<void>((resolve) => waiting.add(resolve));
  };
  const text = (value: string) => [{ type: "text", text: value }];

  const act = async (
    talk: Talk,
    tool: string,
    action: Readonly<Record<string, unknown>>,
    run: () => Promise<string>,
  ) => {
    const call = `call_${randomUUID().slice(0, 8)}`;
    const { id } = append(talk, "ActionEvent", "agent", {
      thought: text(""),
      action,
      tool_name: tool,
      tool_call_id: call,
      tool_call: { id: call, name: tool, arguments: "{}", origin: "completion" },
      llm_response_id: randomUUID(),
    });
    if (talk.isConfirming) {
      talk.answer = undefined;
      setStatus(talk, "waiting_for_confirmation");
      await waitUntil(talk, () => talk.answer !== undefined || talk.isInterrupted);
      if (talk.isInterrupted) return;
      setStatus(talk, "running");
      const { accept } = talk.answer ?? { accept: false };
      if (!accept) {
        append(talk, "UserRejectObservation", "environment", {
          action_id: id,
          tool_name: tool,
          tool_call_id: call,
          rejection_reason: "no",
        });
        return;
      }
    }
    const output = await run();
    if (talk.isInterrupted) return;
    const observation = { kind: "TerminalObservation", content: text(output), is_error: false, exit_code: 0 };
    append(talk, "ObservationEvent", "environment", {
      observation,
      action_id: id,
      tool_name: tool,
      tool_call_id: call,
    });
  };

  /** The status to end with, when the step says one. */
  const play = async (talk: Talk, step: Step): Promise<string | undefined> => {
    if ("say" in step)
      append(talk, "MessageEvent", "agent", { llm_message: { role: "assistant", content: text(step.say) } });
    else if ("think" in step)
      append(talk, "ActionEvent", "agent", {
        thought: [],
        action: { kind: "ThinkAction", thought: step.think },
        tool_name: "think",
      });
    else if ("finish" in step)
      append(talk, "ActionEvent", "agent", {
        thought: [],
        action: { kind: "FinishAction", message: step.finish },
        tool_name: "finish",
      });
    else if ("write" in step)
      await act(
        talk,
        "file_editor",
        { kind: "FileEditorAction", command: "create", path: step.write.path },
        async () => {
          const path = join(talk.cwd, step.write.path);
          mkdirSync(dirname(path), { recursive: true });
          writeFileSync(path, step.write.content);
          return `created ${step.write.path}`;
        },
      );
    else if ("hold" in step)
      await act(talk, "terminal", { kind: "TerminalAction", command: `wait ${step.hold}` }, async () => {
        await waitUntil(talk, () => released.has(step.hold) || talk.isInterrupted);
        return `${step.hold} is there`;
      });
    else if ("run" in step)
      await act(talk, "terminal", { kind: "TerminalAction", command: step.run }, () => runShell(talk, step.run));
    else if ("tell_messages" in step)
      append(talk, "MessageEvent", "agent", {
        llm_message: { role: "assistant", content: text(`Told: ${talk.messages.slice(1).join("; ")}`) },
      });
    else if ("tool_error" in step)
      append(talk, "AgentErrorEvent", "agent", { error: step.tool_error, tool_name: "x", tool_call_id: "none" });
    else if ("fail" in step) {
      append(talk, "ConversationErrorEvent", "environment", { code: "LLMError", detail: step.fail });
      return "error";
    } else if ("stuck" in step) return "stuck";
    else for (const { socket } of talk.sockets) socket.terminate();
    return undefined;
  };

  const run = async (talk: Talk) => {
    const given = talk.messages.at(-1) ?? "";
    talk.isInterrupted = false;
    talk.isWanted = false;
    setStatus(talk, "running");
    let status = "finished";
    for (const step of plan.length > 0 ? playOn(talk) : parseScript(given)) {
      status = (await play(talk, step)) ?? status;
      if (talk.isInterrupted || status !== "finished") break;
    }
    append(talk, "ConversationStateUpdateEvent", "environment", { key: "stats", value: STATS });
    setStatus(talk, talk.isInterrupted ? "paused" : status);
    if (talk.isWanted) void run(talk);
  };

  const send = (response: ServerResponse, status: number, body: unknown) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };

  const create = (body: unknown) => {
    const input = NewConversation.parse(body);
    started.push(input);
    const talk: Talk = {
      id: randomUUID(),
      cwd: input.workspace.working_dir,
      isConfirming: input.confirmation_policy?.kind === "AlwaysConfirm",
      events: [],
      sockets: new Set(),
      messages: [],
      status: "idle",
      isInterrupted: false,
      wake: () => undefined,
      answer: undefined,
      planned: 0,
      isWanted: false,
      stop: () => undefined,
    };
    talks.set(talk.id, talk);
    append(talk, "SystemPromptEvent", "agent", {
      system_prompt: { type: "text", text: "You are an agent." },
      tools: [],
    });
    return { id: talk.id, execution_status: talk.status };
  };

  const operate = (talk: Talk, verb: string, body: unknown): { status: number; body: unknown } => {
    if (verb === "events") {
      const message = NewMessage.parse(body);
      const said = message.content.map((part) => part.text).join("");
      talk.messages.push(said);
      append(talk, "MessageEvent", "user", { llm_message: { role: "user", content: message.content } });
      // A message to a run that is about to stop begins the next one.
      if (message.run && talk.isInterrupted && isAtWork(talk)) talk.isWanted = true;
      else if (message.run && !isAtWork(talk)) void run(talk);
    } else if (verb === "interrupt") {
      talk.isInterrupted = true;
      talk.stop();
      talk.wake();
    } else if (verb === "events/respond_to_confirmation") {
      talk.answer = z.looseObject({ accept: z.boolean() }).parse(body);
      talk.wake();
    } else return { status: 404, body: { detail: "Not Found" } };
    return { status: 200, body: { success: true } };
  };

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? "/", "http://server");
    if (pathname === "/health") return send(response, 200, "OK");
    if (options.key !== undefined && request.headers["x-session-api-key"] !== options.key)
      return send(response, 401, { detail: "Unauthorized" });
    const [, id = "", verb = ""] = /^\/api\/conversations(?:\/([^/]+)(?:\/(.+))?)?$/.exec(pathname) ?? [];
    const body = request.method === "POST" ? await readBody(request) : {};
    if (id === "" && request.method === "POST") return send(response, 201, create(body));
    const talk = talks.get(id);
    if (talk === undefined) return send(response, 404, { detail: "Not Found" });
    if (request.method === "GET") return send(response, 200, { id, execution_status: talk.status });
    const answer = operate(talk, verb, body);
    if (verb === "events" && options.holdsAnswers !== undefined) await untilReleased(options.holdsAnswers);
    send(response, answer.status, answer.body);
  };

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => send(response, 422, { detail: String(error) }));
  });
  const sockets = new WebSocketServer({ noServer: true });

  const attach = (talk: Talk, socket: WebSocket, isNumbered: boolean, afterSeq: number) => {
    const last = talk.events.length - 1;
    if (isNumbered) socket.send(JSON.stringify({ type: "sync", from_seq: afterSeq, through_seq: last }));
    talk.events.forEach((event, seq) => {
      if (seq > afterSeq) socket.send(toFrame(isNumbered, event, seq));
    });
    const snapshot = { key: "full_state", value: { id: talk.id, execution_status: talk.status, stats: STATS } };
    const event = { id: randomUUID(), kind: "ConversationStateUpdateEvent", source: "environment", ...snapshot };
    socket.send(toFrame(isNumbered, event));
    const entry = { socket, isNumbered };
    talk.sockets.add(entry);
    socket.once("close", () => talk.sockets.delete(entry));
  };

  server.on("upgrade", (request, stream, head) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://server");
    const [, kind = "", id = ""] = /^\/sockets\/(session|events)\/([^/]+)$/.exec(pathname) ?? [];
    if (kind === "" || (kind === "session" && options.isOld === true)) {
      stream.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      opened.push(kind);
      const talk = talks.get(id);
      const begin = () =>
        talk === undefined
          ? socket.close(4004, "Conversation not found")
          : attach(
              talk,
              socket,
              kind === "session",
              kind === "session" ? Number(searchParams.get("after_seq") ?? 0) : -1,
            );
      if (options.key === undefined) return begin();
      socket.once("message", (data: Buffer) => {
        const first = z.looseObject({ session_api_key: z.string() }).safeParse(JSON.parse(data.toString("utf8")));
        if (first.data?.session_api_key === options.key) begin();
        else socket.close(4001, "Unauthorized");
      });
    });
  });

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const drop = () => {
    for (const socket of sockets.clients) socket.terminate();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    started,
    opened,
    eventsOf: (id) => talks.get(id)?.events ?? [],
    release(name) {
      released.add(name);
      for (const talk of talks.values()) talk.wake();
      for (const wake of waiting) wake();
      waiting.clear();
    },
    drop,
    async [Symbol.asyncDispose]() {
      drop();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
