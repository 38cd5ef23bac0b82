/** A conversation with an OpenHands agent server, over its REST and socket protocol. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import {
  ConversationInfo,
  createOpenHandsNarrator,
  FullState,
  type OpenHandsEvent,
  type OpenHandsNarrator,
  type Spent,
  toSpent,
} from "@drover/contract/openhands";
import { type AgentProcess, startAgentProcess } from "../acp/agent-process.ts";
import { AgentGone, type Conversation, type OpenConversation, type PromptEnd, type Talk } from "../conversation.ts";
import { openEventSocket } from "./event-socket.ts";

const TIMEOUT_MS = 60_000;
const START_MS = 120_000;
const LOOK_MS = 500;
const NO_KEY = "not-a-key";

/** The run is over; `paused` after an interrupt. */
const ENDS: ReadonlySet<string> = new Set(["finished", "error", "stuck", "paused", "idle"]);

interface Server {
  readonly url: string;
  readonly key: string | undefined;
  /** The server's own process, when we started it. */
  readonly process: AgentProcess | undefined;
}

type Ask = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly body: unknown }>;

const createAsk =
  ({ url, key }: Server, signal: AbortSignal): Ask =>
  async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(key === undefined ? {} : { "x-session-api-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const text = await response.text();
    try {
      return { status: response.status, body: JSON.parse(text) as unknown };
    } catch {
      return { status: response.status, body: text };
    }
  };

const takePort = () =>
  new Promise<number>((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });

/** Either one that runs already, or one that is started with the given command; `{port}` stands for its port. */
async function findServer({ order }: Talk): Promise<Server> {
  const { OPENHANDS_URL: url, OPENHANDS_SESSION_API_KEY: key } = order.env;
  if (url !== undefined) return { url: url.replace(/\/+$/, ""), key, process: undefined };
  if (order.command === null)
    throw new AgentGone(
      "the sandbox names neither OPENHANDS_URL nor a command that starts an agent server",
      "stream_init",
    );
  const port = String(await takePort());
  const process = startAgentProcess({
    argv: order.command.map((word) => word.replaceAll("{port}", port)),
    cwd: order.cwd,
    env: { ...order.env, HOME: order.home },
  });
  // Its output is read, so that it never waits for us.
  void (async () => {
    for await (const _ of process.output);
  })().catch(() => undefined);
  return { url: `http://127.0.0.1:${port}`, key, process };
}

async function waitUntilUp(ask: Ask, server: Server, { order, signal }: Talk): Promise<void> {
  const untilMs = order.clock.now().getTime() + START_MS;
  const exit = server.process?.exit.then(() => true) ?? new Promise<boolean>(() => undefined);
  for (;;) {
    const answer = await ask("GET", "/health").catch(() => undefined);
    if (answer?.status === 200) return;
    if (signal.aborted) throw new AgentGone("the session ends", "unknown");
    const isGone = await Promise.race([exit, order.clock.sleep(LOOK_MS, signal).then(() => false)]);
    if (isGone) throw new AgentGone(`the agent server ended: ${server.process?.lastWords() ?? ""}`, "command_failed");
    if (order.clock.now().getTime() > untilMs)
      throw new AgentGone(`no agent server answers at ${server.url}`, "stream_init");
  }
}

/** Models are named as LiteLLM does, and reached through the bridge. */
function toModel({ order }: Talk) {
  const model = order.model ?? "gpt-5.5";
  const vendor = /^(claude|glm)/.test(model) ? "anthropic" : model.startsWith("gemini") ? "gemini" : "openai";
  const suffix = vendor === "openai" ? "/v1" : "";
  return {
    model: model.includes("/") ? model : `${vendor}/${model}`,
    base_url: `${order.bridgeUrl}/api/v1/gateway/${vendor}${suffix}`,
    api_key: NO_KEY,
    usage_id: "agent",
  };
}

const isAsking = ({ order }: Talk) =>
  order.permissionPolicy.decision !== "allow" || order.permissionPolicy.rules.length > 0;

const toStart = (talk: Talk) => ({
  agent: { kind: "Agent", llm: toModel(talk), tools: [{ name: "terminal" }, { name: "file_editor" }] },
  workspace: { kind: "LocalWorkspace", working_dir: talk.order.cwd },
  confirmation_policy: { kind: isAsking(talk) ? "AlwaysConfirm" : "NeverConfirm" },
  ...(talk.order.maxTurns === null ? {} : { max_iterations: talk.order.maxTurns }),
});

const toMessage = (text: string) => ({ role: "user", content: [{ type: "text", text }], run: true });

async function openConversation(ask: Ask, talk: Talk, before: string | undefined) {
  if (before !== undefined) {
    const known = await ask("GET", `/api/conversations/${before}`);
    if (known.status === 200) return { id: before, resumed: "native" as const };
  }
  const { status, body } = await ask("POST", "/api/conversations", toStart(talk));
  const info = ConversationInfo.safeParse(body);
  const id = info.data?.id ?? info.data?.conversation_id;
  if (status >= 300 || id === undefined)
    throw new AgentGone(
      `the agent server began no conversation: ${status} ${JSON.stringify(body).slice(0, 500)}`,
      "stream_init",
    );
  return { id, resumed: "fresh" as const };
}

/** Follows one run after the other by what the log says. */
function createRuns(ask: Ask, talk: Talk, narrator: OpenHandsNarrator, path: string) {
  let running: { resolve: (end: PromptEnd) => void; reject: (error: Error) => void } | undefined;
  /** What the run was begun with, until the log has it: what stands before belongs to earlier runs. */
  let unheard: string | undefined;
  /** Something of this run was seen: only then an end is its end, and not the state before it. */
  let isBegun = false;
  /** The server may be at work: asked to, and not known to have ended, whatever became of our call. */
  let mayRun = false;
  let isCancelled = false;
  let isConfirming = false;
  let failure: string | undefined;
  let spent: Spent | undefined;

  const finish = (status: string) => {
    const last = running;
    if (last === undefined || !isBegun || !ENDS.has(status)) return;
    running = undefined;
    mayRun = false;
    if (status === "error" || status === "stuck")
      return last.reject(new Error(failure ?? (status === "stuck" ? "the agent is stuck" : "the run has failed")));
    const stopReason = isCancelled || status === "paused" ? "cancelled" : "end_turn";
    last.resolve({ stopReason, ...spent });
  };

  /** One answer decides all actions that wait, so all are asked for first. */
  const confirm = async () => {
    if (isConfirming) return;
    isConfirming = true;
    try {
      let verdict: { decision: "allow" | "deny"; note?: string } = { decision: "allow" };
      for (const { id, tool, input } of narrator.listOpen()) {
        const one = await talk.permissions.ask(
          { kind: "tool", turn: talk.getTurn(), tool, input, toolUseId: id },
          talk.signal,
        );
        if (talk.signal.aborted) return;
        if (one.decision === "deny") verdict = one;
      }
      if (isCancelled) return;
      await ask("POST", `${path}/events/respond_to_confirmation`, {
        accept: verdict.decision === "allow",
        reason: verdict.note ?? (verdict.decision === "allow" ? "Allowed." : "Not allowed."),
      });
    } finally {
      isConfirming = false;
    }
  };

  const hear = ({ kind, source, llm_message: message }: OpenHandsEvent) => {
    if (unheard === undefined || kind !== "MessageEvent" || source === "agent") return;
    if ((message?.content ?? []).some(({ text }) => text?.includes(unheard ?? "") === true)) unheard = undefined;
  };

  const follow = (status: string) => {
    if (unheard !== undefined) return;
    if (status === "running") isBegun = true;
    else if (status === "waiting_for_confirmation") {
      isBegun = true;
      void confirm().catch(() => undefined); // the socket says what became of the server
    } else finish(status);
  };

  const followState = ({ key, value }: OpenHandsEvent) => {
    if (key === "execution_status" && typeof value === "string") follow(value);
    if (key === "stats") spent = toSpent(value) ?? spent;
    if (key !== "full_state") return;
    const state = FullState.safeParse(value).data;
    spent = toSpent(state?.stats) ?? spent;
    if (state?.execution_status !== undefined) follow(state.execution_status);
  };

  return {
    async onEvent(event: OpenHandsEvent, seq: number | undefined) {
      if (seq !== undefined) talk.setCursor(seq);
      hear(event);
      if (event.source === "agent" && unheard === undefined) isBegun = true;
      if (event.kind === "ConversationErrorEvent") {
        isBegun = true;
        failure = [event.code, event.detail].filter((part) => part !== undefined).join(": ");
      }
      const events = narrator.tell(event);
      if (events.length > 0) talk.emit(events);
      if (event.kind === "ConversationStateUpdateEvent") followState(event);
      await talk.room();
    },
    begin(text: string): Promise<PromptEnd> {
      unheard = text;
      const { promise, resolve, reject } = Promise.withResolvers<PromptEnd>();
      running = { resolve, reject };
      isBegun = false;
      mayRun = true;
      isCancelled = false;
      failure = undefined;
      return promise;
    },
    fail(error: Error) {
      running?.reject(error);
      running = undefined;
    },
    get mayRun() {
      return mayRun;
    },
    async cancel() {
      isCancelled = true;
      const { status } = await ask("POST", `${path}/interrupt`, {});
      if (status === 404 || status === 405) await ask("POST", `${path}/pause`, {});
    },
    get costUsd() {
      return spent?.costUsd ?? null;
    },
  };
}

const STOP_MS = 3_000;

/** By a call of its own: the session's are aborted by now. */
const stopRun = (server: Server, path: string) =>
  createAsk(server, AbortSignal.timeout(STOP_MS))("POST", `${path}/interrupt`, {}).catch(() => undefined);

export const connectOpenHands: OpenConversation = async (talk, before): Promise<Conversation> => {
  const server = await findServer(talk);
  const closing = new AbortController();
  const ask = createAsk(server, AbortSignal.any([talk.signal, closing.signal]));
  const end = async () => {
    closing.abort();
    await server.process?.end();
  };
  try {
    await waitUntilUp(ask, server, talk);
    const { id, resumed } = await openConversation(ask, talk, before);
    const path = `/api/conversations/${id}`;
    const narrator = createOpenHandsNarrator(talk.getTurn, () => talk.order.clock.now().getTime());
    const runs = createRuns(ask, talk, narrator, path);
    const socket = openEventSocket({
      url: server.url,
      key: server.key,
      conversationId: id,
      clock: talk.order.clock,
      afterSeq: resumed === "native" ? (talk.getCursor() ?? -1) : -1,
      onEvent: (event, seq) => (closing.signal.aborted ? Promise.resolve() : runs.onEvent(event, seq)),
    });
    closing.signal.addEventListener("abort", () => socket.close(), { once: true });
    const gone = Promise.race([
      socket.lost.then((why) => new AgentGone(why, "unknown")),
      ...(server.process === undefined
        ? []
        : [
            server.process.exit.then(
              () => new AgentGone(`the agent server ended: ${server.process?.lastWords() ?? ""}`, "command_failed"),
            ),
          ]),
    ]);
    void gone.then((error) => runs.fail(error));
    const send = async (text: string) => {
      const { status, body } = await ask("POST", `${path}/events`, toMessage(text));
      if (status >= 300)
        throw new Error(`the agent server refuses the message: ${status} ${JSON.stringify(body).slice(0, 500)}`);
    };
    return {
      sessionId: id,
      resumed,
      canSteer: true,
      // Nobody would watch a run that goes on; the server itself may belong to others.
      async end() {
        if (runs.mayRun) await stopRun(server, path);
        await end();
      },
      async prompt(text) {
        const ended = runs.begin(text);
        ended.catch(() => undefined); // told below, once the message was taken
        try {
          await send(text);
        } catch (error) {
          runs.fail(error as Error);
        }
        return ended;
      },
      steer: (text) =>
        send(text).then(
          () => true,
          () => false,
        ),
      cancel: () => void runs.cancel().catch(() => undefined), // whoever waits for the end waits only so long
      finish: (why) => narrator.finish(why),
      get lastText() {
        return narrator.lastText;
      },
      get costUsd() {
        return runs.costUsd;
      },
      gone,
    };
  } catch (error) {
    await end();
    if (error instanceof AgentGone) throw error;
    throw new AgentGone(`no agent server answers at ${server.url}: ${String(error)}`, "stream_init");
  }
};
