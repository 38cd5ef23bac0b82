/** A conversation over the Agent Client Protocol: starts the agent's program and opens a session in it. */
import type {
  InitializeRequest,
  McpServer as AcpMcpServer,
  NewSessionRequest,
} from "@agentclientprotocol/sdk/unstable";
import type { McpServer } from "@drover/contract";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { confine } from "../../confine.ts";
import { pickOption } from "../../permissions.ts";
import { AgentGone, type Conversation, type OpenConversation, type PromptEnd, type Talk } from "../conversation.ts";
import { type AcpAgent, refuseOrder } from "./acp-agents.ts";
import { type AgentExit, type AgentProcess, startAgentProcess } from "./agent-process.ts";
import { CONNECTION_CLOSED, connectRpc, METHOD_NOT_FOUND, RpcError, type RpcPeer } from "./json-rpc.ts";
import { createNarrator, type Narrator } from "./narrate.ts";
import {
  Elicitation,
  Initialized,
  OpenedSession,
  PermissionRequest,
  PromptResult,
  SessionNotification,
  SteeringResult,
} from "./session-update.ts";

const PROTOCOL_VERSION = 1;
/** The slowest agent takes 5 s on a quiet machine; a busy one takes many times that. */
const START_MS = 180_000;
/** What it printed before its end may still be on its way. */
const LAST_LINES_MS = 1_000;

const CLIENT = {
  protocolVersion: PROTOCOL_VERSION,
  clientInfo: { name: "drover", version: "1" },
  clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
} satisfies InitializeRequest;

function describeExit({ code, signal, error }: AgentExit, lastWords: string): AgentGone {
  const how =
    error !== undefined
      ? `could not be started: ${error}`
      : signal !== null
        ? `was ended by ${signal}`
        : `ended with code ${code}`;
  const words = lastWords === "" ? "" : `; it last said: ${lastWords.slice(-2_000)}`;
  const kind = signal === "SIGKILL" ? "sigkill" : error === undefined ? "command_failed" : "stream_init";
  return new AgentGone(`the agent ${how}${words}`, kind);
}

const toPairs = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).map(([name, value]) => ({ name, value }));

function toMcpServers(servers: Readonly<Record<string, McpServer>>, can: Initialized): AcpMcpServer[] {
  const { http, sse } = can.agentCapabilities?.mcpCapabilities ?? {};
  return Object.entries(servers).flatMap(([name, server]): AcpMcpServer[] => {
    if (server.type === "stdio")
      return [{ name, command: server.command, args: server.args, env: toPairs(server.env) }];
    if ((server.type === "http" ? http : sse) !== true) return [];
    return [{ type: server.type, name, url: server.url, headers: toPairs(server.headers) }];
  });
}

async function writeFiles(home: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(home, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { mode: 0o600 });
  }
}

const FileRead = z.looseObject({ path: z.string(), line: z.number().optional(), limit: z.number().optional() });
const FileWrite = z.looseObject({ path: z.string(), content: z.string() });

/** What an agent may ask of us. Some write files through us although we say that they cannot. */
function createService(talk: Talk, narrator: Narrator) {
  const askPermission = async (params: unknown) => {
    const request = PermissionRequest.parse(params);
    const { events, tool, input } = narrator.introduce(request.toolCall);
    talk.emit(events);
    const options = request.options.map(({ optionId, name, kind }) => ({ id: optionId, name, kind }));
    const verdict = await talk.permissions.ask(
      { kind: "tool", turn: talk.getTurn(), tool, input, toolUseId: request.toolCall.toolCallId, options },
      talk.signal,
    );
    // The session ends with the question open: an agent that is started again asks it again.
    if (talk.signal.aborted) return new Promise<never>(() => undefined);
    // A policy gives no reasons: the turn was stopped.
    const isStopped = verdict.by === "policy" && verdict.note !== undefined;
    const option = isStopped ? undefined : pickOption(options, verdict);
    return { outcome: option === undefined ? { outcome: "cancelled" } : { outcome: "selected", optionId: option.id } };
  };
  const askQuestion = async (params: unknown) => {
    const { message, ...more } = Elicitation.parse(params);
    const verdict = await talk.permissions.ask(
      { kind: "question", turn: talk.getTurn(), tool: "AskUserQuestion", input: { question: message, ...more } },
      talk.signal,
    );
    if (verdict.decision === "deny") return { action: "decline" };
    const schema = more["requestedSchema"] as { properties?: Record<string, unknown> } | undefined;
    const [field = "answer"] = Object.keys(schema?.properties ?? {});
    return { action: "accept", content: { [field]: verdict.text ?? "" } };
  };
  const readText = async (params: unknown) => {
    const { path, line, limit } = FileRead.parse(params);
    const text = await readFile((await confine(talk.order.cwd, path)).absolute, "utf8");
    if (line === undefined && limit === undefined) return { content: text };
    const from = Math.max(0, (line ?? 1) - 1);
    return {
      content: text
        .split("\n")
        .slice(from, limit === undefined ? undefined : from + limit)
        .join("\n"),
    };
  };
  const writeText = async (params: unknown) => {
    const { path, content } = FileWrite.parse(params);
    const { absolute } = await confine(talk.order.cwd, path);
    await mkdir(dirname(absolute), { recursive: true });
    await writeFile(absolute, content);
    return {};
  };
  const SERVICES: ReadonlyMap<string, (params: unknown) => Promise<unknown>> = new Map([
    ["session/request_permission", askPermission],
    ["elicitation/create", askQuestion],
    ["fs/read_text_file", readText],
    ["fs/write_text_file", writeText],
  ]);
  return (method: string, params: unknown): Promise<unknown> =>
    SERVICES.get(method)?.(params) ?? Promise.reject(new RpcError(METHOD_NOT_FOUND, `there is no ${method} here`));
}

const toPrompt = (sessionId: string, text: string) => ({ sessionId, prompt: [{ type: "text", text }] });

function toPromptEnd(result: unknown): PromptEnd {
  const { stopReason, usage } = PromptResult.parse(result);
  return {
    stopReason,
    inputTokens: usage?.inputTokens,
    outputTokens: usage?.outputTokens,
    cacheReadTokens: usage?.cachedReadTokens,
    cacheWriteTokens: usage?.cachedWriteTokens,
  };
}

interface Opened {
  readonly sessionId: string;
  readonly resumed: Conversation["resumed"];
  readonly modes: readonly string[];
}

/** Goes on with a session where the agent can; else begins one. */
async function openSession(
  agent: AcpAgent,
  rpc: RpcPeer,
  can: Initialized,
  { order }: Talk,
  before: string | undefined,
): Promise<Opened> {
  const session: NewSessionRequest = { cwd: order.cwd, mcpServers: toMcpServers(order.mcpServers, can) };
  const way =
    can.agentCapabilities?.sessionCapabilities?.resume !== undefined
      ? "session/resume"
      : can.agentCapabilities?.loadSession === true
        ? "session/load"
        : undefined;
  const toModes = (answer: unknown) =>
    OpenedSession.safeParse(answer).data?.modes?.availableModes.map(({ id }) => id) ?? [];
  if (before !== undefined && way !== undefined && agent.isResumeBroken !== true) {
    try {
      const answer = await rpc.request(way, { ...session, sessionId: before });
      return { sessionId: before, resumed: "native", modes: toModes(answer) };
    } catch (error) {
      // Expected: the agent has lost what it remembered. It is told so by its first prompt.
      if (!(error instanceof RpcError)) throw error;
    }
  }
  const answer = await rpc.request("session/new", session);
  const { sessionId } = OpenedSession.parse(answer);
  if (sessionId === undefined) throw new RpcError(0, "the agent opened no session");
  return { sessionId, resumed: "fresh", modes: toModes(answer) };
}

async function chooseMode(agent: AcpAgent, rpc: RpcPeer, opened: Opened, talk: Talk): Promise<void> {
  const modeId = agent.modes?.[talk.order.permissionMode];
  if (modeId === undefined || !opened.modes.includes(modeId)) return;
  // An agent that refuses the mode still asks before it acts, and is answered by policy.
  await rpc.request("session/set_mode", { sessionId: opened.sessionId, modeId }).catch(() => undefined);
}

const isBroken = (error: unknown) => error instanceof RpcError && error.code === CONNECTION_CLOSED;

/** Rejects when the agent is gone, or silent for too long. */
async function within<T>(work: Promise<T>, gone: Promise<AgentGone>, talk: Talk): Promise<T> {
  const over = new AbortController();
  try {
    return await Promise.race([
      // A connection that breaks says less than the exit of the agent that broke it.
      work.catch(async (error: unknown) => {
        throw isBroken(error) ? await gone : error;
      }),
      gone.then((error) => Promise.reject(error)),
      talk.order.clock.sleep(START_MS, AbortSignal.any([talk.signal, over.signal])).then(() => {
        throw new AgentGone(`the agent did not open a session within ${START_MS / 1_000} s`, "stream_init");
      }),
    ]);
  } finally {
    over.abort();
  }
}

function toCommand(agent: AcpAgent, { order }: Talk): readonly string[] {
  if (agent.entries === undefined) {
    if (order.command === null) throw new AgentGone("the sandbox names no command for its agent", "stream_init");
    return order.command;
  }
  const { agentHome } = order;
  const entries = agentHome === undefined ? [] : agent.entries.map((entry) => join(agentHome, entry));
  const program = entries.find((entry) => existsSync(entry));
  if (program === undefined)
    throw new AgentGone(`${agent.name} is not installed: drover agents install ${agent.name}`, "stream_init");
  return [program, ...(agent.args?.(order) ?? [])];
}

function watchGone(process: AgentProcess, rpc: RpcPeer): Promise<AgentGone> {
  return process.exit.then(async (exit) => {
    const timer = Promise.withResolvers<void>();
    const wait = setTimeout(() => timer.resolve(), LAST_LINES_MS);
    await Promise.race([rpc.closed, timer.promise]);
    clearTimeout(wait);
    await process.end();
    return describeExit(exit, process.lastWords());
  });
}

export const connectAcp =
  (agent: AcpAgent): OpenConversation =>
  async (talk, before) => {
    const { order } = talk;
    const refusal = refuseOrder(agent, order);
    if (refusal !== undefined) throw new AgentGone(refusal, "stream_init");
    const argv = toCommand(agent, talk);
    await writeFiles(order.home, agent.files?.(order) ?? {});
    const temporary = join(order.home, "tmp");
    await mkdir(temporary, { recursive: true });
    const process = startAgentProcess({
      argv,
      cwd: order.cwd,
      env: { ...order.env, HOME: order.home, TMPDIR: temporary, ...agent.env?.(order) },
    });
    const narrator = createNarrator(talk.getTurn, order.clock);
    const service = createService(talk, narrator);
    /** Set once a session is open: what is replayed before is known already. */
    let liveSession: string | undefined;
    let isEnded = false;
    let isFailed = false;
    const rpc = connectRpc(process.output, (line) => process.write(line), {
      async onNotification(method, params) {
        if (method !== "session/update" || isEnded) return;
        const parsed = SessionNotification.safeParse(params);
        if (!parsed.success || parsed.data.sessionId !== liveSession) return;
        isFailed ||= agent.isFailure?.(parsed.data.update) === true;
        const events = narrator.tell(parsed.data.update);
        if (events.length > 0) talk.emit(events);
        await talk.room();
      },
      onRequest: service,
      onNoise(line) {
        if (line === undefined && !isEnded)
          talk.emit([
            {
              event_type: "agent.error",
              event_data: { turn: talk.getTurn(), error: "the agent sent a line that is too long; it was left out" },
            },
          ]);
      },
    });
    const gone = watchGone(process, rpc);
    const end = async () => {
      isEnded = true;
      await process.end();
    };
    try {
      const start = async () => {
        const can = Initialized.parse(await rpc.request("initialize", CLIENT));
        if (can.protocolVersion !== PROTOCOL_VERSION)
          throw new AgentGone(`the agent speaks version ${can.protocolVersion} of the protocol`, "stream_init");
        const opened = await openSession(agent, rpc, can, talk, before);
        await chooseMode(agent, rpc, opened, talk);
        return { can, opened };
      };
      const { can, opened } = await within(start(), gone, talk);
      const { sessionId } = opened;
      liveSession = sessionId;
      const isExtended = can._meta?.steering?.supported === true;
      const isFolding = agent.capabilities.steer === "reprompt";
      /** Prompts that were put into the one that runs: it ends when they have ended. */
      const folded = new Set<Promise<unknown>>();
      const ask = async (text: string): Promise<unknown> => {
        try {
          return await rpc.request("session/prompt", toPrompt(sessionId, text));
        } catch (error) {
          throw isBroken(error) ? await gone : error;
        }
      };
      const steer = async (text: string): Promise<boolean> => {
        if (isFolding) {
          const prompt = ask(text).catch(() => undefined);
          folded.add(prompt);
          void prompt.then(() => folded.delete(prompt));
          return true;
        }
        const { outcome } = SteeringResult.parse(await rpc.request("_session/steering", toPrompt(sessionId, text)));
        return outcome !== "promptRequired";
      };
      return {
        sessionId,
        resumed: opened.resumed,
        canSteer: isExtended || isFolding,
        async prompt(text) {
          isFailed = false;
          const own = agent.isLeavingTools === true ? await process.listBelow() : undefined;
          const result = await ask(text);
          if (own !== undefined && PromptResult.parse(result).stopReason === "cancelled") await process.endOthers(own);
          await Promise.all(folded);
          if (isFailed) throw new Error(narrator.lastText === "" ? "the agent's turn failed" : narrator.lastText);
          return toPromptEnd(result);
        },
        steer,
        cancel: () => {
          narrator.stop();
          rpc.notify("session/cancel", { sessionId });
        },
        finish: (why) => narrator.finish(why),
        get lastText() {
          return narrator.lastText;
        },
        get costUsd() {
          return narrator.costUsd;
        },
        gone,
        end,
      };
    } catch (error) {
      await end();
      throw error;
    }
  };
