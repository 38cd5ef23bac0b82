/** A run as spans of a trace, read off its log: the sandbox, how it was made, its turns, tools and model calls. */
import type { JsonObject } from "@drover/contract";

export type SpanValue = string | number | boolean;

export interface RunSpan {
  /** The same each time the same log is read. */
  readonly key: string;
  /** None: the whole run. */
  readonly parent: string | null;
  readonly name: string;
  readonly kind: "internal" | "client";
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, SpanValue>>;
  /** Why it failed, if it did. */
  readonly error: string | null;
}

export interface TracedRun {
  readonly id: string;
  readonly projectId: string;
  readonly taskId: string | null;
  readonly provider: string;
  readonly runtime: string;
  readonly model: string | null;
  readonly state: string;
  readonly cause: string | null;
  readonly prompt: string | null;
  readonly createdMs: number;
  readonly closedMs: number;
}

export interface TracedEvent {
  readonly seq: number;
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly atMs: number;
}

const ROOT = "run";
/** What a trace shows of a text; the log has the whole. */
const SHOWN_CHARACTERS = 8_000;
const TOOL_STARTS: ReadonlySet<string> = new Set(["agent.tool_use", "agent.subagent_invoked", "agent.skill_invoked"]);
const TOOL_ENDS: ReadonlySet<string> = new Set([
  "agent.tool_completed",
  "agent.tool_result",
  "agent.user_tool_result",
  "agent.subagent_completed",
  "agent.skill_completed",
]);
/** They are no step of the agent: nothing that the model waited for. */
const BESIDE: ReadonlySet<string> = new Set(["heartbeat", "agent.heartbeat", "spec.heartbeat", "agent.usage"]);
/** As OpenTelemetry calls them. */
const PROVIDERS: Readonly<Record<string, string>> = { anthropic: "anthropic", openai: "openai", gemini: "gcp.gemini" };

const readText = (data: JsonObject, ...keys: readonly string[]): string | undefined => {
  const key = keys.find((one) => typeof data[one] === "string" && data[one] !== "");
  return key === undefined ? undefined : (data[key] as string);
};
const readNumber = (data: JsonObject, key: string): number | undefined => {
  const value = data[key];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
};
const toShown = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.slice(0, SHOWN_CHARACTERS).replace(/[\ud800-\udbff]$/, "");
};
const isFailed = ({ event_type: type, event_data: data }: TracedEvent): boolean =>
  data["is_error"] === true || data["success"] === false || type === "agent.error" || type === "agent.failed";

type Draft<T> = { -readonly [K in keyof T]: T[K] };

const withKnown = (known: Readonly<Record<string, SpanValue | undefined>>): Record<string, SpanValue> =>
  Object.fromEntries(Object.entries(known).filter((entry): entry is [string, SpanValue] => entry[1] !== undefined));

/** Takes the events of one run in their order; `end` gives its spans, the whole run first. */
export function openRunSpans(run: TracedRun, hasContent: boolean) {
  const spans: Draft<RunSpan>[] = [];
  const openTools = new Map<string, Draft<RunSpan>>();
  let turn: Draft<RunSpan> | undefined;
  let turnNumber = 0;
  /** When the agent last had something to think about: a model call that is booked now began then, at the earliest. */
  let sinceMs = run.createdMs;

  const add = (span: RunSpan): Draft<RunSpan> => {
    const draft = { ...span };
    spans.push(draft);
    return draft;
  };

  const takeTurn = ({ event_data: data, atMs, event_type: type }: TracedEvent) => {
    const told = readNumber(data, "turn") ?? 0;
    if (told <= turnNumber) {
      if (turn !== undefined && type.startsWith("agent.") && !type.endsWith("heartbeat")) turn.endMs = atMs;
      return;
    }
    turnNumber = told;
    const attributes = { "drover.turn": told };
    turn = add({
      key: `turn ${told}`,
      parent: ROOT,
      name: `turn ${told}`,
      kind: "internal",
      startMs: atMs,
      endMs: atMs,
      attributes,
      error: null,
    });
  };

  const startTool = ({ seq, event_data: data, atMs }: TracedEvent) => {
    const id = readText(data, "tool_use_id");
    // A call is told again when its input is complete.
    if (id !== undefined && openTools.has(id)) return;
    const name = readText(data, "tool", "tool_name") ?? "tool";
    const input = data["input"] ?? data["tool_input"];
    const span = add({
      key: `tool ${id ?? seq}`,
      parent: turn?.key ?? ROOT,
      name: `execute_tool ${name}`,
      kind: "internal",
      startMs: atMs,
      endMs: atMs,
      attributes: withKnown({
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id,
        "gen_ai.tool.call.arguments": hasContent && input !== undefined ? toShown(input) : undefined,
      }),
      error: null,
    });
    if (id !== undefined) openTools.set(id, span);
  };

  const endTool = (event: TracedEvent) => {
    const span = openTools.get(readText(event.event_data, "tool_use_id") ?? "");
    if (span === undefined) return;
    span.endMs = event.atMs;
    if (isFailed(event)) span.error = "tool_failed";
    const result = event.event_data["result"] ?? event.event_data["output"] ?? event.event_data["tool_output"];
    if (hasContent && result !== undefined && result !== null)
      span.attributes = { ...span.attributes, "gen_ai.tool.call.result": toShown(result) };
  };

  const addModelCall = ({ seq, event_data: data, atMs }: TracedEvent) => {
    const model = readText(data, "model") ?? "unknown";
    const provider = readText(data, "provider");
    const cost = readNumber(data, "cost_usd");
    add({
      key: `call ${seq}`,
      parent: turn?.key ?? ROOT,
      name: `chat ${model}`,
      kind: "client",
      startMs: Math.min(sinceMs, atMs),
      endMs: atMs,
      attributes: withKnown({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider === undefined ? undefined : (PROVIDERS[provider] ?? provider),
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": readNumber(data, "input_tokens"),
        "gen_ai.usage.output_tokens": readNumber(data, "output_tokens"),
        "gen_ai.usage.cache_read.input_tokens": readNumber(data, "cache_read_tokens"),
        "gen_ai.usage.cache_creation.input_tokens": readNumber(data, "cache_write_tokens"),
        "drover.cost_usd": cost,
      }),
      error: null,
    });
    sinceMs = atMs;
  };

  const addStep = ({ seq, event_data: data, atMs }: TracedEvent) => {
    const step = readText(data, "step") ?? "step";
    add({
      key: `provision ${seq}`,
      parent: ROOT,
      name: `provision ${step}`,
      kind: "internal",
      startMs: atMs - Math.max(0, readNumber(data, "duration_ms") ?? 0),
      endMs: atMs,
      attributes: { "drover.provision.step": step },
      error: data["status"] === "failed" ? "provision_failed" : null,
    });
  };

  return {
    take: (event: TracedEvent): void => {
      const { event_type: type, atMs } = event;
      takeTurn(event);
      if (TOOL_STARTS.has(type)) startTool(event);
      else if (TOOL_ENDS.has(type)) endTool(event);
      else if (type === "agent.usage") addModelCall(event);
      else if (type === "sandbox.provisioning") addStep(event);
      else if (hasContent && type === "agent.message" && turn !== undefined) {
        const text = readText(event.event_data, "content", "text");
        if (text !== undefined) turn.attributes = { ...turn.attributes, "drover.turn.text": toShown(text) };
      }
      if (isFailed(event) && turn !== undefined && !TOOL_ENDS.has(type)) turn.error = "agent_failed";
      if (!BESIDE.has(type)) sinceMs = atMs;
    },
    end: (): readonly RunSpan[] => [
      {
        key: ROOT,
        parent: null,
        name: `invoke_agent ${run.runtime}`,
        kind: "internal",
        startMs: run.createdMs,
        endMs: Math.max(run.closedMs, run.createdMs),
        attributes: withKnown({
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": run.runtime,
          "gen_ai.agent.id": run.id,
          "gen_ai.conversation.id": run.id,
          "gen_ai.request.model": run.model ?? undefined,
          "drover.sandbox.id": run.id,
          "drover.sandbox.provider": run.provider,
          "drover.sandbox.state": run.state,
          "drover.project.id": run.projectId,
          "drover.task.id": run.taskId ?? undefined,
          "drover.prompt": hasContent && run.prompt !== null ? toShown(run.prompt) : undefined,
        }),
        error: run.state === "failed" ? (run.cause ?? "failed") : null,
      },
      ...spans,
    ],
  };
}
