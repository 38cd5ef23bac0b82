/** Claude as an agent: its SDK runs the session, messages are pushed into the turn that runs, and hooks keep the rules. */
import { AppError, type InboxMessage, type Json } from "@drover/contract";
import { existsSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type {
  AgentEnd,
  AgentEvent,
  AgentRuntime,
  AgentSession,
  AgentStep,
  Receipt,
  WorkOrder,
} from "../../agent-runtime.ts";
import { createPermissions } from "../../permissions.ts";
import { createBudgetWait, SPENT_PROMPT, toSpent } from "../await-budget.ts";
import { toInjected, toInterrupted } from "../heard.ts";
import { createStepChannel } from "../step-channel.ts";
import { type AgentDeath, createAgentProcess } from "./agent-process.ts";
import { refuseTool } from "./guard-rails.ts";
import { createInputStream, type InputStream } from "./input-stream.ts";
import { createLater } from "./later.ts";
import { toSdkOptions, toTranscriptPath } from "./options.ts";
import {
  type HookInput,
  loadSdk,
  parseHookInput,
  type PermissionResult,
  readMessage,
  type Sdk,
  type SdkMessage,
  type SdkOptions,
  type SdkQuery,
  type SdkResult,
} from "./sdk.ts";
import {
  isFailed,
  readToolUse,
  toBlockEvent,
  toBounded,
  toCompleted,
  toCompletedEvent,
  toErrorType,
  toGivenResult,
  toOutputText,
  toStreamError,
  toSystemEvent,
  toTurnComplete,
  toWhy,
  withAnswer,
} from "./to-events.ts";

/** How often in a row a session whose process died is taken up again. */
const RESTARTS = 2;
/** How long a hook waits for the call it belongs to to be told; in order they come at once. */
const TOLD_MS = 1_000;
const STDERR_CHARACTERS = 4_000;
const QUIET: ReadonlySet<string> = new Set([
  "status",
  "thinking_tokens",
  "hook_started",
  "hook_progress",
  "hook_response",
]);
const GO_ON = "You were interrupted by a restart. Look at what is done already, then go on with your work.";

const Mark = z.object({
  v: z.literal(1),
  sessionId: z.string(),
  turn: z.int(),
  phase: z.enum(["working", "idle"]),
  /** Tools that had not ended. */
  open: z.array(z.object({ id: z.string(), tool: z.string() })),
  permissions: z.unknown().optional(),
});
type Mark = z.infer<typeof Mark>;

interface OpenTool {
  readonly id: string;
  readonly tool: string;
  readonly turn: number;
  readonly sinceMs: number;
}

type Outcome = "closed" | "timeout" | "died";

/** The text an agent is given at the start: the order, or where it was. */
function toFirstPrompt(order: WorkOrder, mark: Mark | undefined, isKnown: boolean): string | undefined {
  if (mark?.phase === "idle") return undefined;
  if (mark !== undefined && isKnown) return GO_ON;
  const prompt = order.prompt === "" ? GO_ON : order.prompt;
  return order.resume?.how === "reseeded" && order.resume.preface !== undefined
    ? `${order.resume.preface}\n\n${prompt}`
    : prompt;
}

function createSession(order: WorkOrder, load: typeof loadSdk, signal: AbortSignal): AgentSession {
  const channel = createStepChannel();
  const money = createBudgetWait(order);
  const mark = Mark.safeParse(order.mark).data;
  const sessionId = mark?.sessionId ?? (order.resume?.how === "native" ? order.resume.sessionId : randomUUID());
  let turn = mark?.turn ?? 0;
  let phase: "working" | "idle" = mark?.phase ?? "working";
  let lastText = "";
  let said = "";
  let query: SdkQuery | undefined;
  let input: InputStream = createInputStream();
  let answer: { id: string; model: string | undefined; stop: string | null | undefined; blocks: number } | undefined;
  /** Pushed and not yet in what the model is given, by our uuid. */
  const pushed = new Map<string, InboxMessage>();
  /** Sent with `delivery: "queue"` while a turn ran. */
  const queued: InboxMessage[] = [];
  const interrupts: InboxMessage[] = [];
  const tools = new Map<string, OpenTool>();
  const told = new Map<string, () => void>();
  let speak: () => void = () => undefined;

  const toStep = (events: readonly AgentEvent[], receipt?: Receipt): AgentStep => ({
    events: events.map((event) => ({ ...event, event_data: { turn, ...event.event_data } })),
    mark: {
      v: 1,
      sessionId,
      turn,
      phase,
      open: Array.from(tools.values(), ({ id, tool }) => ({ id, tool })),
      permissions: permissions.getMark(),
    } as Json,
    ...(receipt === undefined ? {} : { receipt }),
  });
  const emit = (events: readonly AgentEvent[], receipt?: Receipt) => channel.put(toStep(events, receipt));
  const permissions = createPermissions({
    policy: order.permissionPolicy,
    clock: order.clock,
    newId: order.newId,
    emit,
    mark: mark?.permissions,
  });

  const push = (message: InboxMessage) => {
    const uuid = randomUUID();
    pushed.set(uuid, message);
    input.push(message.content, uuid);
    speak();
  };

  /** A message stands in what the model is given next. */
  const inject = (message: InboxMessage) => {
    if (phase === "idle") turn += 1;
    phase = "working";
    emit([toInjected(turn, message)], { messageId: message.id, status: "seen", turn });
  };

  const tellInterrupted = (message: InboxMessage, wasRunning: boolean) =>
    emit([toInterrupted(turn, message, wasRunning)], { messageId: message.id, status: "seen", turn });

  const closeTool = (one: OpenTool, text: string, isError: boolean, given: readonly AgentEvent[] = []) => {
    tools.delete(one.id);
    const durationMs = Math.max(0, order.clock.now().getTime() - one.sinceMs);
    const data = { turn: one.turn, tool: one.tool, tool_use_id: one.id, is_error: isError, duration_ms: durationMs };
    emit([{ event_type: "agent.tool_result", event_data: { ...data, ...toBounded(text) } }, ...given]);
  };
  const closeAbandoned = (why: string) => {
    for (const one of tools.values()) closeTool(one, why, true);
  };

  /** A hook may come before the message that tells of its call was read. */
  const untilTold = (id: string): Promise<void> =>
    tools.has(id)
      ? Promise.resolve()
      : new Promise((resolve) => {
          const timer = setTimeout(resolve, TOLD_MS);
          told.set(id, () => (clearTimeout(timer), resolve()));
        });

  const flushAnswer = () => {
    if (answer === undefined) return;
    const { id, model, stop, blocks } = answer;
    answer = undefined;
    emit([
      {
        event_type: "agent.assistant_message",
        event_data: { message_id: id, model: model ?? order.model, stop_reason: stop ?? null, block_count: blocks },
      },
    ]);
  };

  const tellAssistant = ({ message, parent_tool_use_id: parent }: Extract<SdkMessage, { type: "assistant" }>) => {
    const isOurs = parent === null || parent === undefined;
    if (isOurs && answer?.id !== message.id) {
      flushAnswer();
      answer = { id: message.id, model: message.model, stop: message.stop_reason, blocks: 0 };
    }
    if (isOurs && answer !== undefined) answer.blocks += message.content.length;
    for (const block of message.content) {
      const event = toBlockEvent(block);
      if (event === undefined) continue;
      if (block.type === "text" && isOurs) lastText = String(event.event_data["content"]);
      if (block.type === "tool_use") {
        const { id, tool } = readToolUse(block);
        tools.set(id, { id, tool, turn, sinceMs: order.clock.now().getTime() });
      }
      emit([isOurs ? event : { ...event, event_data: { ...event.event_data, parent_tool_use_id: parent } }]);
      if (block.type === "tool_use") told.get(readToolUse(block).id)?.();
    }
  };

  const tellUser = ({ message, parent_tool_use_id: parent }: Extract<SdkMessage, { type: "user" }>) => {
    flushAnswer();
    const isOurs = parent === null || parent === undefined;
    for (const block of message.content) {
      if (block.type === "tool_result") {
        const one = tools.get(String(block["tool_use_id"]));
        if (one === undefined) continue;
        const text = toOutputText(block["content"]);
        const { event_type, event_data } = toGivenResult(one.tool, one.id, text);
        const given = { turn: one.turn, ...event_data, ...(isOurs ? {} : { parent_tool_use_id: parent }) };
        closeTool(one, text, block["is_error"] === true, [{ event_type, event_data: given }]);
      } else if (block.type === "text" && isOurs) {
        const content = String(block["text"]);
        emit([{ event_type: "agent.user_message", event_data: { content, content_length: content.length } }]);
      }
    }
  };

  /** Nobody pays for the next call: it is asked again once somebody may have raised the budget. */
  const waitForBudget = (why: string) => {
    emit([toSpent(turn, why)]);
    void money.next(signal).then(() => (signal.aborted ? undefined : input.push(SPENT_PROMPT, randomUUID())));
  };

  /** A turn is over. Whether the work is depends on what else was asked for. */
  const tellResult = (result: SdkResult) => {
    void looks.all();
    flushAnswer();
    closeAbandoned("the turn was ended while this tool ran");
    permissions.abandon("the turn is over");
    if (money.isSpent() && isFailed(result) && interrupts.length === 0) return waitForBudget(toWhy(result));
    phase = "idle";
    emit([toTurnComplete(result, sessionId)]);
    const stopped = interrupts.splice(0);
    for (const message of stopped) tellInterrupted(message, true);
    const next = queued.shift();
    if (next !== undefined) push(next);
    if (pushed.size > 0) return;
    if (stopped.length === 0)
      emit([
        isFailed(result)
          ? {
              event_type: "agent.failed",
              event_data: { error: toWhy(result), stop_reason: result.terminal_reason ?? null },
            }
          : toCompleted(result, sessionId, turn, lastText),
      ]);
    emit([{ event_type: "agent.waiting", event_data: { message: "Waiting for messages." } }]);
  };

  let isTold = false;
  let death: AgentDeath = { code: null, signal: null };
  const tellSystem = (message: Extract<SdkMessage, { type: "system" }>) => {
    // Said again at every turn.
    if (message.subtype === "init" ? isTold : QUIET.has(message.subtype)) return;
    if (message.subtype === "init") isTold = true;
    emit([toSystemEvent(message)]);
  };

  const tell = (message: SdkMessage) => {
    if (message.type === "assistant") return tellAssistant(message);
    if (message.type === "result") return tellResult(message);
    if (message.type === "system") return tellSystem(message);
    if (message.type === "user") return message.isReplay === true ? undefined : tellUser(message);
    const given = pushed.get(message.command_uuid);
    if (given === undefined || (message.state !== "started" && message.state !== "cancelled")) return;
    pushed.delete(message.command_uuid);
    // An interrupt took it along: it was sent to be read, and is given again.
    if (message.state === "cancelled") return push(given);
    flushAnswer();
    inject(given);
  };

  const askTool: SdkOptions["canUseTool"] = async (tool, given, about): Promise<PermissionResult> => {
    const toolUseId = about.toolUseID;
    if (toolUseId !== undefined) await untilTold(toolUseId);
    const isQuestion = tool === "AskUserQuestion";
    const verdict = await permissions.ask(
      {
        kind: isQuestion ? "question" : "tool",
        turn: tools.get(toolUseId ?? "")?.turn ?? turn,
        tool,
        input: given,
        ...(toolUseId === undefined ? {} : { toolUseId }),
        options: [
          { id: "allow", name: "Allow", kind: "allow_once" },
          { id: "deny", name: "Deny", kind: "reject_once" },
        ],
      },
      AbortSignal.any([about.signal, signal]),
    );
    if (verdict.decision === "deny") return { behavior: "deny", message: verdict.note ?? "This was not allowed." };
    return {
      behavior: "allow",
      updatedInput: isQuestion ? withAnswer(given, verdict.text ?? verdict.note ?? "") : given,
    };
  };

  /** What a tool changed is told in its place, while the agent asks its model; its next tool waits, so each change has its tool. */
  const looks = createLater();
  const look = (hook: HookInput) => {
    const at = tools.get(hook.tool_use_id)?.turn ?? turn;
    const done = toCompletedEvent(hook);
    const step = toStep([{ ...done, event_data: { turn: at, ...done.event_data } }]);
    const looked = looks.do(() => order.atBoundary({ kind: "tool", turn: at, toolUseId: hook.tool_use_id }));
    channel.put(
      looked.then(
        (changes) => ({ ...step, events: [...changes, ...step.events] }),
        () => step, // what cannot be told is logged by whoever looks
      ),
    );
  };

  const hooks: SdkOptions["hooks"] = {
    PreToolUse: [
      {
        onFailure: "block",
        hooks: [
          async (given) => {
            await looks.all();
            const refusal = refuseTool(order, parseHookInput(given));
            return refusal === undefined
              ? {}
              : {
                  hookSpecificOutput: {
                    hookEventName: "PreToolUse",
                    permissionDecision: "deny",
                    permissionDecisionReason: refusal,
                  },
                };
          },
        ],
      },
    ],
    PostToolUse: [
      {
        hooks: [
          async (given) => {
            const hook = parseHookInput(given);
            await untilTold(hook.tool_use_id);
            look(hook);
            return {};
          },
        ],
      },
    ],
  };

  /** Runs the agent's process until it is told to end, nobody speaks any more, or it dies. */
  const converse = async (sdk: Sdk, isKnown: boolean, firstPrompt: string | undefined): Promise<Outcome> => {
    const ending = new AbortController();
    const agent = createAgentProcess((text) => (said = (said + text).slice(-STDERR_CHARACTERS)));
    let outcome: Outcome | undefined;
    const finish = (why: Outcome) => {
      outcome ??= why;
      void looks.all();
      input.end();
      ending.abort();
      void agent.end();
    };
    const close = () => finish("closed");
    if (signal.aborted) return "closed";
    signal.addEventListener("abort", close, { once: true });

    /** Nobody spoke for so long after the work was done. */
    const watchIdle = async () => {
      while (outcome === undefined) {
        const spoken = new AbortController();
        speak = () => spoken.abort();
        const woken = AbortSignal.any([spoken.signal, ending.signal]);
        await order.clock.sleep(order.postCompletionSeconds * 1_000, woken);
        if (!woken.aborted && phase === "idle" && pushed.size === 0) finish("timeout");
      }
    };

    try {
      if (firstPrompt !== undefined) input.pushFirst(firstPrompt, randomUUID());
      query = sdk.query({
        prompt: input,
        options: {
          ...(await toSdkOptions(order)),
          ...(isKnown ? { resume: sessionId } : { sessionId }),
          abortController: ending,
          canUseTool: askTool,
          hooks,
          spawnClaudeCodeProcess: agent.start,
        },
      });
      void watchIdle();
      for await (const given of query) {
        const message = readMessage(given);
        if (message !== undefined) tell(message);
        // Asked for before there was anything to interrupt.
        if (message?.type === "system" && interrupts.length > 0) void query.interrupt().catch(() => undefined);
        await channel.room();
      }
    } catch (error) {
      // Expected: the SDK throws when its process ends, also when we ended it.
      if (outcome === undefined) said = `${said}\n${error instanceof Error ? error.message : String(error)}`.trim();
      if (error instanceof AppError) throw error;
    } finally {
      signal.removeEventListener("abort", close);
      finish("died");
      query = undefined;
      death = await agent.end();
    }
    return outcome ?? "died";
  };

  /** What the agent was given and had not read goes into its next life. */
  const renewInput = () => {
    input = createInputStream();
    const again = [...pushed.values()];
    pushed.clear();
    for (const message of again) push(message);
  };

  const run = async (): Promise<AgentEnd> => {
    const sdk = await load(order.agentHome).catch((error: unknown) => {
      emit([toStreamError(error instanceof Error ? error.message : String(error), "stream_init", "")]);
      throw error;
    });
    for (const { id, tool } of mark?.open ?? [])
      tools.set(id, { id, tool, turn, sinceMs: order.clock.now().getTime() });
    closeAbandoned("the worker was restarted while this tool ran");
    let isKnown = existsSync(toTranscriptPath(order, sessionId));
    let prompt = toFirstPrompt(order, mark, isKnown);
    if (prompt !== undefined && mark === undefined) turn += 1;
    if (prompt !== undefined) emit([]);
    for (let deaths = 0; ;) {
      const before = turn;
      const outcome = await converse(sdk, isKnown, prompt);
      if (outcome !== "died") return { reason: outcome, turns: turn };
      deaths = before === turn ? deaths + 1 : 1;
      const error = said === "" ? "the agent's process ended" : said;
      emit([toStreamError(error, toErrorType(death, isTold), lastText)]);
      closeAbandoned("the agent's process ended while this tool ran");
      if (deaths > RESTARTS) throw new AppError("sandbox.unavailable", `the agent ended by itself: ${error}`);
      said = "";
      renewInput();
      isKnown = existsSync(toTranscriptPath(order, sessionId));
      prompt = phase === "idle" ? undefined : isKnown ? GO_ON : prompt;
    }
  };

  void run()
    .catch((error: unknown): AgentEnd => {
      // The port's promise: a stream never throws.
      const detail = error instanceof Error ? error.message : String(error);
      if (!signal.aborted) emit([{ event_type: "agent.failed", event_data: { error: detail } }]);
      return signal.aborted ? { reason: "closed", turns: turn } : { reason: "failed", detail, turns: turn };
    })
    .then((end) => channel.end(end));

  return {
    steps: channel.steps,
    send(message) {
      if (signal.aborted) return "the agent has ended";
      if (phase === "working" && message.delivery === "queue") queued.push(message);
      else push(message);
      return undefined;
    },
    interrupt(message) {
      if (signal.aborted) return "the agent has ended";
      if (phase === "idle" && pushed.size === 0) tellInterrupted(message, false);
      else {
        interrupts.push(message);
        permissions.abandon("interrupted");
        void query?.interrupt().catch(() => undefined);
      }
      return undefined;
    },
    answerPermission: (given) => permissions.answer(given),
    getSessionId: () => sessionId,
  };
}

export const createClaude = (load: typeof loadSdk = loadSdk): AgentRuntime => ({
  name: "claude",
  capabilities: {
    steer: "native",
    interrupt: true,
    hooks: true,
    permission: "hooks",
    cost: true,
    resume: "native",
    toolLimits: "prevented",
    subagents: true,
  },
  start: (order, signal) => createSession(order, load, signal),
  transcriptPath: toTranscriptPath,
});
