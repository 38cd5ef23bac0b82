/** One event as one line for people. */
import type { LogEvent } from "@drover/client";
import { toActivityLine } from "@drover/contract/views";
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

/** What a program printed and what a tool answered, by the type that tells it. */
const SAYING: Readonly<Record<string, string>> = { "command.output": "chunk", "agent.tool_result": "result" };

/** What has neither sentence nor text of its own is shown as it is. */
function toRest({ event_type: type, event_data: data }: LogEvent): string {
  const said = data[SAYING[type] ?? ""];
  if (typeof said === "string") return said.trim() === "" ? "(nothing)" : said;
  return Object.keys(data).length === 0 ? "" : JSON.stringify(data);
}
