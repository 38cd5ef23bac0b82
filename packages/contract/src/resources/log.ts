/** Readings of the event log: pages, trajectory, spine, diffs. */
import { z } from "zod";
import { EventSource, EventType, StoredEvent } from "../events/event.ts";
import { EventId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { SandboxState } from "./sandbox.ts";

const Cursor = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const oneOrMany = <T extends z.ZodType>(item: T) => z.union([z.array(item).max(100), item.transform((one) => [one])]);

export const EventQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(500).default(100),
  offset: z.coerce.number().int().nonnegative().max(10_000_000).default(0),
  event_type: oneOrMany(EventType).optional(),
  source: EventSource.optional(),
  after_seq: Cursor.optional(),
  before_seq: Cursor.optional(),
  order: z.enum(["asc", "desc"]).optional(),
});
export type EventQuery = z.infer<typeof EventQuery>;

export const EventPage = z.object({
  events: z.array(StoredEvent),
  total_count: z.int().nonnegative(),
  sandbox_id: SandboxId,
  last_seq: z.int().nonnegative(),
  /** A page ends after `limit` events or where it is large enough; what is left begins after its last event. */
  has_more: z.boolean(),
});
export type EventPage = z.infer<typeof EventPage>;

export const AllEventsPage = EventPage.omit({ sandbox_id: true });
export type AllEventsPage = z.infer<typeof AllEventsPage>;

export const TrajectoryQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: EventId.optional(),
  direction: z.enum(["older", "newer"]).default("older"),
  noise: z
    .enum(["true", "false"])
    .default("false")
    .transform((word) => word === "true"),
});
export type TrajectoryQuery = z.infer<typeof TrajectoryQuery>;

export const Trajectory = z.object({
  sandbox_id: SandboxId,
  events: z.array(StoredEvent),
  heartbeat_summary: z.object({
    count: z.int().nonnegative(),
    first_heartbeat: Timestamp.nullable(),
    last_heartbeat: Timestamp.nullable(),
  }),
  total_events: z.int().nonnegative(),
  trajectory_events: z.int().nonnegative(),
  next_cursor: EventId.nullable(),
  prev_cursor: EventId.nullable(),
  has_more: z.boolean(),
});
export type Trajectory = z.infer<typeof Trajectory>;

export const FileDiff = z.object({ file_path: z.string(), change_type: z.string(), diff: z.string() });
export type FileDiff = z.infer<typeof FileDiff>;

/** What a row is, as bits of the spine's `flags` column. */
export const SPINE_FLAGS = { heartbeat: 1, noise: 2, error: 4, edit: 8, server: 16 } as const;

export const SpineQuery = z.strictObject({ after_seq: Cursor.default(0) });

/** A whole session as columns, one entry per event: small enough to load before any body. */
export const Spine = z.object({
  sandbox_id: SandboxId,
  after_seq: z.int().nonnegative(),
  last_seq: z.int().nonnegative(),
  count: z.int().nonnegative(),
  /** Names that the `type` and `tool` columns point into. */
  types: z.array(z.string()),
  tools: z.array(z.string()),
  started_at: Timestamp.nullable(),
  /** Differences to the row before; the first to `after_seq`. */
  seq: z.array(z.int()),
  /** Milliseconds since the row before; the first since `started_at`. */
  dt: z.array(z.int()),
  type: z.array(z.int()),
  turn: z.array(z.int()),
  /** 0 = none, else 1 + index into `tools`. */
  tool: z.array(z.int()),
  /** 0 = none, else how many rows back the row with the same tool_use_id stands. */
  ref: z.array(z.int()),
  /** Size class of event_data: its bytes are below 2 to this power. */
  size: z.array(z.int()),
  flags: z.array(z.int()),
});
export type Spine = z.infer<typeof Spine>;

export const StateQuery = z.strictObject({ at_seq: Cursor.optional() });

/** A sandbox as its log had it after the event `at_seq`. */
export const StateAt = z.object({
  sandbox_id: SandboxId,
  /** Its last event up to there; 0 when there was none. */
  at_seq: z.int(),
  state: SandboxState,
  state_cause: z.string().nullable(),
  generation: z.int(),
  turn: z.int(),
  event_count: z.int(),
  last_event_type: z.string().nullable(),
  last_event_at: Timestamp.nullable(),
  /** Changes of files told by then, and the checkpoint that has the files. */
  edits: z.int(),
  checkpoint: z.object({ seq: z.int(), commit: z.string() }).nullable(),
  /** Sent by then, and given to the agent by then. */
  messages: z.int(),
  messages_read: z.int(),
  cost_usd: z.number(),
});
export type StateAt = z.infer<typeof StateAt>;
