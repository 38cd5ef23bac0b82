/** The message queue of each sandbox: priority, lease, acknowledgement. */
import { MessageId, MessageState, MessageType, SandboxId, SandboxState } from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const SAMPLE_SANDBOX = "drover-00000000-000000" as SandboxId;
const SAMPLE_ID = "msg-000000000000" as MessageId;

/** A lease that ran out has put its message back, although nobody wrote that down yet. */
const state = sql`case when state = 'leased' and leased_until <= now() then 'queued' else state end as state`;

export const MessageRow = z.object({
  id: MessageId,
  sandbox_id: SandboxId,
  position: z.number(),
  content: z.string(),
  message_type: MessageType,
  delivery: z.enum(["steer", "queue"]),
  is_urgent: z.boolean(),
  state: MessageState,
  sender: z.string().nullable(),
  turn: z.number().nullable(),
  detail: z.string().nullable(),
  queued_at: z.date(),
  leased_at: z.date().nullable(),
  delivered_at: z.date().nullable(),
  seen_at: z.date().nullable(),
  ended_at: z.date().nullable(),
});
export type MessageRow = z.infer<typeof MessageRow>;

const columns = sql`id, sandbox_id, position, content, message_type, delivery, is_urgent, ${state}, sender, turn, detail, queued_at,
  leased_at, delivered_at, seen_at, ended_at`;

export interface MessageDraft {
  readonly id: MessageId;
  readonly sandbox_id: SandboxId;
  readonly content: string;
  readonly message_type: string;
  readonly delivery: string;
  readonly is_urgent: boolean;
  readonly sender: string;
}

export const insertMessage = command(
  "messages.insert",
  [
    {
      id: SAMPLE_ID,
      sandbox_id: SAMPLE_SANDBOX,
      content: "a",
      message_type: "system",
      delivery: "steer",
      is_urgent: false,
      sender: "a",
    },
  ],
  (draft: MessageDraft) => sql`
  insert into messages (id, sandbox_id, content, message_type, delivery, is_urgent, state, sender)
  select ${draft.id}, id, ${draft.content}, ${draft.message_type}, ${draft.delivery}, ${draft.is_urgent}, 'queued', ${draft.sender}
  from sandboxes where id = ${draft.sandbox_id}`,
);

export const countWaiting = query(
  "messages.count_waiting",
  z.object({ count: z.number() }),
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) =>
    sql`select count(*) as count from messages where sandbox_id = ${sandboxId} and state in ('queued', 'leased')`,
);

const LEASE_LIMIT = 100;
/** May be taken: new, or its lease ran out. */
const isFree = sql`state in ('queued', 'leased') and (state = 'queued' or leased_until <= now())`;

/** All that a worker which waits must know, in one look: hundreds look every second, and as a rule there is nothing. */
export const loadInbox = query(
  "messages.look",
  z.object({
    generation: z.number(),
    state: SandboxState,
    closed_at: z.date().nullable(),
    has_messages: z.boolean(),
  }),
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) => sql`
  select generation, state, closed_at, exists (select 1 from messages where sandbox_id = s.id and ${isFree}) as has_messages
  from sandboxes s where id = ${sandboxId}`,
  { prepared: true },
);

/** Takes what waits, interrupts first, then oldest first. `leaseSeconds` null: read once, marked delivered. */
export const claimMessages = query(
  "messages.claim",
  MessageRow,
  [SAMPLE_SANDBOX, 30],
  (sandboxId: SandboxId, leaseSeconds: number | null) => sql`
  with waiting as (
    select id from messages
    where sandbox_id = ${sandboxId} and ${isFree}
    order by is_urgent desc, position limit ${LEASE_LIMIT} for update skip locked),
  taken as (
    update messages m set leased_at = now(),
      ${
        leaseSeconds === null
          ? sql`state = 'delivered', delivered_at = now()`
          : sql`state = 'leased', leased_until = now() + make_interval(secs => ${leaseSeconds})`
      }
    from waiting where m.id = waiting.id returning m.*)
  select ${columns} from taken order by is_urgent desc, position limit ${LEASE_LIMIT}`,
);

export const lockMessage = query(
  "messages.lock",
  MessageRow,
  [SAMPLE_SANDBOX, SAMPLE_ID],
  (sandboxId: SandboxId, id: MessageId) =>
    sql`select ${columns} from messages where id = ${id} and sandbox_id = ${sandboxId} for update`,
);

export const updateMessageState = command(
  "messages.update_state",
  [SAMPLE_ID, "seen", 1, null],
  (id: MessageId, next: MessageState, turn: number | null, detail: string | null) => sql`
  update messages set state = ${next}, turn = coalesce(${turn}, turn), detail = coalesce(${detail}, detail),
    delivered_at = case when ${next} in ('delivered', 'seen') then coalesce(delivered_at, now()) else delivered_at end,
    seen_at = case when ${next} = 'seen' then coalesce(seen_at, now()) else seen_at end,
    ended_at = case when ${next} in ('seen', 'failed', 'expired') then coalesce(ended_at, now()) else ended_at end
  where id = ${id}`,
);

/** A new generation gets again what the old one has not shown to the model. */
export const requeueUnseen = command(
  "messages.requeue_unseen",
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) =>
    sql`update messages set state = 'queued', leased_until = null where sandbox_id = ${sandboxId} and state in ('leased', 'delivered')`,
);

export const expireMessages = command(
  "messages.expire",
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) =>
    sql`update messages set state = 'expired', ended_at = now() where sandbox_id = ${sandboxId} and state in ('queued', 'leased', 'delivered')`,
);

export const listMessages = query(
  "messages.list",
  MessageRow,
  [SAMPLE_SANDBOX, undefined, 10],
  (sandboxId: SandboxId, afterPosition: number | undefined, limit: number) => sql`
  select ${columns} from messages where sandbox_id = ${sandboxId} ${afterPosition === undefined ? empty : sql`and position > ${afterPosition}`}
  order by position limit ${limit}`,
);

/** Given to the agent, as far as anybody knows, and not yet seen by its model. */
export const listUnseen = query(
  "messages.list_unseen",
  z.object({ id: MessageId, content: z.string() }),
  [SAMPLE_SANDBOX],
  (sandboxId: SandboxId) => sql`
  select id, content from messages
  where sandbox_id = ${sandboxId} and state in ('leased', 'delivered') and message_type in ('user_message', 'guardian_nudge', 'system')
  order by position limit 100`,
  { prepared: true },
);
