/** What people and agents say on a ticket. It stays with the ticket; nobody is interrupted by it. */
import { z } from "zod";
import { CommentId, TicketId } from "../ids.ts";
import { Timestamp } from "../time.ts";

const SAID = ["general", "question", "decision"] as const;

export const NewTicketComment = z.strictObject({
  comment_text: z.string().trim().min(1).max(10_000),
  comment_type: z.enum(SAID).default("general"),
});
export type NewTicketComment = z.infer<typeof NewTicketComment>;

/** `resolution` is what was said when the ticket was resolved. */
export const CommentType = z.enum([...SAID, "resolution"]);
export type CommentType = z.infer<typeof CommentType>;

export const TicketComment = z.object({
  id: CommentId,
  ticket_id: TicketId,
  /** The id of a person's token, or of the sandbox whose agent says it. */
  author_id: z.string(),
  /** As it was called when it said it. */
  author_name: z.string(),
  author_type: z.enum(["person", "agent"]),
  comment_type: CommentType,
  comment_text: z.string(),
  created_at: Timestamp,
});
export type TicketComment = z.infer<typeof TicketComment>;
