/** What is said on tickets. */
import { CommentId, CommentType, TicketId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const CommentRow = z.object({
  id: CommentId,
  position: z.number(),
  ticket_id: TicketId,
  author_id: z.string(),
  author_name: z.string(),
  author_type: z.enum(["person", "agent"]),
  comment_type: CommentType,
  comment_text: z.string(),
  created_at: z.date(),
});
export type CommentRow = z.infer<typeof CommentRow>;

const columns = sql`id, position, ticket_id, author_id, author_name, author_type, comment_type, comment_text, created_at`;
const SAMPLE_TICKET = "00000000-0000-4000-8000-000000000000" as TicketId;

export type CommentDraft = Omit<CommentRow, "position" | "created_at">;

export const insertComment = query(
  "ticket_comments.insert",
  CommentRow,
  [
    {
      id: "comment-000000000000" as CommentId,
      ticket_id: SAMPLE_TICKET,
      author_id: "a",
      author_name: "a",
      author_type: "person",
      comment_type: "general",
      comment_text: "a",
    },
  ],
  (draft: CommentDraft) => sql`
  insert into ticket_comments (id, ticket_id, author_id, author_name, author_type, comment_type, comment_text)
  select ${draft.id}, id, ${draft.author_id}, ${draft.author_name}, ${draft.author_type}, ${draft.comment_type}, ${draft.comment_text}
  from tickets where id = ${draft.ticket_id}
  returning ${columns}`,
);

/** Newest first. */
export const listComments = query(
  "ticket_comments.list",
  CommentRow,
  [SAMPLE_TICKET, 1, 10],
  (ticketId: string, before: number | undefined, limit: number) => sql`
  select ${columns} from ticket_comments where ticket_id = ${ticketId}
    ${before === undefined ? empty : sql`and position < ${before}`}
  order by position desc limit ${limit}`,
);

export const countComments = query(
  "ticket_comments.count_of_agent",
  z.object({ count: z.number() }),
  ["a"],
  (authorId: string) =>
    sql`select count(*) as count from ticket_comments where author_type = 'agent' and author_id = ${authorId}`,
);
