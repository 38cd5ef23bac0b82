/** Conversations of agent servers, and their events that were told too early. */
import { SandboxId, type JsonObject } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { json, sql } from "./sql.ts";

const SAMPLE_ID = "00000000-0000-4000-8000-000000000000";
const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;

export const ConversationRow = z.object({
  id: z.string(),
  sandbox_id: SandboxId.nullable(),
  next_seq: z.number(),
  last_event_id: z.string().nullable(),
  followed: z.custom<JsonObject>(),
  gap_since: z.date().nullable(),
});
export type ConversationRow = z.infer<typeof ConversationRow>;

const columns = sql`id, sandbox_id, next_seq::float8 as next_seq, last_event_id, followed, gap_since`;

export const ensureConversation = command(
  "agent_conversations.ensure",
  [SAMPLE_ID, {}],
  (id: string, followed: JsonObject) =>
    sql`insert into agent_conversations (id, followed) values (${id}, ${json(followed)}::jsonb) on conflict do nothing`,
);

export const lockConversation = query(
  "agent_conversations.lock",
  ConversationRow,
  [SAMPLE_ID],
  (id: string) => sql`select ${columns} from agent_conversations where id = ${id}::uuid for update`,
);

/** The first telling of a number stays. */
export const insertUnread = query(
  "agent_unread.insert",
  z.object({ seq: z.number() }),
  [SAMPLE_ID, 0, [{ seq: 0, event: {} }]],
  (id: string, fromSeq: number, events: readonly { readonly seq: number; readonly event: JsonObject }[]) => sql`
  insert into agent_unread (conversation_id, seq, event)
  select ${id}::uuid, seq, event::jsonb
  from unnest(${events.map(({ seq }) => seq)}::bigint[], ${events.map(({ event }) => JSON.stringify(event))}::text[]) as given (seq, event)
  where seq >= ${fromSeq} order by seq
  on conflict do nothing returning seq::float8 as seq`,
);

export const countUnread = query(
  "agent_unread.count",
  z.object({ count: z.int() }),
  [SAMPLE_ID],
  (id: string) => sql`select count(*)::int as count from agent_unread where conversation_id = ${id}::uuid`,
);

export const listUnread = query(
  "agent_unread.list",
  z.object({ seq: z.number(), event: z.custom<JsonObject>() }),
  [SAMPLE_ID, 10],
  (id: string, limit: number) => sql`
  select seq::float8 as seq, event from agent_unread where conversation_id = ${id}::uuid order by seq limit ${limit}`,
);

export const deleteUnread = command(
  "agent_unread.delete",
  [SAMPLE_ID, 1],
  (id: string, beforeSeq: number) =>
    sql`delete from agent_unread where conversation_id = ${id}::uuid and seq < ${beforeSeq}`,
);

export interface ConversationChange {
  readonly sandboxId: SandboxId | null;
  readonly nextSeq: number;
  readonly lastEventId: string | null;
  readonly followed: JsonObject;
  readonly isWorking: boolean;
  readonly hasGap: boolean;
}

export const updateConversation = command(
  "agent_conversations.update",
  [
    SAMPLE_ID,
    { sandboxId: SAMPLE_SANDBOX, nextSeq: 1, lastEventId: null, followed: {}, isWorking: true, hasGap: false },
  ],
  (id: string, change: ConversationChange) => sql`
  update agent_conversations set sandbox_id = ${change.sandboxId}, last_event_id = ${change.lastEventId},
    gap_since = case when not ${change.hasGap} then null
      when next_seq = ${change.nextSeq} then coalesce(gap_since, now()) else now() end,
    next_seq = ${change.nextSeq}, followed = ${json(change.followed)}::jsonb, is_working = ${change.isWorking}, updated_at = now()
  where id = ${id}::uuid`,
);

/** Those with a hole, and those at work that were silent for so long that their last events may be lost. */
export const listBehind = query(
  "agent_conversations.behind",
  z.object({
    id: z.string(),
    last_event_id: z.string().nullable(),
    next_seq: z.number(),
    gap_s: z.number().nullable(),
  }),
  [60, 10],
  (silentSeconds: number, limit: number) => sql`
  select id, last_event_id, next_seq::float8 as next_seq, extract(epoch from now() - gap_since)::float8 as gap_s
  from agent_conversations
  where gap_since is not null or (is_working and updated_at < now() - make_interval(secs => ${silentSeconds}))
  order by updated_at limit ${limit}`,
);

/** Looked at: it is silent from now on. */
export const touchConversation = command(
  "agent_conversations.touch",
  [SAMPLE_ID],
  (id: string) => sql`update agent_conversations set updated_at = now() where id = ${id}::uuid`,
);
