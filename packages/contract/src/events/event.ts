/** An event: an immutable fact with a sequence number. What workers send, and what the store keeps. */
import { z } from "zod";
import { EventId, SandboxId, TaskId } from "../ids.ts";
import { JsonObject } from "../json.ts";
import { Timestamp } from "../time.ts";

export const EVENT_DATA_LIMIT_BYTES = 256 * 1024;
export const EVENT_BATCH_LIMIT = 1_000;

export const EventType = z.string().regex(/^[A-Za-z0-9_.-]{1,100}$/, "must be 1-100 of A-Z a-z 0-9 _ . -");

export const WorkerSource = z.enum(["agent", "worker", "system"]);
export const EventSource = z.enum(["agent", "worker", "system", "user", "guardian", "server"]);
export type EventSource = z.infer<typeof EventSource>;

export const NewEvent = z.strictObject({
  event_type: EventType,
  event_data: JsonObject.default({}),
  source: WorkerSource.default("agent"),
  client_event_id: z.string().min(1).max(200).optional(),
});
export type NewEvent = z.infer<typeof NewEvent>;

export const NewEventBatch = z.strictObject({ events: z.array(NewEvent).min(1).max(EVENT_BATCH_LIMIT) });
export type NewEventBatch = z.infer<typeof NewEventBatch>;

export const IngestEvents = z.union([NewEventBatch, NewEvent]);
export type IngestEvents = z.infer<typeof IngestEvents>;

export const EventReceipt = z.object({
  status: z.literal("received"),
  sandbox_id: SandboxId,
  event_type: EventType,
  event_id: EventId,
  seq: z.int().positive(),
  timestamp: Timestamp,
});
export type EventReceipt = z.infer<typeof EventReceipt>;

export const BatchReceipt = z.object({
  status: z.literal("received"),
  sandbox_id: SandboxId,
  accepted: z.int().nonnegative(),
  duplicates: z.int().nonnegative(),
  last_seq: z.int().nonnegative(),
});
export type BatchReceipt = z.infer<typeof BatchReceipt>;

export const StoredEvent = z.looseObject({
  id: EventId,
  seq: z.int().positive(),
  sandbox_seq: z.int().positive().nullable(),
  sandbox_id: SandboxId.nullable(),
  task_id: TaskId.nullable(),
  event_type: z.string(),
  event_data: JsonObject,
  source: EventSource,
  created_at: Timestamp,
  client_event_id: z.string().nullable(),
  generation: z.int().positive().nullable(),
  caused_by: EventId.nullable(),
});
export type StoredEvent = z.infer<typeof StoredEvent>;
