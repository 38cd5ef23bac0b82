/** What is said: by the agent, by people, by the guardian; and how far each message came. */
import { MessageState, SentType } from "../resources/message.ts";
import type { FeedDraft } from "./feed-draft.ts";
import { toRowStart } from "./feed-draft.ts";
import type { PersonRow } from "./feed-row.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readText } from "./log-event.ts";

/** The server quotes this many characters of a message in its event. */
const QUOTED_CHARACTERS = 100;

const toMessageType = (name: string | null): SentType => {
  const parsed = SentType.safeParse(name);
  return parsed.success ? parsed.data : "user_message";
};

export function foldSaid(kind: "message" | "thinking") {
  return (draft: FeedDraft, event: LogEvent): void => {
    const text = readText(event.event_data, "content", "text", "thinking") ?? "";
    draft.push({ ...toRowStart(event), kind, text });
  };
}

const findMessage = (
  draft: FeedDraft,
  event: LogEvent,
): { id: string | null; at: number | undefined; row: PersonRow | undefined } => {
  const id = readText(event.event_data, "message_id");
  const at = id === null ? undefined : draft.index.rowOfMessage.get(id);
  const row = at === undefined ? undefined : draft.rows[at];
  return { id, at, row: row?.kind === "person" ? row : undefined };
};

/** A message as it was queued, or as the agent received it: one row whichever comes first. */
export function foldAddressed(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const text = readText(data, "content", "message", "text") ?? "";
  const isQueued = event.event_type.endsWith("MESSAGE_QUEUED");
  const { id, at, row } = findMessage(draft, event);
  if (at !== undefined && row !== undefined) {
    const isFuller = text.length > row.text.length;
    const turn = readNumber(data, "turn") ?? row.turn;
    draft.replace(at, {
      ...row,
      lastSeq: event.sandbox_seq,
      turn,
      ...(isFuller ? { text } : {}),
      isCut: row.isCut && isQueued,
    });
    return;
  }
  const placed = draft.push({
    ...toRowStart(event),
    kind: "person",
    messageId: id,
    messageType: toMessageType(readText(data, "message_type")),
    text,
    isCut: isQueued && text.length >= QUOTED_CHARACTERS,
    steps: isQueued ? [{ state: "queued", at: event.created_at }] : [],
    detail: null,
  });
  if (id !== null) draft.index.rowOfMessage.set(id, placed);
}

export function foldMessageState(draft: FeedDraft, event: LogEvent): void {
  const { at, row } = findMessage(draft, event);
  const state = MessageState.safeParse(readText(event.event_data, "state", "to", "status"));
  if (at === undefined || row === undefined || !state.success) {
    draft.placed = at ?? Math.max(0, draft.rows.length - 1);
    return;
  }
  const steps = [...row.steps, { state: state.data, at: event.created_at }];
  const turn = readNumber(event.event_data, "turn") ?? row.turn;
  draft.replace(at, {
    ...row,
    lastSeq: event.sandbox_seq,
    turn,
    steps,
    detail: readText(event.event_data, "detail") ?? row.detail,
  });
}
