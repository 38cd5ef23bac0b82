/** An event of one sandbox's log, the same whether it was read or streamed. */
import { EventSource, type EventFrame, type JsonObject, type StoredEvent } from "@drover/contract";

export interface LogEvent {
  readonly id: string;
  readonly seq: number;
  /** Dense: 1, 2, 3, ... within the sandbox. */
  readonly sandbox_seq: number;
  /** As stored, without the published prefix. */
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly source: EventSource;
  readonly created_at: string;
}

function fromStored(event: StoredEvent): LogEvent | undefined {
  const { id, seq, sandbox_seq, event_type, event_data, source, created_at } = event;
  return sandbox_seq === null ? undefined : { id, seq, sandbox_seq, event_type, event_data, source, created_at };
}

function fromFrame(frame: EventFrame): LogEvent | undefined {
  const { id, seq, sandbox_seq, ts, payload } = frame;
  if (sandbox_seq === null) return undefined;
  const { source, original_event_type, ...event_data } = payload;
  const event_type =
    typeof original_event_type === "string" ? original_event_type : frame.event_type.replace(/^SANDBOX_/, "");
  return {
    id,
    seq,
    sandbox_seq,
    event_type,
    event_data,
    source: EventSource.catch("server").parse(source),
    created_at: ts,
  };
}

/** Undefined for what is about a sandbox without being a row of its log: that has no `sandbox_seq`. */
export const toLogEvent = (event: StoredEvent | EventFrame): LogEvent | undefined =>
  event["type"] === "event" ? fromFrame(event as EventFrame) : fromStored(event as StoredEvent);
