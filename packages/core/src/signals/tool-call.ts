/** Tool calls and their results as supervision compares them: the same call has the same print, whoever made it. */
import type { Json, JsonObject } from "@drover/contract";
import { isWait } from "../shell-commands.ts";
import type { SeenEvent } from "../watch-facts.ts";

const PRINT_CHARACTERS = 2_000;
const HASH_PRIME = 16_777_619;

/** FNV-1a: short, quick and the same everywhere; a collision costs a wrong comparison among the last few calls. */
function toPrint(text: string): string {
  let hash = 2_166_136_261;
  for (let index = 0; index < Math.min(text.length, PRINT_CHARACTERS); index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), HASH_PRIME);
  return `${(hash >>> 0).toString(36)}.${text.length.toString(36)}`;
}

/** Tools that ask how far something has come that runs beside the agent. */
const WAITING_TOOL = /^(?:Bash|Task|Agent|Shell|Process|Command)_?(?:Output|Status|Wait)|^(?:sleep|wait|wait_for\w*)$/i;

const isRecord = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Keys in order and white space folded, so that what differs only in writing is equal. */
function toCanonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map((one) => toCanonical(one)).join(",")}]`;
  if (isRecord(value))
    return `{${Object.keys(value)
      .filter((key) => key !== "description")
      .toSorted()
      .map((key) => `${key}:${toCanonical(value[key])}`)
      .join(",")}}`;
  return typeof value === "string" ? value.replaceAll(/\s+/g, " ").trim() : JSON.stringify(value ?? null);
}

/** What differs at every run and says nothing new: times of day, dates, durations, addresses in memory, process numbers. */
const UNSTEADY =
  /\d{4}-\d\d-\d\d|\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?|0x[0-9a-f]+|\d+(?:\.\d+)? ?(?:ms|s|sec|secs|seconds|min|mins|minutes|µs|us|ns)\b|\bpid \d+/gi;
const toSteady = (text: string): string => text.replaceAll(UNSTEADY, "#");

export const CALLS: ReadonlySet<string> = new Set(["agent.tool_use", "agent.subagent_invoked", "agent.skill_invoked"]);
export const RESULTS: ReadonlySet<string> = new Set(["agent.tool_result", "agent.user_tool_result"]);

const readText = (data: JsonObject, ...keys: readonly string[]): string | undefined => {
  for (const key of keys) if (typeof data[key] === "string") return data[key];
  return undefined;
};

export interface ToolCall {
  readonly id: string;
  readonly tool: string;
  readonly print: string;
  /** The command of a shell call. */
  readonly command: string | undefined;
  /** It waits for something, or looks whether that is done: to do so again is no loop. */
  readonly isWaiting: boolean;
}

function parseToolCall(event: SeenEvent): ToolCall {
  const data = event.event_data;
  const tool = readText(data, "tool", "tool_name") ?? "tool";
  const input = data["input"] ?? data["tool_input"] ?? null;
  const command = isRecord(input) ? readText(input, "command", "cmd", "script") : undefined;
  return {
    id: readText(data, "tool_use_id") ?? `seq:${event.seq}`,
    tool,
    print: toPrint(`${tool} ${toCanonical(input)}`),
    command,
    isWaiting: WAITING_TOOL.test(tool) || (command !== undefined && isWait(command)),
  };
}

/** Several detectors ask for the same event, one after another. */
const calls = new WeakMap<SeenEvent, ToolCall>();

export function toToolCall(event: SeenEvent): ToolCall | undefined {
  if (!CALLS.has(event.event_type)) return undefined;
  const call = calls.get(event) ?? parseToolCall(event);
  calls.set(event, call);
  return call;
}

export interface ToolResult {
  readonly id: string | undefined;
  readonly isError: boolean;
  readonly print: string;
}

function parseToolResult(event: SeenEvent): ToolResult {
  const data = event.event_data;
  const result = data["result"] ?? data["content"] ?? "";
  return {
    id: readText(data, "tool_use_id"),
    isError: data["is_error"] === true,
    print: toPrint(toSteady(typeof result === "string" ? result : toCanonical(result))),
  };
}

const results = new WeakMap<SeenEvent, ToolResult>();

export function toToolResult(event: SeenEvent): ToolResult | undefined {
  // What the model was given of a result that was told already is no second one.
  if (!RESULTS.has(event.event_type) || event.event_data["told_as"] !== undefined) return undefined;
  const result = results.get(event) ?? parseToolResult(event);
  results.set(event, result);
  return result;
}

export const isEdit = (event: SeenEvent): boolean => event.event_type === "agent.file_edited";
/** Somebody told the agent something new: what it did before is no pattern any more. */
export const isFreshStart = (event: SeenEvent): boolean =>
  event.event_type === "agent.message_injected" || event.event_type === "agent.started";
