/** One conversation: its log, its state, and the run that asks the model and does what it says, step by step. */
import { randomUUID } from "node:crypto";
import { type EventLog, type Meta, openEventLog, readStatus } from "./event-log.ts";
import { askModel } from "./model.ts";
import { useTool } from "./tools.ts";
import {
  asContent,
  type ExecutionStatus,
  type Llm,
  type LogEvent,
  type NewConversation,
  type NewMessage,
  toDocumented,
  TOOL_NAMES,
  toText,
} from "./wire.ts";

/** So many equal steps in a row are no progress. */
const STUCK_AFTER = 4;
const NO_KEY = "none";

const ACTION_KINDS: Readonly<Record<string, string>> = { terminal: "TerminalAction", file_editor: "FileEditorAction" };

export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

export type Listener = (event: LogEvent, seq: number) => void;

export interface ConversationInfo extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly execution_status: ExecutionStatus;
  /** In the documents' words. */
  readonly status: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface Conversation {
  readonly id: string;
  readonly events: readonly LogEvent[];
  toInfo(): ConversationInfo;
  send(message: NewMessage): void;
  run(): void;
  /** After the step that is under way. */
  pause(): void;
  /** At once; the step that is under way is broken off. */
  interrupt(): void;
  answer(accept: boolean, reason: string): void;
  setConfirming(isConfirming: boolean): void;
  setLlm(llm: Llm): void;
  setTitle(title: string | null): void;
  readonly finalText: string;
  listen(listener: Listener): () => void;
  /** Settles when nothing runs any more. */
  close(): Promise<void>;
  /** Its events stay until they are erased. */
  remove(): void;
}

interface Parts {
  readonly directory: string;
  readonly meta: Meta;
  /** In memory only: a server that was started again is told it anew. */
  readonly key: string | undefined;
  /** Of the server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** After an event was appended. */
  readonly onEvent: (conversation: Conversation) => void;
}

const toPrices = ({ input_cost_per_token: input, output_cost_per_token: output }: Llm): Meta["prices"] =>
  typeof input === "number" && typeof output === "number" ? { input, output } : null;

export function toMeta(input: NewConversation, now: Date): Meta {
  const prices = toPrices(input.agent.llm);
  const named = (input.agent.tools ?? []).flatMap(({ name }) => TOOL_NAMES[name] ?? []);
  return {
    id: input.conversation_id ?? randomUUID(),
    model: input.agent.llm.model,
    base_url: input.agent.llm.base_url ?? null,
    tools: named.length === 0 ? ["terminal", "file_editor"] : [...new Set(named)],
    working_dir: input.workspace.working_dir,
    max_iterations: input.max_iterations,
    stuck_detection: input.stuck_detection,
    is_confirming: input.confirmation_policy?.kind === "AlwaysConfirm",
    title: null,
    created_at: now.toISOString(),
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    prices,
    cost_usd: prices === null ? null : 0,
  };
}

const isStuck = (events: readonly LogEvent[]): boolean => {
  const steps = events.filter(({ kind }) => kind === "ActionEvent").slice(-STUCK_AFTER);
  const said = new Set(steps.map((event) => (event["tool_call"] as { arguments: string }).arguments));
  const results = steps.map(({ id }) => events.find((event) => event["action_id"] === id)?.["observation"]);
  return (
    steps.length === STUCK_AFTER && said.size === 1 && new Set(results.map((one) => JSON.stringify(one))).size === 1
  );
};

export function openConversation({ directory, meta: given, key: givenKey, env, onEvent }: Parts): Conversation {
  const log: EventLog = openEventLog(directory, given.id);
  let meta = given;
  let key = givenKey;
  let status: ExecutionStatus = readStatus(log.events);
  let isPausing = false;
  let stopping = new AbortController();
  let running: Promise<void> | undefined;
  let confirmation: ((answer: { accept: boolean; reason: string }) => void) | undefined;
  const listeners = new Set<Listener>();

  const append = (kind: string, source: string, data: Readonly<Record<string, unknown>>): LogEvent => {
    const event = { id: randomUUID(), kind, source, timestamp: new Date().toISOString(), ...data };
    const seq = log.events.length;
    log.append(event);
    for (const listener of listeners) listener(event, seq);
    onEvent(conversation);
    return event;
  };
  const save = (change: Partial<Meta>) => {
    meta = { ...meta, ...change };
    log.saveMeta(meta);
  };
  const setStatus = (next: ExecutionStatus) => {
    status = next;
    append("ConversationStateUpdateEvent", "environment", { key: "execution_status", value: next });
  };
  const toStats = () => ({
    usage_to_metrics: {
      agent: {
        model_name: meta.model,
        ...(meta.cost_usd === null ? {} : { accumulated_cost: meta.cost_usd }),
        accumulated_token_usage: {
          model: meta.model,
          prompt_tokens: meta.input_tokens,
          completion_tokens: meta.output_tokens,
          cache_read_tokens: meta.cache_read_tokens,
          cache_write_tokens: 0,
          reasoning_tokens: 0,
        },
      },
    },
  });

  const confirm = async (): Promise<{ accept: boolean; reason: string }> => {
    const asked = Promise.withResolvers<{ accept: boolean; reason: string }>();
    confirmation = asked.resolve;
    const stop = () => asked.resolve({ accept: false, reason: "the run was interrupted" });
    stopping.signal.addEventListener("abort", stop, { once: true });
    setStatus("waiting_for_confirmation");
    const answer = await asked.promise;
    confirmation = undefined;
    stopping.signal.removeEventListener("abort", stop);
    if (!stopping.signal.aborted) setStatus("running");
    return answer;
  };

  /** Whether the run goes on. */
  const step = async (): Promise<boolean> => {
    const heard = log.events.length;
    const { signal } = stopping;
    const asked = { model: meta.model, baseUrl: meta.base_url, key: key ?? NO_KEY, tools: meta.tools };
    const { id, text, calls, usage } = await askModel(asked, log.events, signal);
    save({
      input_tokens: meta.input_tokens + usage.input,
      output_tokens: meta.output_tokens + usage.output,
      cache_read_tokens: meta.cache_read_tokens + usage.cacheRead,
      cost_usd:
        meta.prices === null || meta.cost_usd === null
          ? null
          : meta.cost_usd + usage.input * meta.prices.input + usage.output * meta.prices.output,
    });
    if (calls.length === 0) {
      const isAnswered = !log.events
        .slice(heard)
        .some(({ kind, source }) => kind === "MessageEvent" && source === "user");
      append("MessageEvent", "agent", { llm_message: { role: "assistant", content: asContent(text) } });
      return !isAnswered;
    }
    const actions = calls.map((call, index) =>
      append("ActionEvent", "agent", {
        thought: index === 0 && text !== "" ? asContent(text) : [],
        action: { kind: ACTION_KINDS[call.name] ?? "Action", ...(call.input as object) },
        tool_name: call.name,
        tool_call_id: call.id,
        tool_call: { id: call.id, name: call.name, arguments: JSON.stringify(call.input), origin: "completion" },
        llm_response_id: id,
      }),
    );
    const verdict = meta.is_confirming ? await confirm() : { accept: true, reason: "" };
    for (const [index, call] of calls.entries()) {
      const about = { action_id: actions[index]?.id, tool_name: call.name, tool_call_id: call.id };
      if (!verdict.accept) {
        append("UserRejectObservation", "user", { ...about, rejection_reason: verdict.reason });
        continue;
      }
      const {
        text: output,
        isError,
        exitCode,
      } = await useTool({ cwd: meta.working_dir, env }, call.name, call.input, signal);
      const kind = call.name === "terminal" ? "TerminalObservation" : "FileEditorObservation";
      const observation = {
        kind,
        content: asContent(output),
        is_error: isError,
        ...(exitCode === undefined ? {} : { exit_code: exitCode }),
      };
      append("ObservationEvent", "environment", { ...about, observation });
      if (signal.aborted) return false;
    }
    return true;
  };

  const fail = (code: string, detail: string): ExecutionStatus => {
    append("ConversationErrorEvent", "environment", { code, detail });
    return "error";
  };

  const work = async (): Promise<ExecutionStatus> => {
    for (let count = 0; count < meta.max_iterations; count += 1) {
      const goesOn = await step();
      if (stopping.signal.aborted || (goesOn && isPausing)) return "paused";
      if (!goesOn) return "finished";
      if (meta.stuck_detection && isStuck(log.events)) return "stuck";
    }
    return fail("MaxIterationsReached", `the agent took ${meta.max_iterations} steps and was not done`);
  };

  const conversation: Conversation = {
    id: meta.id,
    get events() {
      return log.events;
    },
    toInfo: () => ({
      id: meta.id,
      conversation_id: meta.id,
      execution_status: status,
      agent_status: status,
      status: toDocumented(status),
      title: meta.title,
      created_at: meta.created_at,
      updated_at: log.events.at(-1)?.timestamp ?? meta.created_at,
      event_count: log.events.length,
      agent: {
        kind: "Agent",
        discriminator: "Agent",
        llm: { model: meta.model, base_url: meta.base_url, api_key: key === undefined ? null : "**********" },
        tools: meta.tools.map((name) => ({ name })),
      },
      workspace: { kind: "LocalWorkspace", working_dir: meta.working_dir },
      persistence_dir: directory,
      max_iterations: meta.max_iterations,
      stuck_detection: meta.stuck_detection,
      confirmation_policy: { kind: meta.is_confirming ? "AlwaysConfirm" : "NeverConfirm" },
      activated_knowledge_skills: [],
      stats: toStats(),
      cost: meta.cost_usd,
    }),
    send: (message) => {
      const content = typeof message.content === "string" ? asContent(message.content) : message.content;
      append("MessageEvent", "user", { llm_message: { role: "user", content } });
      if (message.run && running === undefined) conversation.run();
    },
    run: () => {
      if (running !== undefined) throw new Refusal(409, "the conversation runs already");
      if (!log.events.some(({ kind }) => kind === "MessageEvent"))
        throw new Refusal(409, "nobody has said anything yet");
      isPausing = false;
      stopping = new AbortController();
      setStatus("running");
      running = work()
        .catch((error: unknown) =>
          stopping.signal.aborted
            ? ("paused" as const)
            : fail(
                error instanceof Error ? error.name : "Error",
                error instanceof Error ? error.message : String(error),
              ),
        )
        .then((end) => {
          running = undefined;
          append("ConversationStateUpdateEvent", "environment", { key: "stats", value: toStats() });
          setStatus(end);
        });
    },
    pause: () => {
      isPausing = true;
      if (running === undefined && status !== "finished") setStatus("paused");
      confirmation?.({ accept: false, reason: "the run was paused" });
    },
    interrupt: () => {
      if (running !== undefined) stopping.abort();
    },
    answer: (accept, reason) => {
      if (confirmation === undefined) throw new Refusal(409, "nothing waits for a confirmation");
      confirmation({ accept, reason });
    },
    setConfirming: (is_confirming) => save({ is_confirming }),
    setLlm: (llm) => {
      key = llm.api_key ?? undefined;
      save({ model: llm.model, base_url: llm.base_url ?? null, prices: toPrices(llm) });
    },
    setTitle: (title) => save({ title }),
    get finalText() {
      const last = log.events.findLast(({ kind, source }) => kind === "MessageEvent" && source === "agent");
      return toText((last?.["llm_message"] as { content: NewMessage["content"] } | undefined)?.content ?? "");
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: async () => {
      stopping.abort();
      await running;
    },
    remove: () => log.remove(),
  };
  // A log that ends at work was left there by a process that is gone.
  if (status === "paused" && log.events.length > 0 && log.events.at(-1)?.["value"] !== "paused") setStatus("paused");
  log.saveMeta(meta);
  return conversation;
}
