/** A run as of one of its events: everything that a page shows of that moment, in one answer. */
import { z } from "zod";
import { StoredEvent } from "../events/event.ts";
import { MessageId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { StateAt } from "./log.ts";
import { MessageState } from "./message.ts";
import { Verdict } from "./supervision.ts";

const Cursor = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

export const MomentQuery = z.strictObject({
  at_seq: Cursor.optional(),
  /** How many of the events up to there come with it. */
  events: z.coerce.number().int().nonnegative().max(500).default(100),
});

/** A file of the workspace, against what the run began with. */
export const MomentFile = z.object({
  /** Below the workspace. */
  path: z.string(),
  kind: z.enum(["file", "symlink", "other"]),
  size: z.int().nonnegative(),
  change: z.enum(["same", "created", "modified", "deleted"]),
  /** Of its content: equal in two runs when the bytes are. */
  object: z.string(),
});
export type MomentFile = z.infer<typeof MomentFile>;

/** What an agent that goes on from here would know: all it knew, a summary of it, or nothing. */
export const Memory = z.enum(["native", "reseeded", "fresh"]);
export type Memory = z.infer<typeof Memory>;

export const Moment = z.object({
  state: StateAt,
  /** Null when nothing was kept by then. */
  files: z.array(MomentFile).nullable(),
  /** There are more files than these. */
  files_cut: z.boolean(),
  memory: Memory,
  messages: z.array(
    z.object({
      message_id: MessageId,
      message_type: z.string(),
      content: z.string(),
      state: MessageState,
      queued_at: Timestamp,
    }),
  ),
  /** The judge's last verdict by then. */
  verdict: Verdict.extend({ created_at: Timestamp }).nullable(),
  /** The newest up to there, oldest first. */
  events: z.array(StoredEvent),
});
export type Moment = z.infer<typeof Moment>;

export const WorkspaceDiffQuery = z.strictObject({
  at_seq: Cursor.optional(),
  /** Against the files at this place of the log; against those the run began with unless told. */
  from_seq: Cursor.optional(),
  /** One file; all of them unless told. */
  path: z.string().min(1).max(4_096).optional(),
});

/** What changed in the workspace between two places of the log, as git tells it. */
export const WorkspaceDiff = z.object({ patch: z.string() });
export type WorkspaceDiff = z.infer<typeof WorkspaceDiff>;
