/** Messages on their way: shown at once beside the log, and gone when the log shows them. Matched by id. */
import type { PersonRow } from "@drover/contract/views";
import type { MessageType } from "@drover/contract";
import { ClientError, newKey } from "@drover/client";
import { create } from "zustand";
import { client } from "./client.ts";

export interface Outgoing {
  /** Idempotency key: sent again under it, a message is still one message. */
  readonly key: string;
  readonly sandboxId: string;
  readonly text: string;
  readonly messageType: Extract<MessageType, "user_message" | "interrupt">;
  /** Into the turn that runs, or kept for the next one. */
  readonly delivery: "steer" | "queue";
  readonly at: string;
  /** The newest event known when it was sent: its echo comes later. */
  readonly afterSeq: number;
  readonly status: "sending" | "queued" | "failed";
  readonly messageId: string | null;
  readonly error: string | null;
}

const QUOTED_CHARACTERS = 100;

export const useOutbox = create<{ readonly messages: readonly Outgoing[] }>()(() => ({ messages: [] }));

const change = (key: string, part: Partial<Outgoing>): void =>
  useOutbox.setState(({ messages }) => ({
    messages: messages.map((message) => (message.key === key ? { ...message, ...part } : message)),
  }));

export const dropOutgoing = (key: string): void =>
  useOutbox.setState(({ messages }) => ({ messages: messages.filter((message) => message.key !== key) }));

const toReason = (error: unknown): string => {
  if (!(error instanceof ClientError)) return "Something unexpected went wrong in this page.";
  if (error.code === "client.unreachable") return "The server does not answer.";
  return error.problem?.detail ?? error.message;
};

async function post(message: Outgoing): Promise<void> {
  change(message.key, { status: "sending", error: null });
  await client
    .sendMessage(
      {
        params: { sandbox_id: message.sandboxId },
        body: { content: message.text, message_type: message.messageType, delivery: message.delivery },
      },
      { idempotencyKey: message.key, retries: 1 },
    )
    .then((reply) => change(message.key, { status: "queued", messageId: reply.message_id }))
    .catch((error: unknown) => change(message.key, { status: "failed", error: toReason(error) }));
}

export function sendMessage(
  given: Pick<Outgoing, "sandboxId" | "text" | "messageType" | "delivery" | "afterSeq">,
): void {
  const message: Outgoing = {
    ...given,
    key: newKey(),
    at: new Date().toISOString(),
    status: "sending",
    messageId: null,
    error: null,
  };
  useOutbox.setState(({ messages }) => ({ messages: [...messages, message] }));
  void post(message);
}

export function resend(key: string): void {
  const message = useOutbox.getState().messages.find((one) => one.key === key);
  if (message !== undefined) void post(message);
}

/** The echo may be faster than the reply that tells the id: until then its quoted text stands for it, to hide, never to drop. */
export function isEchoed(message: Outgoing, echoes: readonly PersonRow[]): boolean {
  if (message.messageId !== null) return echoes.some((echo) => echo.messageId === message.messageId);
  if (message.status !== "sending") return false;
  const quoted = message.text.slice(0, QUOTED_CHARACTERS);
  return echoes.some(
    (echo) =>
      echo.seq > message.afterSeq &&
      echo.messageType === message.messageType &&
      echo.text.startsWith(quoted.slice(0, 90)),
  );
}

const DRAFT = "drover.draft.";

export const readDraft = (sandboxId: string): string => localStorage.getItem(DRAFT + sandboxId) ?? "";

export function keepDraft(sandboxId: string, text: string): void {
  if (text === "") localStorage.removeItem(DRAFT + sandboxId);
  else localStorage.setItem(DRAFT + sandboxId, text);
}
