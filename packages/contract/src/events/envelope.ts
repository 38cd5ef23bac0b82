/** The form in which an event is published: WebSocket, Server-Sent Events and Redis carry the same object. */
import { z } from "zod";
import { JsonObject } from "../json.ts";
import { toUpperForm } from "./reserved.ts";

export const EventFrame = z.looseObject({
  type: z.literal("event"),
  seq: z.int().positive(),
  sandbox_seq: z.int().positive().nullable(),
  id: z.string(),
  ts: z.string(),
  event_type: z.string(),
  entity_type: z.string(),
  entity_id: z.string(),
  project_id: z.string().nullable(),
  payload: JsonObject,
});
export type EventFrame = z.infer<typeof EventFrame>;

/** The published name of an event: those of a sandbox's log carry the prefix. */
export const toPublishedType = (eventType: string, sandboxId: string | null): string =>
  sandboxId === null ? eventType : `SANDBOX_${eventType}`;

interface Publishable {
  readonly seq: number;
  readonly sandbox_seq: number | null;
  readonly id: string;
  readonly created_at: Date;
  readonly event_type: string;
  readonly sandbox_id: string | null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly project_id: string | null;
  readonly source: string;
  readonly event_data: JsonObject;
}

export function toFrame(event: Publishable): EventFrame {
  return {
    type: "event",
    seq: event.seq,
    sandbox_seq: event.sandbox_seq,
    id: event.id,
    ts: event.created_at.toISOString(),
    event_type: toPublishedType(event.event_type, event.sandbox_id),
    entity_type: event.entity_type,
    entity_id: event.entity_id,
    project_id: event.project_id,
    payload: { ...event.event_data, source: event.source, original_event_type: event.event_type },
  };
}

const Name = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !name.includes("\u0000"), "must not contain a NUL character");
export const NameList = z.array(Name).max(500);

export const EventFilter = z.object({
  event_types: NameList.optional(),
  entity_types: NameList.optional(),
  entity_ids: NameList.optional(),
});
export type EventFilter = z.infer<typeof EventFilter>;

/** A filter made ready for many tests: an absent or empty list does not constrain. */
export interface EventMatcher {
  readonly eventTypes: ReadonlySet<string> | undefined;
  readonly entityTypes: ReadonlySet<string> | undefined;
  readonly entityIds: ReadonlySet<string> | undefined;
}

const toSet = (names: readonly string[] | undefined) =>
  names === undefined || names.length === 0 ? undefined : new Set(names);

export const toMatcher = (filter: EventFilter): EventMatcher => ({
  eventTypes: toSet(filter.event_types),
  entityTypes: toSet(filter.entity_types),
  entityIds: toSet(filter.entity_ids),
});

type Matchable = Pick<EventFrame, "event_type" | "entity_type" | "entity_id">;

export const isMatch = (matcher: EventMatcher, event: Matchable): boolean =>
  (matcher.entityIds === undefined || matcher.entityIds.has(event.entity_id)) &&
  (matcher.entityTypes === undefined || matcher.entityTypes.has(event.entity_type)) &&
  (matcher.eventTypes === undefined ||
    matcher.eventTypes.has(event.event_type) ||
    matcher.eventTypes.has(toUpperForm(event.event_type)));
