/** What the log says about a ticket. */
import { z } from "zod";
import { query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const RecordRow = z.object({
  position: z.number(),
  event_type: z.string(),
  event_data: z.unknown(),
  source: z.string(),
  created_at: z.date(),
});

export interface RecordFilter {
  readonly ticketId: string;
  readonly types: readonly string[] | undefined;
  readonly before: number | undefined;
  readonly limit: number;
}

/** Newest first. */
export const listTicketRecords = query(
  "events.list_ticket",
  RecordRow,
  [{ ticketId: "a", types: ["TICKET_CREATED"], before: 1, limit: 10 }],
  (filter: RecordFilter) => sql`
  select seq as position, event_type, event_data, source, created_at from events
  where entity_type = 'ticket' and entity_id = ${filter.ticketId}
    ${filter.types === undefined ? empty : sql`and event_type = any(${filter.types}::text[])`}
    ${filter.before === undefined ? empty : sql`and seq < ${filter.before}`}
  order by seq desc limit ${filter.limit}`,
);
