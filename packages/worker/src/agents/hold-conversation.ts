/** Holds a conversation with an agent, turn by turn: prompt, messages, interrupts, permissions, until nobody speaks any more. */
import type { InboxMessage } from "@drover/contract";
import type { AgentEnd, AgentEvent, AgentSession, AgentStep, Receipt, WorkOrder } from "../agent-runtime.ts";
import { createPermissions } from "../permissions.ts";
import { createBudgetWait, SPENT_PROMPT, toSpent } from "./await-budget.ts";
import { AgentGone, type Conversation, type OpenConversation, type PromptEnd, type Talk } from "./conversation.ts";
import { toInjected, toInterrupted } from "./heard.ts";
import { createMailbox } from "./mailbox.ts";
import { createStepChannel } from "./step-channel.ts";
import { parseMark, startMark } from "./talk-mark.ts";
import { type Breach, createTurnLimits, toPolicy } from "./turn-limits.ts";
import { z } from "zod";

/** An agent that does not stop within this is ended, and started again for the next message. */
const CANCEL_MS = 15_000;

const GO_ON = "Your program was restarted in the middle of this turn. Look at what is there and go on.";

const FORGOTTEN = "Your program was restarted, and remembers nothing of this session. The last that you said was:";

const CUT_OFF = "The worker was restarted while this ran.";

type TurnOutcome =
  | { readonly kind: "ended"; readonly end: PromptEnd }
  | { readonly kind: "refused"; readonly error: unknown }
  | { readonly kind: "gone"; readonly error: AgentGone }
  | { readonly kind: "interrupted"; readonly message: InboxMessage | undefined }
  /** Cancelled for a message, which is asked next. */
  | { readonly kind: "redirected"; readonly message: InboxMessage }
  | { readonly kind: "stopped"; readonly breach: Breach }
  | { readonly kind: "closed" };

function toText(error: unknown): string {
  if (!(error instanceof z.ZodError)) return error instanceof Error ? error.message : String(error);
  const places = error.issues.map(({ path }) => path.join(".")).filter((place) => place !== "");
  return `the agent's answer is not as the protocol has it (${places.join(", ") || "not an object"})`;
}

const isOk = (stopReason: string) => stopReason === "end_turn" || stopReason === "stop";

export function holdConversation(order: WorkOrder, open: OpenConversation, signal: AbortSignal): AgentSession {
  const mailbox = createMailbox();
  const channel = createStepChannel();
  const limits = createTurnLimits(order);
  const money = createBudgetWait(order);
  const earlier = parseMark(order.mark);
  const mark = earlier ?? startMark();
  let conversation: Conversation | undefined;
  /** It was started again and remembers nothing: its next prompt says where it was. */
  let isForgetful = false;
  /** Came in a way that the running turn could not take. */
  const held: InboxMessage[] = [];

  const record = (events: readonly AgentEvent[], receipt?: Receipt): AgentStep => ({
    events,
    mark: structuredClone({ ...mark, permissions: permissions.getMark() }) as never,
    ...(receipt === undefined ? {} : { receipt }),
  });
  const follow = ({ event_type, event_data: { tool_use_id: id, tool } }: AgentEvent) => {
    if (typeof id !== "string") return;
    if (event_type === "agent.tool_use") mark.open.push({ id, tool: String(tool) });
    if (event_type === "agent.tool_result") mark.open = mark.open.filter((one) => one.id !== id);
  };
  const emit = (events: readonly AgentEvent[], receipt?: Receipt) => {
    for (const event of events) {
      follow(event);
      limits.follow(event);
    }
    channel.put(record(events, receipt));
  };
  const permissions = createPermissions({
    policy: toPolicy(order),
    clock: order.clock,
    newId: order.newId,
    emit,
    mark: earlier?.permissions,
  });
  const say = (type: string, data: Readonly<Record<string, unknown>>): AgentEvent => ({
    event_type: type,
    event_data: { turn: mark.turn, ...data },
  });
  const talk: Talk = {
    order,
    permissions,
    signal,
    getTurn: () => mark.turn,
    getCursor: () => mark.cursor,
    setCursor: (cursor) => (mark.cursor = cursor),
    emit,
    room: () => channel.room(),
  };
  const seen = (message: InboxMessage): Receipt => ({ messageId: message.id, status: "seen", turn: mark.turn });
  const ensureOpen = async (): Promise<Conversation> => {
    if (conversation !== undefined) return conversation;
    const wanted = mark.sessionId ?? order.resume?.sessionId;
    const opened = await open(talk, wanted);
    conversation = opened;
    // Gone between two turns: the next message starts it again.
    void opened.gone.then(() => (conversation === opened ? (conversation = undefined) : undefined));
    mark.sessionId = opened.sessionId;
    isForgetful = wanted !== undefined && opened.resumed === "fresh" && mark.lastText !== "";
    emit([
      say("agent.system_message", {
        metadata: {
          subtype: "init",
          session_id: opened.sessionId,
          resumed: wanted === undefined ? null : opened.resumed,
        },
      }),
    ]);
    return opened;
  };
  const leave = async () => {
    const last = conversation;
    conversation = undefined;
    await last?.end();
  };

  /** Waits for the end of a cancelled prompt; one that does not come takes the agent along. */
  const cancel = async (running: Conversation, ended: Promise<unknown>, why: string) => {
    permissions.abandon(why);
    running.cancel();
    const late = new AbortController();
    const isLate = await Promise.race([
      ended.then(() => false),
      order.clock.sleep(CANCEL_MS, AbortSignal.any([signal, late.signal])).then(() => !signal.aborted),
    ]);
    late.abort();
    if (!isLate) return;
    emit([say("agent.error", { error: "the agent did not stop and was ended" })]);
    await leave();
  };

  const followPrompt = async (running: Conversation, text: string): Promise<TurnOutcome> => {
    limits.begin();
    const reminder = isForgetful ? `${FORGOTTEN}\n\n${mark.lastText}\n\n` : "";
    isForgetful = false;
    const ended = running.prompt(reminder + text).then(
      (end): TurnOutcome => ({ kind: "ended", end }),
      (error: unknown): TurnOutcome =>
        error instanceof AgentGone ? { kind: "gone", error } : { kind: "refused", error },
    );
    const breached = limits.breached().then((breach): TurnOutcome => ({ kind: "stopped", breach }));
    for (;;) {
      const arrival = mailbox.arrival(false);
      const outcome = await Promise.race([ended, breached, toPromise(AbortSignal.any([arrival, signal]))]);
      if (outcome?.kind === "stopped") await cancel(running, ended, outcome.breach.error);
      if (outcome !== undefined) return outcome;
      if (signal.aborted) return { kind: "closed" };
      if (mailbox.hasInterrupt()) {
        await cancel(running, ended, "interrupted");
        return { kind: "interrupted", message: mailbox.takeInterrupt() };
      }
      const message = mailbox.take(false);
      if (message === undefined) continue;
      if (!running.canSteer) {
        await cancel(running, ended, "a message came instead");
        return { kind: "redirected", message };
      }
      if (await running.steer(message.content).catch(() => false))
        emit([toInjected(mark.turn, message)], seen(message));
      else held.push(message);
    }
  };

  const toTurnComplete = (running: Conversation, end: PromptEnd, durationMs: number): AgentEvent =>
    say("agent.turn_complete", {
      num_turns: mark.turn,
      total_cost_usd: running.costUsd,
      session_id: mark.sessionId ?? null,
      is_error: !isOk(end.stopReason),
      duration_ms: durationMs,
      stop_reason: end.stopReason,
    });

  const toCompleted = (running: Conversation, end: PromptEnd): AgentEvent =>
    say("agent.completed", {
      success: isOk(end.stopReason),
      turns: mark.turn,
      stop_reason: end.stopReason,
      session_id: mark.sessionId ?? null,
      cost_usd: running.costUsd,
      input_tokens: end.inputTokens ?? null,
      output_tokens: end.outputTokens ?? null,
      cache_read_tokens: end.cacheReadTokens ?? null,
      cache_write_tokens: end.cacheWriteTokens ?? null,
      final_output: mark.lastText,
    });

  /** `failed`: the agent is gone for good and the session ends; `again`: its model was refused, and may be asked again. */
  const runTurn = async (text: string): Promise<"idle" | "closed" | "failed" | "again" | InboxMessage> => {
    let running: Conversation;
    try {
      running = await ensureOpen();
    } catch (error) {
      if (signal.aborted) return "closed";
      const kind = error instanceof AgentGone ? error.kind : "stream_init";
      emit([
        say("agent.stream_error", {
          error: toText(error),
          error_type: kind,
          final_output_length: mark.lastText.length,
        }),
        say("agent.failed", { error: toText(error) }),
      ]);
      return "failed";
    }
    const sinceMs = order.clock.now().getTime();
    const outcome = await followPrompt(running, text);
    if (outcome.kind === "closed") return "closed";
    permissions.abandon("the turn is over");
    const why = outcome.kind === "interrupted" ? "Interrupted." : "It did not end before the turn did.";
    const left = running.finish(why);
    if (running.lastText !== "") mark.lastText = running.lastText;
    if (outcome.kind === "redirected") {
      emit(left);
      return outcome.message;
    }
    if (["ended", "refused", "gone"].includes(outcome.kind) && money.isSpent()) {
      emit([...left, toSpent(mark.turn, "error" in outcome ? toText(outcome.error) : "the model was refused")]);
      await money.next(AbortSignal.any([signal, mailbox.arrival(false)]));
      return signal.aborted ? "closed" : "again";
    }
    mark.phase = "idle";
    delete mark.prompt;
    if (outcome.kind === "ended") {
      const durationMs = Math.max(0, Math.round(order.clock.now().getTime() - sinceMs));
      emit([...left, toTurnComplete(running, outcome.end, durationMs), toCompleted(running, outcome.end)]);
    } else if (outcome.kind === "interrupted")
      emit(
        [...left, toInterrupted(mark.turn, outcome.message, true)],
        outcome.message === undefined ? undefined : seen(outcome.message),
      );
    else if (outcome.kind === "stopped") {
      const { error, stopReason } = outcome.breach;
      emit([...left, say("agent.failed", { error, stop_reason: stopReason })]);
    } else if (outcome.kind === "refused") emit([...left, say("agent.failed", { error: toText(outcome.error) })]);
    else {
      emit([
        ...left,
        say("agent.stream_error", {
          error: outcome.error.message,
          error_type: outcome.error.kind,
          final_output_length: mark.lastText.length,
        }),
        say("agent.failed", { error: outcome.error.message }),
      ]);
      return "failed";
    }
    return "idle";
  };

  const toCutOff = ({ id, tool }: { id: string; tool: string }): AgentEvent =>
    say("agent.tool_result", {
      tool,
      tool_use_id: id,
      result: CUT_OFF,
      result_truncated: false,
      result_full_length: CUT_OFF.length,
      is_error: true,
      duration_ms: 0,
    });

  const begin = (text: string, message?: InboxMessage) => {
    mark.turn += 1;
    mark.phase = "working";
    mark.prompt = text;
    if (message === undefined) emit([]);
    else emit([toInjected(mark.turn, message)], seen(message));
  };

  /** Between turns: nothing to do until somebody speaks, the time is over, or the end. */
  const idle = async (): Promise<InboxMessage | "closed" | "timeout"> => {
    const early = held.shift() ?? (mailbox.hasInterrupt() ? undefined : mailbox.take(true));
    if (early !== undefined) return early;
    emit([say("agent.waiting", { message: "Waiting for messages." })]);
    for (;;) {
      const arrival = mailbox.arrival(true);
      await order.clock.sleep(order.postCompletionSeconds * 1_000, AbortSignal.any([signal, arrival]));
      if (signal.aborted) return "closed";
      const interrupt = mailbox.takeInterrupt();
      if (interrupt !== undefined) {
        emit([toInterrupted(mark.turn, interrupt, false)], seen(interrupt));
        continue;
      }
      return mailbox.take(true) ?? "timeout";
    }
  };

  const toFirstPrompt = (): string => {
    const preface = order.resume?.preface;
    return [order.systemPrompt, order.systemPromptAppend, preface, order.prompt]
      .filter((part) => typeof part === "string" && part !== "")
      .join("\n\n");
  };

  /** A turn that a death cut short is asked to go on; an agent that remembers nothing is told again what to do. */
  const toResumedPrompt = async (): Promise<string> => {
    const opened = await ensureOpen().catch(() => undefined);
    return opened?.resumed === "native" ? GO_ON : `${GO_ON}\n\n${mark.prompt ?? toFirstPrompt()}`;
  };

  const run = async (): Promise<AgentEnd> => {
    let text: string | undefined;
    if (mark.open.length > 0) emit(mark.open.map(toCutOff));
    if (earlier === undefined) {
      text = toFirstPrompt();
      begin(text);
    } else if (earlier.phase === "working") text = await toResumedPrompt();
    for (;;) {
      while (text !== undefined) {
        const outcome = await runTurn(text);
        text = undefined;
        if (outcome === "closed") return { reason: "closed", turns: mark.turn };
        if (outcome === "failed") return { reason: "failed", detail: "the agent is gone", turns: mark.turn };
        if (outcome === "again") text = SPENT_PROMPT;
        if (outcome === "idle" || outcome === "again") continue;
        text = outcome.content;
        begin(text, outcome);
      }
      const next = await idle();
      if (next === "closed" || next === "timeout") return { reason: next, turns: mark.turn };
      text = next.content;
      begin(text, next);
    }
  };

  void run()
    .catch((error: unknown): AgentEnd => {
      // The port's promise: a stream never throws. What comes here is a defect of ours.
      const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
      emit([say("agent.failed", { error: detail })]);
      return { reason: "failed", detail, turns: mark.turn };
    })
    .then(async (end) => {
      await leave().catch(() => undefined); // how it ended is what counts
      channel.end(end);
    });

  const put = (message: InboxMessage) => {
    if (signal.aborted) return "the agent has ended";
    mailbox.put(message);
    return undefined;
  };
  return {
    steps: channel.steps,
    send: put,
    interrupt: put,
    answerPermission: (answer) => permissions.answer(answer),
    getSessionId: () => mark.sessionId,
  };
}

const toPromise = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
