/** What the log and the records beside it say of one moment of a run. */
import { MessageId, MessageState, Verdict, type SandboxId } from "@drover/contract";
import { z } from "zod";
import { query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_ID = "drover-00000000-000000" as SandboxId;

/** Messages sent by then, oldest first, each in the state it had by then. */
export const listMessagesAt = query(
  "events.messages_at",
  z.object({
    message_id: MessageId,
    message_type: z.string(),
    content: z.string(),
    state: MessageState,
    queued_at: z.date(),
  }),
  [SAMPLE_ID, 1, 10],
  (sandboxId: SandboxId, atSeq: number, limit: number) => sql`
  with sent as (
    select seq, event_data ->> 'message_id' as id from events
    where sandbox_id = ${sandboxId} and event_type = 'MESSAGE_QUEUED' and seq <= ${atSeq} order by seq desc limit ${limit}
  ), moved as (
    select distinct on (event_data ->> 'message_id') event_data ->> 'message_id' as id, event_data ->> 'state' as state
    from events where sandbox_id = ${sandboxId} and event_type = 'MESSAGE_STATE_CHANGED' and seq <= ${atSeq}
      and seq > coalesce((select min(seq) from sent), 0)
    order by event_data ->> 'message_id', seq desc
  )
  select m.id as message_id, m.message_type, m.content, coalesce(moved.state, 'queued') as state, m.queued_at
  from sent join messages m on m.id = sent.id left join moved on moved.id = m.id order by sent.seq limit ${limit}`,
);

export const loadVerdictAt = query(
  "guardian_analyses.at",
  z.object({ verdict: Verdict, created_at: z.date() }),
  [SAMPLE_ID, 1],
  (sandboxId: SandboxId, atSeq: number) => sql`
  select verdict, created_at from guardian_analyses
  where sandbox_id = ${sandboxId} and cursor_seq <= ${atSeq} order by position desc limit 1`,
);

export const findRecording = query(
  "events.find_recording",
  z.object({ seq: z.number() }),
  [SAMPLE_ID, "terminal.recorded", "0"],
  (sandboxId: SandboxId, eventType: string, artifactId: string) => sql`
  select seq from events
  where sandbox_id = ${sandboxId} and event_type = ${eventType} and event_data ->> 'artifact_id' = ${artifactId}
  order by seq limit 1`,
);
