/** Says of every event all that its type promises, whatever agent it is of: what nobody knows is null, and not left out. */
import { WORKER_EVENTS } from "@drover/contract";
import type { AgentEvent } from "./agent-runtime.ts";

/** Other workers tell all uses of tools by one type and say the kind beside it. */
const KIND = "event_subtype";
const AGENT = "agent.";

export function fillEvent(event: AgentEvent): AgentEvent {
  const { event_type: type, event_data: data } = event;
  const missing = (WORKER_EVENTS[type]?.fields ?? []).filter((field) => data[field] === undefined);
  if (missing.length === 0) return event;
  const filled = missing.map((field) => [field, field === KIND ? type.slice(AGENT.length) : null]);
  return { ...event, event_data: { ...data, ...Object.fromEntries(filled) } };
}
