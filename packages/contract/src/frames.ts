/** Frames of the live stream, both directions. */
import { z } from "zod";
import { EventFilter, EventFrame, NameList } from "./events/envelope.ts";

export const CLOSE = { credential: 4401, project: 4403, stalled: 1013, restarting: 1012 } as const;

export const SyncFrame = z.looseObject({ type: z.literal("sync"), from_seq: z.int(), through_seq: z.int() });
export const PingFrame = z.looseObject({ type: z.literal("ping") });
export const PongFrame = z.looseObject({ type: z.literal("pong"), head: z.int() });
export const SubscribedFrame = z.looseObject({ status: z.literal("subscribed"), filters: EventFilter });
export const ErrorFrame = z.looseObject({ error: z.string() });

export const ServerFrame = z.union([EventFrame, SyncFrame, PingFrame, PongFrame, SubscribedFrame, ErrorFrame]);
export type ServerFrame = z.infer<typeof ServerFrame>;

export const AuthFrame = z.looseObject({ type: z.literal("auth"), token: z.string().min(1).max(500) });

export const ClientFrame = z.discriminatedUnion("type", [
  AuthFrame,
  z.looseObject({ type: z.literal("subscribe"), ...EventFilter.shape }),
  z.looseObject({ type: z.literal("ping") }),
  z.looseObject({ type: z.literal("ack"), seq: z.int().nonnegative() }),
]);
export type ClientFrame = z.infer<typeof ClientFrame>;

const CommaList = z
  .string()
  .max(100_000)
  .transform((text) =>
    text
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== ""),
  )
  .pipe(NameList);

export const StreamQuery = z.object({
  event_types: CommaList.optional(),
  entity_types: CommaList.optional(),
  entity_ids: CommaList.optional(),
  /** Nothing would be 0, and 0 the whole log. */
  after_seq: z
    .string()
    .regex(/\S/, "has no value")
    .pipe(z.coerce.number<string>().int().nonnegative().max(Number.MAX_SAFE_INTEGER))
    .optional(),
});
export type StreamQuery = z.infer<typeof StreamQuery>;
