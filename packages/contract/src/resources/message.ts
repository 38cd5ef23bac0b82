/** A message: something sent to a running agent, with a receipt that says how far it came. */
import { z } from "zod";
import { MessageId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";

/** What people and programs send. */
export const SentType = z.enum(["user_message", "interrupt", "guardian_nudge", "system"]);
export type SentType = z.infer<typeof SentType>;

/** `permission_answer` is written by the server when a person answers a request; its content is a `PermissionMessage`. */
export const MessageType = z.enum([...SentType.options, "permission_answer"]);
export type MessageType = z.infer<typeof MessageType>;

/** Other names that documents use, stored as their meaning. */
const MESSAGE_ALIASES: Readonly<Record<string, SentType>> = {
  guidance: "user_message",
  guardian_intervention: "guardian_nudge",
  diagnostic_recovery: "system",
};

export const MESSAGE_LIMIT_CHARACTERS = 10_000;

const countCharacters = (text: string) => {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
};

export const NewMessage = z.strictObject({
  content: z
    .string()
    .min(1)
    .refine(
      (text) => countCharacters(text) <= MESSAGE_LIMIT_CHARACTERS,
      `must be at most ${MESSAGE_LIMIT_CHARACTERS} characters`,
    ),
  message_type: z
    .enum([...SentType.options, "guidance", "guardian_intervention", "diagnostic_recovery"])
    .default("user_message")
    .transform((name): SentType => MESSAGE_ALIASES[name] ?? SentType.parse(name)),
  delivery: z.enum(["steer", "queue"]).default("steer"),
});
export type NewMessage = z.infer<typeof NewMessage>;

export const QueuedMessage = z.object({
  status: z.literal("queued"),
  message_id: MessageId,
  sandbox_id: SandboxId,
  queue_size: z.int().nonnegative(),
});
export type QueuedMessage = z.infer<typeof QueuedMessage>;

/** What the worker reads. */
export const InboxMessage = z.looseObject({
  id: MessageId,
  content: z.string(),
  message_type: MessageType,
  timestamp: Timestamp,
  delivery: z.enum(["steer", "queue"]),
  /** Who sent it: the id of a person's token, or `guardian`, `server`. */
  sender_id: z.string().nullable().optional(),
});
export type InboxMessage = z.infer<typeof InboxMessage>;

export const MessageState = z.enum(["queued", "leased", "delivered", "seen", "failed", "expired"]);
export type MessageState = z.infer<typeof MessageState>;

export const MessageAck = z.strictObject({
  status: z.enum(["delivered", "seen", "failed"]),
  turn: z.int32().nonnegative().optional(),
  detail: z.string().max(2_000).optional(),
});
export type MessageAck = z.infer<typeof MessageAck>;

export const AckReceipt = z.object({ message_id: MessageId, state: MessageState });

export const MessageRecord = z.object({
  id: MessageId,
  sandbox_id: SandboxId,
  content: z.string(),
  message_type: MessageType,
  delivery: z.enum(["steer", "queue"]),
  priority: z.enum(["high", "normal"]),
  state: MessageState,
  sender: z.string().nullable(),
  turn: z.int().nullable(),
  detail: z.string().nullable(),
  timestamp: Timestamp,
  queued_at: Timestamp,
  leased_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  seen_at: Timestamp.nullable(),
  ended_at: Timestamp.nullable(),
});
export type MessageRecord = z.infer<typeof MessageRecord>;
