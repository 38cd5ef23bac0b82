/** A message this page sent: shown at once, then followed by its id through the receipts in the log. */
import { MessageState, type NewMessage } from "@drover/contract";
import type { LogEvent } from "./log-event.ts";

export type SentState = "sending" | "queued" | "delivered" | "seen" | "failed" | "not-sent";

export interface SentMessage {
  /** Names the message before the server has; also its Idempotency-Key, so that a retry cannot make a twin. */
  readonly key: string;
  readonly content: string;
  readonly message_type: NewMessage["message_type"];
  readonly delivery: NewMessage["delivery"];
  readonly state: SentState;
  readonly message_id: string | undefined;
  /** The log has an event of it: a feed shows that one instead. */
  readonly isInLog: boolean;
  /** Why it was not sent, or why it failed. */
  readonly detail: string | undefined;
  readonly sent_at: number;
}

/** A receipt never goes back: a late or repeated one changes nothing. */
const RANK: Readonly<Record<SentState, number>> = {
  "not-sent": 0,
  sending: 1,
  queued: 2,
  delivered: 3,
  seen: 4,
  failed: 5,
};

const STATE_OF_RECEIPT: Readonly<Record<MessageState, SentState>> = {
  queued: "queued",
  leased: "queued",
  delivered: "delivered",
  seen: "seen",
  failed: "failed",
  expired: "failed",
};

export function foldReceipt(message: SentMessage, event: LogEvent): SentMessage {
  const { event_type: type, event_data: data } = event;
  if (type !== "MESSAGE_QUEUED" && type !== "MESSAGE_STATE_CHANGED") return message;
  if (message.message_id === undefined || data["message_id"] !== message.message_id) return message;
  const told = type === "MESSAGE_QUEUED" ? "queued" : MessageState.safeParse(data["state"]).data;
  const next = told === undefined ? message.state : STATE_OF_RECEIPT[told];
  const state = RANK[next] > RANK[message.state] ? next : message.state;
  const detail = state === "failed" && typeof data["detail"] === "string" ? data["detail"] : message.detail;
  if (state === message.state && detail === message.detail && message.isInLog) return message;
  return { ...message, state, detail, isInLog: true };
}
