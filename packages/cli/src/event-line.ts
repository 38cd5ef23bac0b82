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

/** What has no sentence of its own is shown as it is. */
const toRest = (event: LogEvent): string =>
  Object.keys(event.event_data).length === 0 ? "" : JSON.stringify(event.event_data);
