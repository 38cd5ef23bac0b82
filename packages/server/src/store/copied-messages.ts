/** Messages that go on with a run, because the sandbox they were sent to ended before its agent read them. */
import { MessageId, MessageType, type SandboxId } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { sql } from "./sql.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;
const SAMPLE_ID = "msg-000000000000" as MessageId;

/** More than anybody has sent to one agent; what is beyond stays where it is. */
const LIMIT = 1_000;

/** Not seen, not remembered by what is gone on with, and not with another sandbox that may still read it. Of one that has not ended only
 *  what nobody holds: its worker may be about to hand on the rest. */
export const lockUnread = query(
  "messages.lock_unread",
  z.object({
    id: MessageId,
    content: z.string(),
    message_type: MessageType,
    delivery: z.enum(["steer", "queue"]),
    sender: z.string().nullable(),
    is_expired: z.boolean(),
  }),
  [SAMPLE_SANDBOX, true],
  (sandboxId: SandboxId, hasEnded: boolean) => sql`
  select m.id, m.content, m.message_type, m.delivery, m.sender, m.state = 'expired' as is_expired
  from messages m left join messages c on c.id = m.copied_as
  where m.sandbox_id = ${sandboxId} and m.message_type in ('user_message', 'guardian_nudge', 'system')
    and (m.state = 'queued' or (m.state = 'leased' and m.leased_until <= now())
      or (${hasEnded} and m.state in ('leased', 'delivered', 'expired')))
    and (c.id is null or (c.state = 'expired' and c.copied_as is null))
    and not exists (
      select 1 from events e where e.sandbox_id = m.sandbox_id and e.event_type = 'agent.message_injected'
        and e.event_data ->> 'message_id' = m.id and e.seq < coalesce((
          select max(s.seq) from events s where s.sandbox_id = m.sandbox_id and s.event_type = 'agent.transcript_saved'),
          e.seq + 1))
  order by m.position limit ${LIMIT} for update of m`,
);

/** The copy is the one that counts from now on. */
export const noteCopied = command(
  "messages.note_copied",
  [SAMPLE_ID, SAMPLE_ID, "a"],
  (id: MessageId, copy: MessageId, detail: string) => sql`
  update messages set copied_as = ${copy}, state = 'expired', detail = ${detail}, ended_at = coalesce(ended_at, now())
  where id = ${id}`,
);
