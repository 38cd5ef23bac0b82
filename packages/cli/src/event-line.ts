/** One event as one line for people. */
import type { LogEvent } from "@drover/client";
import { readNumber, readText, toActivityLine } from "@drover/contract/views";
import { toUsd } from "./money.ts";
import { cut, toSafeLine, type Paint } from "./terminal.ts";

const TYPE_WIDTH = 24;

const isError = (type: string) => /error|failed|crash/i.test(type);

/** Number, time of day in UTC, type, and what it says; no wider than `width`. */
export function formatEvent(event: LogEvent, width: number, paint: Paint): string {
  const type = toSafeLine(event.event_type);
  const left = `${String(event.sandbox_seq).padStart(5)}  ${event.created_at.slice(11, 19)}  ${cut(type, TYPE_WIDTH).padEnd(TYPE_WIDTH)}`;
  const said = toSafeLine(toActivityLine(event) ?? toRest(event));
  const line = cut(`${left}  ${said}`.trimEnd(), width);
  return isError(type) ? paint.red(line) : line;
}

type Data = LogEvent["event_data"];

/** What a program printed, or a tool answered. */
const sayOutput = (name: string) => (data: Data) => {
  const text = data[name];
  return typeof text !== "string" ? null : text.trim() === "" ? "(nothing)" : text;
};

function sayUsage(data: Data): string | null {
  const [input, output] = [readNumber(data, "input_tokens"), readNumber(data, "output_tokens")];
  if (input === null || output === null) return null;
  const cached = (readNumber(data, "cache_read_tokens") ?? 0) + (readNumber(data, "cache_write_tokens") ?? 0);
  const parts = [`${input} in`, ...(cached === 0 ? [] : [`${cached} cached`]), `${output} out`];
  return `${toUsd(readNumber(data, "cost_usd"))} · ${parts.join(", ")} · ${readText(data, "model") ?? "?"}`;
}

function sayBeat(data: Data): string | null {
  const [tool, age] = [readText(data, "tool"), readNumber(data, "tool_age_s")];
  const status = readText(data, "status");
  return status === null || tool === null ? status : `${status} · ${tool} for ${age ?? 0} s`;
}

/** The state that a message has come to, or what was decided of a request. */
function sayStep(data: Data): string | null {
  const [step, by, turn] = [readText(data, "state", "decision"), readText(data, "by"), readNumber(data, "turn")];
  if (step === null) return null;
  return by === null ? `${step}${turn === null ? "" : ` in turn ${turn}`}` : `${step} by ${by}`;
}

/** What is no move of the agent and is told to people all the same. */
const SAYING: ReadonlyMap<string, (data: Data) => string | null> = new Map([
  ["command.output", sayOutput("chunk")],
  ["agent.tool_result", sayOutput("result")],
  ["agent.usage", sayUsage],
  ["agent.heartbeat", sayBeat],
  ["agent.permission_answered", sayStep],
  ["MESSAGE_STATE_CHANGED", sayStep],
]);

/** What has neither sentence nor text of its own is shown as it is. */
function toRest({ event_type: type, event_data: data }: LogEvent): string {
  return SAYING.get(type)?.(data) ?? (Object.keys(data).length === 0 ? "" : JSON.stringify(data));
}
