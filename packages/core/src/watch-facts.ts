/** What the watch over a run remembers of its log: when it last worked, beat, finished, and what it waits for. */
import type { JsonObject } from "@drover/contract";
import { isHeartbeat } from "./event-traits.ts";
import { isWork } from "./follow-event.ts";

/** An event as supervision reads it. Times are milliseconds, so that what is folded can be stored as JSON. */
export interface SeenEvent {
  readonly seq: number;
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly source: string;
  readonly atMs: number;
}

export interface WatchFacts {
  readonly contactMs: number | null;
  readonly beat: { readonly atMs: number; readonly status: string; readonly tool: string | null } | null;
  readonly workMs: number | null;
  /** When the work was last said to be over; null as soon as there is work again. */
  readonly completedMs: number | null;
  readonly messageMs: number | null;
  /** Questions and permissions that nobody has answered, by their ids. */
  readonly open: Readonly<Record<string, { readonly seq: number; readonly atMs: number }>>;
}

export const NO_WATCH_FACTS: WatchFacts = {
  contactMs: null,
  beat: null,
  workMs: null,
  completedMs: null,
  messageMs: null,
  open: {},
};

const WORKER_SOURCES: ReadonlySet<string> = new Set(["agent", "worker", "system"]);
const COMPLETIONS: ReadonlySet<string> = new Set(["agent.completed", "agent.failed"]);
/** Somebody spoke: whoever is quiet has been so only since. */
const MESSAGES: ReadonlySet<string> = new Set(["MESSAGE_QUEUED", "agent.message_injected"]);
/** How a message's way into the agent is told. */
const HEARD: ReadonlySet<string> = new Set([...MESSAGES, "agent.processing"]);
const OPEN_LIMIT = 50;

const toText = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

export function foldOpen(open: WatchFacts["open"], event: SeenEvent): WatchFacts["open"] {
  const id = toText(event.event_data["request_id"]);
  if (id === null) return open;
  if (event.event_type === "agent.permission_requested" && Object.keys(open).length < OPEN_LIMIT)
    return { ...open, [id]: { seq: event.seq, atMs: event.atMs } };
  if (event.event_type !== "agent.permission_answered") return open;
  return Object.fromEntries(Object.entries(open).filter(([key]) => key !== id));
}

/** What supervision itself says moves nothing: else an agent that answers no nudge would never be quiet for long. */
const isOwnWord = (event: SeenEvent): boolean =>
  HEARD.has(event.event_type) && event.event_data["message_type"] === "guardian_nudge";

export function foldWatch(facts: WatchFacts, event: SeenEvent): WatchFacts {
  const isFromWorker = WORKER_SOURCES.has(event.source);
  const isAtWork = isFromWorker && isWork(event.event_type) && !isOwnWord(event);
  const isBeat = isHeartbeat(event.event_type);
  return {
    contactMs: isFromWorker ? event.atMs : facts.contactMs,
    beat: isBeat
      ? {
          atMs: event.atMs,
          status: toText(event.event_data["status"]) ?? "alive",
          tool: toText(event.event_data["tool"]),
        }
      : facts.beat,
    workMs: isAtWork ? event.atMs : facts.workMs,
    completedMs: COMPLETIONS.has(event.event_type) ? event.atMs : isAtWork ? null : facts.completedMs,
    messageMs: MESSAGES.has(event.event_type) && !isOwnWord(event) ? event.atMs : facts.messageMs,
    open: foldOpen(facts.open, event),
  };
}
