/** What the log says about checkpoints and transcripts. */
import type { SandboxId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;

const Row = z.object({ seq: z.number(), created_at: z.date(), event_data: z.unknown() });

/** What was counted up to a number. Only small bodies are read: of edits there may be thousands. */
export const countUpTo = query(
  "events.count_up_to",
  z.object({
    edits: z.number(),
    messages: z.number(),
    messages_read: z.number(),
    cost_usd: z.number(),
    checkpoint_seq: z.number().nullable(),
    commit: z.string().nullable(),
  }),
  [SAMPLE_ID, 1],
  (sandboxId: SandboxId, atSeq: number) => sql`
  with counted as (
    select event_type, count(*) as many from events
    where sandbox_id = ${sandboxId} and seq <= ${atSeq}
      and event_type in ('agent.file_edited', 'MESSAGE_QUEUED', 'agent.message_injected') group by event_type)
  select
    coalesce((select many from counted where event_type = 'agent.file_edited'), 0) as edits,
    coalesce((select many from counted where event_type = 'MESSAGE_QUEUED'), 0) as messages,
    coalesce((select many from counted where event_type = 'agent.message_injected'), 0) as messages_read,
    coalesce((select sum(case when jsonb_typeof(event_data -> 'cost_usd') = 'number' then (event_data ->> 'cost_usd')::float8 end)
      from events where sandbox_id = ${sandboxId} and event_type = 'agent.usage' and seq <= ${atSeq}), 0)::float8 as cost_usd,
    kept.seq as checkpoint_seq, kept.commit
  from (select 1) one
  left join lateral (select seq, event_data ->> 'commit' as commit from events
    where sandbox_id = ${sandboxId} and event_type = 'workspace.checkpoint' and seq <= ${atSeq}
    order by seq desc limit 1) kept on true`,
);

/** Oldest first. */
export const listCheckpoints = query(
  "events.list_checkpoints",
  Row,
  [SAMPLE_ID, 1],
  (sandboxId: SandboxId, atSeq: number) => sql`
  select seq, created_at, event_data from events
  where sandbox_id = ${sandboxId} and event_type = 'workspace.checkpoint' and seq <= ${atSeq}
  order by seq limit 100000`,
);
