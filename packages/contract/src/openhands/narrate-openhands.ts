/** Turns the events of an OpenHands conversation into Drover's events. */
import type { OpenHandsEvent } from "./openhands-event.ts";

const RESULT_CHARACTERS = 5_000;
const LAST_TEXT_CHARACTERS = 2_000;

/** Their tools under the names that our readers know. */
const TOOLS: Readonly<Record<string, string>> = {
  terminal: "Bash",
  TerminalTool: "Bash",
  execute_bash: "Bash",
  file_editor: "Edit",
  FileEditorTool: "Edit",
  str_replace_editor: "Edit",
  task_tracker: "TodoWrite",
};

/** What is told; its turn is among the data. */
export interface ToldEvent {
  readonly event_type: string;
  readonly event_data: Readonly<Record<string, unknown>>;
}

/** An action without a result. */
export interface OpenAction {
  /** The event's id, by which its result names it. */
  readonly key: string;
  readonly id: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly startedMs: number;
}

export interface OpenHandsNarrator {
  tell(event: OpenHandsEvent): readonly ToldEvent[];
  /** Actions without a result: what a confirmation is asked for. */
  listOpen(): readonly OpenAction[];
  finish(why: string): readonly ToldEvent[];
  readonly lastText: string;
}

const toText = (contents: readonly { readonly text?: string | undefined }[] | undefined): string =>
  (contents ?? []).map(({ text }) => text ?? "").join("");

function toInput(event: OpenHandsEvent): Readonly<Record<string, unknown>> {
  const { kind: _kind, ...action } = event.action ?? {};
  if (Object.keys(action).length > 0) return action;
  try {
    const given: unknown = JSON.parse(event.tool_call?.arguments ?? "{}");
    return typeof given === "object" && given !== null ? { ...given } : { arguments: given };
  } catch {
    return { arguments: event.tool_call?.arguments };
  }
}

function toResult({ observation, error, rejection_reason: rejected }: OpenHandsEvent): {
  text: string;
  isError: boolean;
} {
  if (observation === undefined) return { text: error ?? `Rejected: ${rejected ?? ""}`, isError: true };
  const text = toText(observation.content) || (observation.output ?? observation.error ?? "");
  const isFailed = observation.exit_code !== undefined && observation.exit_code > 0;
  return { text, isError: observation.is_error === true || observation.error !== undefined || isFailed };
}

export function createOpenHandsNarrator(
  getTurn: () => number,
  nowMs: () => number,
  /** Those that an earlier narrator had left open. */
  opened: readonly OpenAction[] = [],
): OpenHandsNarrator {
  const open = new Map(opened.map((action) => [action.key, action]));
  let lastText = "";
  const say = (type: string, data: Readonly<Record<string, unknown>>): ToldEvent => ({
    event_type: type,
    event_data: { turn: getTurn(), ...data },
  });
  const sayText = (text: string): ToldEvent[] => {
    if (text.trim() === "") return [];
    lastText = text.slice(-LAST_TEXT_CHARACTERS);
    return [say("agent.message", { content: text, content_length: text.length })];
  };
  const sayThought = (text: string | undefined): ToldEvent[] =>
    text === undefined || text.trim() === ""
      ? []
      : [say("agent.thinking", { content: text, thinking_type: "reasoning" })];

  const tellAction = (event: OpenHandsEvent): readonly ToldEvent[] => {
    const thought = typeof event.thought === "string" ? event.thought : toText(event.thought);
    const said = [...sayThought(event.reasoning_content), ...sayText(thought)];
    if (event.action?.kind === "FinishAction") return [...said, ...sayText(event.action.message ?? "")];
    if (event.action?.kind === "ThinkAction") return [...said, ...sayThought(event.action.thought)];
    const id = event.tool_call_id ?? event.id;
    const name = event.tool_name ?? event.action?.kind ?? "tool";
    const action = { key: event.id, id, tool: TOOLS[name] ?? name, input: toInput(event), startedMs: nowMs() };
    open.set(event.id, action);
    return [...said, say("agent.tool_use", { tool: action.tool, tool_use_id: id, input: action.input })];
  };

  const close = (key: string, action: OpenAction, text: string, isError: boolean): ToldEvent => {
    open.delete(key);
    return say("agent.tool_result", {
      tool: action.tool,
      tool_use_id: action.id,
      result: text.slice(0, RESULT_CHARACTERS),
      result_truncated: text.length > RESULT_CHARACTERS,
      result_full_length: text.length,
      is_error: isError,
      duration_ms: Math.max(0, Math.round(nowMs() - action.startedMs)),
    });
  };

  const tellResult = (event: OpenHandsEvent): readonly ToldEvent[] => {
    const found = [...open].find(([key, action]) => key === event.action_id || action.id === event.tool_call_id);
    const { text, isError } = toResult(event);
    if (found !== undefined) return [close(found[0], found[1], text, isError)];
    return event.kind === "AgentErrorEvent" ? [say("agent.error", { error: text })] : [];
  };

  const tellMessage = (event: OpenHandsEvent): readonly ToldEvent[] =>
    event.source === "agent" || event.llm_message?.role === "assistant"
      ? [...sayThought(event.llm_message?.reasoning_content), ...sayText(toText(event.llm_message?.content))]
      : [];

  const TELLERS: ReadonlyMap<string, (event: OpenHandsEvent) => readonly ToldEvent[]> = new Map([
    ["MessageEvent", tellMessage],
    ["ActionEvent", tellAction],
    ["ObservationEvent", tellResult],
    ["AgentErrorEvent", tellResult],
    ["UserRejectObservation", tellResult],
    // Its words come again with the message; its state and what it is told to be are no news.
    ["StreamingDeltaEvent", () => []],
    ["ConversationStateUpdateEvent", () => []],
    ["SystemPromptEvent", () => []],
    ["TokenEvent", () => []],
    ["LLMCompletionLogEvent", () => []],
  ]);

  return {
    tell: (event) =>
      TELLERS.get(event.kind)?.(event) ?? [
        say("agent.system_message", { metadata: { subtype: event.kind, code: event.code, detail: event.detail } }),
      ],
    listOpen: () => [...open.values()],
    finish: (why) => [...open].map(([key, action]) => close(key, action, why, true)),
    get lastText() {
      return lastText;
    },
  };
}
