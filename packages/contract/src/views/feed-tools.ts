/** Tool calls: a call and whatever answers it are one row; reads in a sequence are one row together. */
import type { Json, JsonObject } from "../json.ts";
import type { FeedDraft } from "./feed-draft.ts";
import { toRowStart } from "./feed-draft.ts";
import type { FeedRow, FileEdit, TodoItem, ToolCall } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";
import { isRecord, readList, readNumber, readRecord, readText, toPlainText } from "./log-event.ts";

const READ_TOOLS: ReadonlySet<string> = new Set([
  "read",
  "glob",
  "grep",
  "ls",
  "list",
  "search",
  "notebookread",
  "read_file",
  "list_dir",
]);
const COMMAND_TOOLS: ReadonlySet<string> = new Set([
  "bash",
  "shell",
  "execute",
  "execute_bash",
  "run_command",
  "terminal",
  "exec",
]);
const EDIT_TOOLS: ReadonlySet<string> = new Set([
  "edit",
  "write",
  "multiedit",
  "notebookedit",
  "apply_patch",
  "str_replace_editor",
  "write_file",
  "replace",
]);
const READS_IN_A_ROW = 100;

const isOneOf = (names: ReadonlySet<string>, tool: string) => names.has(tool.toLowerCase());

export const toCommand = (input: JsonObject): string => {
  const command = input["command"] ?? input["cmd"] ?? input["argv"];
  if (Array.isArray(command)) return (command as readonly Json[]).map((part) => toPlainText(part)).join(" ");
  return typeof command === "string" ? command : "";
};

/** What a call is about, in a few words: a path, a pattern, an address, a description. */
export function toSubject(call: Pick<ToolCall, "input">): string {
  const { input } = call;
  const command = toCommand(input);
  if (command !== "") return command;
  return (
    readText(
      input,
      "file_path",
      "path",
      "notebook_path",
      "pattern",
      "url",
      "query",
      "description",
      "skill",
      "prompt",
      "name",
    ) ?? ""
  );
}

const toTodo = (item: Json): TodoItem | null => {
  if (!isRecord(item)) return typeof item === "string" ? { text: item, state: "open" } : null;
  const text = readText(item, "content", "text", "title", "step");
  if (text === null) return null;
  const status = readText(item, "status", "state") ?? "";
  const state = /^(?:completed|done)$/.test(status)
    ? "done"
    : /^(?:in_progress|active|running)$/.test(status)
      ? "active"
      : "open";
  return { text, state };
};

const toTodos = (input: JsonObject): readonly TodoItem[] =>
  [...readList(input, "todos"), ...readList(input, "plan"), ...readList(input, "items")]
    .map(toTodo)
    .filter((item) => item !== null);

const isTodoTool = (tool: string, input: JsonObject) => /todo|update_plan/i.test(tool) && toTodos(input).length > 0;

const toCall = (event: LogEvent): ToolCall => ({
  seq: event.sandbox_seq,
  toolUseId: readText(event.event_data, "tool_use_id"),
  tool: readText(event.event_data, "tool", "tool_name") ?? "Tool",
  input: readRecord(event.event_data, "input", "tool_input"),
  startedAt: event.created_at,
  endedAt: null,
  output: null,
  outputLength: null,
  isError: false,
  exitCode: null,
  durationMs: null,
});

function toToolRow(event: LogEvent, call: ToolCall): FeedRow {
  const start = toRowStart(event);
  if (isTodoTool(call.tool, call.input)) return { ...start, kind: "todo", items: toTodos(call.input) };
  if (isOneOf(READ_TOOLS, call.tool)) return { ...start, kind: "reads", calls: [call] };
  if (isOneOf(EDIT_TOOLS, call.tool)) return { ...start, kind: "edit", call, edits: [] };
  const command = toCommand(call.input);
  if (command !== "" || isOneOf(COMMAND_TOOLS, call.tool)) return { ...start, kind: "command", call, command };
  return { ...start, kind: "tool", call };
}

function placeCall(draft: FeedDraft, event: LogEvent, call: ToolCall): number {
  const row = toToolRow(event, call);
  const at = draft.lastLoud();
  const before = draft.rows[at];
  const isNext = before?.kind === "reads" && before.within === row.within && before.calls.length < READS_IN_A_ROW;
  if (row.kind === "reads" && isNext) {
    draft.replace(at, { ...before, lastSeq: event.sandbox_seq, calls: [...before.calls, call] });
    return at;
  }
  return draft.push(row);
}

export function foldToolUse(draft: FeedDraft, event: LogEvent): void {
  const call = toCall(event);
  const known = call.toolUseId === null ? undefined : draft.index.rowOfTool.get(call.toolUseId);
  if (known !== undefined) {
    changeCall(draft, known, event, (old) => ({
      ...old,
      input: Object.keys(call.input).length > 0 ? call.input : old.input,
    }));
    return;
  }
  const at = placeCall(draft, event, call);
  if (call.toolUseId !== null) draft.index.rowOfTool.set(call.toolUseId, at);
}

/** Rewrites the call that this event names, wherever it stands. */
function changeCall(draft: FeedDraft, at: number, event: LogEvent, change: (call: ToolCall) => ToolCall): void {
  const row = draft.rows[at];
  const id = readText(event.event_data, "tool_use_id");
  const lastSeq = event.sandbox_seq;
  switch (row?.kind) {
    case "tool":
      return draft.replace(at, { ...row, lastSeq, call: change(row.call) });
    case "command":
      return draft.replace(at, { ...row, lastSeq, call: change(row.call) });
    case "edit":
      return draft.replace(at, { ...row, lastSeq, call: row.call === null ? null : change(row.call) });
    case "reads":
      return draft.replace(at, {
        ...row,
        lastSeq,
        calls: row.calls.map((call) => (call.toolUseId === id ? change(call) : call)),
      });
    case "todo":
      return draft.replace(at, { ...row, lastSeq });
    default:
      draft.placed = at;
  }
}

const readExit = (data: JsonObject): number | null =>
  readNumber(data, "exit_code", "exitCode") ??
  readNumber(readRecord(data, "tool_response", "result", "output"), "exit_code", "exitCode", "code");

const readDuration = (data: JsonObject): number | null =>
  readNumber(data, "duration_ms", "subagent_duration_ms") ??
  readNumber(readRecord(data, "tool_response"), "duration_ms", "durationMs");

/** Read from a cache or written to it, a token was used. */
const readTokens = (data: JsonObject): number | null => {
  const usage = readRecord(data, "subagent_usage");
  const parts = ["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
  const told = parts.flatMap((part) => readNumber(usage, part) ?? []);
  return told.length === 0 ? null : told.reduce((sum, one) => sum + one, 0);
};

function finish(call: ToolCall, event: LogEvent): ToolCall {
  const data = event.event_data;
  const tokens = readTokens(data);
  const text = toPlainText(data["result"] ?? data["tool_response"] ?? data["output"] ?? data["subagent_result"]);
  const exitCode = readExit(data) ?? call.exitCode;
  // A hook and a result may both answer: the longer text is the fuller one.
  const output = text.length >= (call.output?.length ?? 0) ? text : call.output;
  return {
    ...call,
    input: Object.keys(call.input).length > 0 ? call.input : readRecord(data, "input", "tool_input"),
    endedAt: call.endedAt ?? event.created_at,
    output,
    outputLength: data["result_truncated"] === true ? readNumber(data, "result_full_length") : call.outputLength,
    isError:
      call.isError || data["is_error"] === true || data["success"] === false || (exitCode !== null && exitCode !== 0),
    exitCode,
    durationMs: readDuration(data) ?? call.durationMs,
    ...(tokens === null ? {} : { tokens }),
  };
}

export function foldToolEnd(draft: FeedDraft, event: LogEvent): void {
  const id = readText(event.event_data, "tool_use_id");
  const at = id === null ? undefined : draft.index.rowOfTool.get(id);
  if (at !== undefined) return changeCall(draft, at, event, (call) => finish(call, event));
  // An answer whose call is not here (yet): shown on its own rather than dropped.
  const placed = placeCall(draft, event, finish(toCall(event), event));
  if (id !== null) draft.index.rowOfTool.set(id, placed);
}

/** A result as the model was given it: beside one that was told already it adds nothing. */
export function foldResultGiven(draft: FeedDraft, event: LogEvent): void {
  if (readText(event.event_data, "told_as") === null) return foldToolEnd(draft, event);
  const id = readText(event.event_data, "tool_use_id");
  draft.placed = (id === null ? undefined : draft.index.rowOfTool.get(id)) ?? Math.max(0, draft.rows.length - 1);
}

export function foldCommandOutput(draft: FeedDraft, event: LogEvent): void {
  const id = readText(event.event_data, "tool_use_id");
  const at = id === null ? undefined : draft.index.rowOfTool.get(id);
  const chunk = readText(event.event_data, "chunk", "output") ?? "";
  if (at !== undefined)
    return changeCall(draft, at, event, (call) =>
      call.endedAt === null ? { ...call, output: (call.output ?? "") + chunk } : call,
    );
  const placed = draft.push({
    ...toRowStart(event),
    kind: "command",
    command: "",
    call: { ...toCall(event), tool: "Bash", output: chunk },
  });
  if (id !== null) draft.index.rowOfTool.set(id, placed);
}

export function foldFileEdited(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const full = readText(data, "full_diff");
  const edit: FileEdit = {
    eventId: event.id,
    path: readText(data, "file_path", "path") ?? "(unnamed file)",
    oldPath: readText(data, "old_path"),
    change: readText(data, "change_type") ?? "modified",
    added: readNumber(data, "lines_added") ?? 0,
    removed: readNumber(data, "lines_removed") ?? 0,
    patch: full ?? readText(data, "diff_preview") ?? "",
    isComplete: full !== null,
  };
  draft.edits.push(edit);
  const id = readText(data, "tool_use_id");
  const at = id === null ? undefined : draft.index.rowOfTool.get(id);
  const row = at === undefined ? undefined : draft.rows[at];
  if (at !== undefined && row?.kind === "edit") {
    draft.replace(at, { ...row, lastSeq: event.sandbox_seq, edits: [...row.edits, edit] });
    return;
  }
  const last = draft.lastLoud();
  const before = draft.rows[last];
  const isSameCall =
    before?.kind === "edit" &&
    before.call === null &&
    id !== null &&
    draft.index.rowOfTool.get(`edits of ${id}`) === last;
  if (isSameCall) {
    draft.replace(last, { ...before, lastSeq: event.sandbox_seq, edits: [...before.edits, edit] });
    return;
  }
  const placed = draft.push({ ...toRowStart(event), kind: "edit", call: null, edits: [edit] });
  if (id !== null) draft.index.rowOfTool.set(`edits of ${id}`, placed);
}
