/** Tickets found by what is asked for, the best first. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Ticket, TicketStatus } from "./ticket.ts";

/** `keyword`: they have the words. `semantic`: they are alike by the pieces of their words, also in another form or misspelt.
 *  `hybrid`: both lists merged by reciprocal rank. */
export const SearchType = z.enum(["hybrid", "keyword", "semantic"]);
export type SearchType = z.infer<typeof SearchType>;

export const TicketSearch = z.strictObject({
  query: z.string().trim().min(1).max(2_000),
  search_type: SearchType.default("hybrid"),
  project_id: ProjectId.optional(),
  status: z.array(TicketStatus).min(1).optional(),
  limit: z.int().min(1).max(100).default(10),
});
export type TicketSearch = z.infer<typeof TicketSearch>;

const Rank = z.int().positive().nullable();

export const FoundTickets = z.object({
  search_type: SearchType,
  /** How likeness is measured: computed by the server itself, without a model. */
  vectors: z.literal("local-lexical"),
  items: z.array(
    z.object({
      ticket: Ticket,
      score: z.number(),
      /** Its place among those that have the words; null where it is not among them. */
      keyword_rank: Rank,
      /** Its place among those that are alike. */
      semantic_rank: Rank,
    }),
  ),
});
export type FoundTickets = z.infer<typeof FoundTickets>;
