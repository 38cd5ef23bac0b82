/** What the log keeps of an event beside its body, so that lists, spine and filters need not open it. */
import { SPINE_FLAGS, type JsonObject } from "@drover/contract";

export interface EventTraits {
  readonly turn: number | null;
  readonly tool: string | null;
  readonly ref: string | null;
  readonly flags: number;
}

export const HEARTBEATS: ReadonlySet<string> = new Set(["agent.heartbeat", "heartbeat", "spec.heartbeat"]);
const TOOL_EVENTS: ReadonlySet<string> = new Set([
  "agent.tool_use",
  "agent.tool_result",
  "agent.user_tool_result",
  "agent.tool_completed",
]);
const ERROR_EVENTS = /\.(?:error|failed|stream_error|phase_failed|execution_failed)$/;
const POSITIVE_INT_LIMIT = 2_147_483_647;
const NAME_LIMIT = 200;

export const isHeartbeat = (eventType: string): boolean => HEARTBEATS.has(eventType);

/** Cut between characters: half a surrogate pair could not be stored. */
const toName = (value: unknown): string | null =>
  typeof value === "string" && value !== "" ? value.slice(0, NAME_LIMIT).replace(/[\ud800-\udbff]$/, "") : null;

const toTurn = (value: unknown): number | null =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= POSITIVE_INT_LIMIT ? value : null;

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** Searches that say little about the run: Grep, and Glob over whole trees. Workers name the arguments either way. */
function isNoise(eventType: string, tool: string | null, data: JsonObject): boolean {
  if (!TOOL_EVENTS.has(eventType)) return false;
  if (tool === "Grep") return true;
  if (tool !== "Glob") return false;
  const input = data["input"] ?? data["tool_input"];
  const pattern = isRecord(input) ? input["pattern"] : undefined;
  return typeof pattern === "string" && pattern.includes("**");
}

export function toTraits(eventType: string, data: JsonObject, isFromServer: boolean): EventTraits {
  const tool = toName(data["tool"] ?? data["tool_name"]);
  const isError = ERROR_EVENTS.test(eventType) || data["is_error"] === true;
  return {
    turn: toTurn(data["turn"]),
    tool,
    ref: toName(data["tool_use_id"]),
    flags:
      (isHeartbeat(eventType) ? SPINE_FLAGS.heartbeat : 0) |
      (isNoise(eventType, tool, data) ? SPINE_FLAGS.noise : 0) |
      (isError ? SPINE_FLAGS.error : 0) |
      (eventType === "agent.file_edited" ? SPINE_FLAGS.edit : 0) |
      (isFromServer ? SPINE_FLAGS.server : 0),
  };
}
