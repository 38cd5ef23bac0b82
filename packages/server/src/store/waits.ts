/** Who waits for whom, over tasks and tickets alike. */
import type { TaskId, TicketId } from "@drover/contract";
import { z } from "zod";
import type { Statement } from "../ports/db.ts";
import { query } from "./query.ts";
import { sql } from "./sql.ts";

type Node = TaskId | `ticket ${TicketId}`;
const NodeName = z.custom<Node>((value) => typeof value === "string");

/** What one node waits for: a task for those it depends on and for the tickets that its own ticket waits for; a ticket for its tasks
 *  and for the tickets before it. Those that are cancelled or failed count, because they can be tried again. */
const toWaits = (node: Statement): Statement => sql`
  select d.task_id as node, d.depends_on as waits_for from task_dependencies d where d.task_id = ${node}
  union all select t.id, 'ticket ' || d.blocked_by from tasks t join ticket_dependencies d on d.ticket_id = t.ticket_id
    join tickets o on o.id = d.blocked_by where t.id = ${node} and o.status <> 'done'
  union all select 'ticket ' || d.ticket_id, 'ticket ' || d.blocked_by from ticket_dependencies d
    join tickets o on o.id = d.blocked_by where d.ticket_id = substr(${node}, 8) and o.status <> 'done'
  union all select 'ticket ' || t.ticket_id, t.id from tasks t where t.ticket_id = substr(${node}, 8) and t.status <> 'completed'`;

/** Every step of every way that leads from one of these. */
export const listWaitsBelow = query(
  "waits.below",
  z.object({ node: NodeName, waits_for: NodeName }),
  [["ticket 00000000-0000-4000-8000-000000000000"]],
  (nodes: readonly string[]) => sql`
  with recursive below (node, waits_for) as (
    select w.node, w.waits_for from unnest(${nodes}::text[]) as s (node) cross join lateral (${toWaits(sql`s.node`)}) w
    union select w.node, w.waits_for from below b cross join lateral (${toWaits(sql`b.waits_for`)}) w)
  select node, waits_for from below order by node, waits_for limit 1000000`,
  { trusted: true },
);
