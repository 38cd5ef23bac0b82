/** Turns the updates of an ACP agent into Drover's events: pieces of text become messages, calls become uses and results. */
import { z } from "zod";
import type { AgentEvent } from "../../agent-runtime.ts";
import type { Clock } from "../../clock.ts";
import {
  Chunk,
  type ContentBlock,
  Plan,
  PlanUpdate,
  type SessionUpdate,
  ToolCall,
  type ToolContent,
  UsageUpdate,
} from "./session-update.ts";

const RESULT_CHARACTERS = 5_000;
/** A text without an end is told in pieces of this size. */
const TEXT_CHARACTERS = 50_000;
const LAST_TEXT_CHARACTERS = 2_000;
/** Of what a command printed: more is cut off when it is told. */
const PRINTED_CHARACTERS = 200_000;
const DETAIL_CHARACTERS = 4_000;

const KIND_TOOLS: Readonly<Record<string, string>> = {
  read: "Read",
  edit: "Edit",
  delete: "Delete",
  move: "Rename",
  search: "Grep",
  execute: "Bash",
  fetch: "WebFetch",
  think: "Think",
  switch_mode: "SwitchMode",
};

interface OpenTool {
  readonly id: string;
  readonly startedMs: number;
  call: ToolCall;
  isSaid: boolean;
  /** What its terminal printed, for agents that tell it apart from the call. */
  printed: string;
}

interface Said {
  readonly kind: "message" | "thinking";
  text: string;
}

export interface Narrator {
  tell(update: SessionUpdate): readonly AgentEvent[];
  /** A permission is asked for: what it is for is said first. */
  introduce(call: ToolCall): { readonly events: readonly AgentEvent[]; readonly tool: string; readonly input: Input };
  /** The turn is being stopped: what ends from now on did not end well, whatever the agent says of it. */
  stop(): void;
  /** The turn is over: what was begun is ended. */
  finish(why: string): readonly AgentEvent[];
  readonly lastText: string;
  /** What the agent itself says it has cost, in dollars. */
  readonly costUsd: number | null;
}

type Input = Readonly<Record<string, unknown>>;

const isInput = (value: unknown): value is Input =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;

/** More than where it runs. */
const isTelling = (input: unknown) => isInput(input) && Object.keys(input).some((key) => key !== "cwd");

function readMetaName(call: ToolCall): string | undefined {
  const meta = call._meta?.["claudeCode"];
  const name = typeof meta === "object" && meta !== null ? (meta as { toolName?: unknown }).toolName : undefined;
  return typeof name === "string" ? name : undefined;
}

const toTool = (call: ToolCall): string =>
  (readMetaName(call) ?? KIND_TOOLS[call.kind ?? ""] ?? call.name ?? call.title ?? "tool").slice(0, 200);

/** What the agent gave its tool; agents that do not tell are described by what they show. */
function toInput(call: ToolCall): Input {
  if (isInput(call.rawInput)) return call.rawInput;
  const path = call.locations?.[0]?.path;
  return {
    ...(call.title === undefined ? {} : { title: call.title }),
    ...(path === undefined ? {} : { file_path: path }),
  };
}

function toBlockText(block: ContentBlock): string {
  if (block.type === "text") return block.text ?? "";
  return block.resource?.text ?? `[${block.type} ${block.uri ?? block.resource?.uri ?? block.name ?? ""}]`;
}

function toContentText(content: ToolContent): string {
  if (content.type === "diff") return `changed ${content.path ?? ""}`;
  if (content.type === "terminal") return "";
  return content.content === undefined ? "" : toBlockText(content.content);
}

function toOutputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (!isInput(output)) return "";
  const { output: inner, stdout, formatted_output: formatted, error } = output;
  const found = [formatted, inner, stdout, error].find((part) => typeof part === "string" && part !== "");
  return typeof found === "string" ? found : JSON.stringify(output);
}

function toResultText({ call, printed }: OpenTool): string {
  const shown = (call.content ?? []).map(toContentText).filter((text) => text !== "");
  if (shown.length > 0) return shown.join("\n");
  return printed === "" ? toOutputText(call.rawOutput) : printed;
}

const Terminal = z.object({
  terminal_output_delta: z.object({ data: z.string() }).optional().catch(undefined),
  terminal_exit: z.object({ exit_code: z.number().nullish() }).optional().catch(undefined),
});

/** A widespread addition to the protocol: what a command prints, and how it ended, beside the call. */
const readTerminal = ({ _meta }: ToolCall) => Terminal.safeParse(_meta ?? {}).data ?? {};

/** What a later update leaves out stays. */
const mergeCall = (before: ToolCall, update: ToolCall): ToolCall => ({
  ...before,
  ...Object.fromEntries(Object.entries(update).filter(([, value]) => value !== undefined && value !== null)),
  toolCallId: before.toolCallId,
});

const toDetail = (update: SessionUpdate) => {
  const { sessionUpdate, _meta, ...rest } = update;
  const text = JSON.stringify(rest);
  return {
    subtype: sessionUpdate,
    ...(text.length > DETAIL_CHARACTERS ? { cut: text.slice(0, DETAIL_CHARACTERS) } : rest),
  };
};

export function createNarrator(getTurn: () => number, clock: Clock): Narrator {
  const tools = new Map<string, OpenTool>();
  /** Ended in this turn, or cut off by the end of the one before: said again, they are not opened again. */
  const ended = new Set<string>();
  let said: Said | undefined;
  let lastText = "";
  let costUsd: number | null = null;
  let plans = 0;
  let isStopping = false;

  const say = (type: string, data: Input): AgentEvent => ({
    event_type: type,
    event_data: { turn: getTurn(), ...data },
  });

  const flushText = (): AgentEvent[] => {
    if (said === undefined) return [];
    const { kind, text } = said;
    said = undefined;
    if (text.trim() === "") return [];
    if (kind === "thinking") return [say("agent.thinking", { content: text, thinking_type: "thought" })];
    lastText = text.slice(-LAST_TEXT_CHARACTERS);
    return [say("agent.message", { content: text, content_length: text.length })];
  };
  const tellText = (kind: Said["kind"], text: string): AgentEvent[] => {
    const events = said !== undefined && said.kind !== kind ? flushText() : [];
    said ??= { kind, text: "" };
    said.text += text;
    return said.text.length >= TEXT_CHARACTERS ? [...events, ...flushText()] : events;
  };

  const sayTool = (open: OpenTool): AgentEvent[] => {
    if (open.isSaid) return [];
    open.isSaid = true;
    const { call } = open;
    return [
      say("agent.tool_use", {
        tool: toTool(call),
        tool_use_id: open.id,
        input: toInput(call),
        ...(call.title === undefined ? {} : { title: call.title }),
        ...(call.kind === undefined ? {} : { kind: call.kind }),
      }),
    ];
  };
  /** Some agents tell the input of a call only a moment after the call; nothing else may pass it. */
  const sayTools = (): AgentEvent[] => [...tools.values()].flatMap(sayTool);

  const closeTool = (open: OpenTool, text: string, isError: boolean): AgentEvent[] => {
    tools.delete(open.id);
    ended.add(open.id);
    return [
      ...sayTool(open),
      say("agent.tool_result", {
        tool: toTool(open.call),
        tool_use_id: open.id,
        result: text.slice(0, RESULT_CHARACTERS),
        result_truncated: text.length > RESULT_CHARACTERS,
        result_full_length: text.length,
        is_error: isError || isStopping,
        duration_ms: Math.max(0, Math.round(clock.now().getTime() - open.startedMs)),
      }),
    ];
  };

  const openTool = (call: ToolCall): { open: OpenTool | undefined; events: AgentEvent[] } => {
    const known = tools.get(call.toolCallId);
    if (known !== undefined) {
      known.call = mergeCall(known.call, call);
      return { open: known, events: flushText() };
    }
    if (ended.has(call.toolCallId)) return { open: undefined, events: [] };
    const open = { id: call.toolCallId, startedMs: clock.now().getTime(), call, isSaid: false, printed: "" };
    const events = [...flushText(), ...sayTools()];
    tools.set(open.id, open);
    return { open, events };
  };

  const tellTool = (update: SessionUpdate): readonly AgentEvent[] => {
    const parsed = ToolCall.safeParse(update);
    if (!parsed.success) return [];
    const { open, events } = openTool(parsed.data);
    if (open === undefined) return events;
    const { terminal_output_delta: more, terminal_exit: exit } = readTerminal(parsed.data);
    if (more !== undefined) open.printed = (open.printed + more.data).slice(0, PRINTED_CHARACTERS);
    const { status } = open.call;
    if (status === "completed" || status === "failed") {
      const isError = status === "failed" || (exit?.exit_code ?? 0) !== 0;
      return [...events, ...closeTool(open, toResultText(open), isError)];
    }
    const isKnown = (status !== undefined && status !== "pending") || isTelling(open.call.rawInput);
    return isKnown ? [...events, ...sayTool(open)] : events;
  };

  const tellPlan = (update: SessionUpdate): readonly AgentEvent[] => {
    const plan = Plan.safeParse(update).data ?? PlanUpdate.safeParse(update).data?.plan;
    if (plan === undefined) return [];
    plans += 1;
    const id = `plan-${getTurn()}-${plans}`;
    const todos = plan.entries.map(({ content, status }) => ({ content, status, activeForm: content }));
    return [
      ...flushText(),
      ...sayTools(),
      say("agent.tool_use", { tool: "TodoWrite", tool_use_id: id, input: { todos } }),
      say("agent.tool_result", {
        tool: "TodoWrite",
        tool_use_id: id,
        result: "Todos updated.",
        result_truncated: false,
        result_full_length: 14,
        is_error: false,
        duration_ms: 0,
      }),
    ];
  };

  const tellOther = (update: SessionUpdate): readonly AgentEvent[] => [
    ...flushText(),
    ...sayTools(),
    say("agent.system_message", { metadata: toDetail(update) }),
  ];

  const tellUsage = (update: SessionUpdate): readonly AgentEvent[] => {
    const { cost } = UsageUpdate.parse(update);
    if (cost !== undefined && cost.currency === "USD") costUsd = cost.amount;
    return [];
  };

  const tellChunk = (kind: Said["kind"]) => (update: SessionUpdate) => {
    const chunk = Chunk.safeParse(update);
    if (!chunk.success) return [];
    return [...sayTools(), ...tellText(kind, toBlockText(chunk.data.content))];
  };

  const tellUser = (update: SessionUpdate): readonly AgentEvent[] => {
    const chunk = Chunk.safeParse(update);
    const content = chunk.success ? toBlockText(chunk.data.content) : "";
    return content === ""
      ? []
      : [...flushText(), say("agent.user_message", { content, content_length: content.length })];
  };

  const TELLERS: ReadonlyMap<string, (update: SessionUpdate) => readonly AgentEvent[]> = new Map([
    ["agent_message_chunk", tellChunk("message")],
    ["agent_thought_chunk", tellChunk("thinking")],
    ["user_message_chunk", tellUser],
    ["tool_call", tellTool],
    ["tool_call_update", tellTool],
    ["plan", tellPlan],
    ["plan_update", tellPlan],
    ["usage_update", tellUsage],
  ]);

  return {
    tell: (update) => (TELLERS.get(update.sessionUpdate) ?? tellOther)(update),
    introduce(call) {
      const { open, events } = openTool(call);
      const whole = open?.call ?? call;
      return {
        events: [...events, ...(open === undefined ? [] : sayTool(open))],
        tool: toTool(whole),
        input: toInput(whole),
      };
    },
    stop: () => void (isStopping = true),
    finish(why) {
      const left = [...tools.values()];
      const events = [...flushText(), ...left.flatMap((open) => closeTool(open, why, true))];
      ended.clear();
      // The agent may tell later how they ended; it was told already.
      for (const { id } of left) ended.add(id);
      isStopping = false;
      return events;
    },
    get lastText() {
      const isSaying = said?.kind === "message" && said.text.trim() !== "";
      return isSaying ? (said?.text ?? "").slice(-LAST_TEXT_CHARACTERS) : lastText;
    },
    get costUsd() {
      return costUsd;
    },
  };
}
