/** Outbound webhooks and the log of their deliveries. */
import {
  DeliveryId,
  DeliveryState,
  EventId,
  JsonObject,
  ProjectId,
  WebhookId,
  type WebhookChange,
} from "@drover/contract";
import { z } from "zod";
import { command, query } from "./query.ts";
import { empty, sql } from "./sql.ts";

const SAMPLE_ID = "hook-000000000000" as WebhookId;
const SAMPLE_DELIVERY = "00000000-0000-7000-8000-000000000000" as DeliveryId;
const SAMPLE_EVENT = "00000000-0000-7000-8000-000000000000" as EventId;
const SAMPLE_PROJECT = "project-00000000-0000-4000-8000-000000000000" as ProjectId;

export const WebhookRow = z.object({
  id: WebhookId,
  project_id: ProjectId.nullable(),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  is_enabled: z.boolean(),
  disabled_reason: z.string().nullable(),
  sealed_secret: z.instanceof(Uint8Array),
  seen_seq: z.number(),
  created_at: z.date(),
  updated_at: z.date(),
});
export type WebhookRow = z.infer<typeof WebhookRow>;

const columns = sql`w.id, w.project_id, w.url, w.description, w.event_types, w.is_enabled, w.disabled_reason, w.sealed_secret,
  w.seen_seq::float8 as seen_seq, w.created_at, w.updated_at`;

export interface WebhookDraft {
  readonly id: WebhookId;
  readonly project_id: string | null;
  readonly url: string;
  readonly description: string;
  readonly event_types: readonly string[];
  readonly is_enabled: boolean;
  readonly sealed_secret: Uint8Array;
}

/** It tells what happens from now on: the number is read in the transaction that makes it. */
export const insertWebhook = query(
  "webhooks.insert",
  WebhookRow,
  [
    {
      id: SAMPLE_ID,
      project_id: null,
      url: "https://example.org",
      description: "",
      event_types: ["agent.*"],
      is_enabled: true,
      sealed_secret: new Uint8Array(),
    },
  ],
  (draft: WebhookDraft) => sql`
  insert into webhooks as w (id, project_id, url, description, event_types, is_enabled, sealed_secret, seen_seq)
  values (${draft.id}, ${draft.project_id}, ${draft.url}, ${draft.description}, ${[...draft.event_types]}::text[], ${draft.is_enabled},
    ${draft.sealed_secret}, (select coalesce(max(seq), 0) from events))
  returning ${columns}`,
);

export const loadWebhook = query(
  "webhooks.load",
  WebhookRow,
  [SAMPLE_ID],
  (id: WebhookId) => sql`select ${columns} from webhooks w where w.id = ${id}`,
);

export interface WebhookFilter {
  /** Null: of all projects, and those of none. */
  readonly visibleProject: string | null;
  readonly projectId: string | undefined;
  readonly before: WebhookId | undefined;
  readonly limit: number;
}

export const listWebhooks = query(
  "webhooks.list",
  WebhookRow,
  [{ visibleProject: SAMPLE_PROJECT, projectId: SAMPLE_PROJECT, before: SAMPLE_ID, limit: 10 }],
  (filter: WebhookFilter) => sql`
  select ${columns} from webhooks w where true
    ${filter.visibleProject === null ? empty : sql`and w.project_id = ${filter.visibleProject}`}
    ${filter.projectId === undefined ? empty : sql`and w.project_id = ${filter.projectId}`}
    ${
      filter.before === undefined
        ? empty
        : sql`and (w.created_at, w.id) < (select created_at, id from webhooks where id = ${filter.before})`
    }
  order by w.created_at desc, w.id desc limit ${filter.limit}`,
);

/** One that was off tells nothing of the time in between. */
export const updateWebhook = query(
  "webhooks.update",
  WebhookRow,
  [SAMPLE_ID, { url: "https://example.org", description: "", event_types: [], is_enabled: true }],
  (id: WebhookId, change: WebhookChange) => sql`
  update webhooks w set updated_at = now()
    ${change.url === undefined ? empty : sql`, url = ${change.url}`}
    ${change.description === undefined ? empty : sql`, description = ${change.description}`}
    ${change.event_types === undefined ? empty : sql`, event_types = ${change.event_types}::text[]`}
    ${
      change.is_enabled === undefined
        ? empty
        : sql`, is_enabled = ${change.is_enabled}, disabled_reason = null,
          seen_seq = case when ${change.is_enabled} and not w.is_enabled then (select coalesce(max(seq), 0) from events) else w.seen_seq end`
    }
  where w.id = ${id} returning ${columns}`,
);

export const updateWebhookSecret = query(
  "webhooks.rotate",
  WebhookRow,
  [SAMPLE_ID, new Uint8Array()],
  (id: WebhookId, sealed: Uint8Array) => sql`
  update webhooks w set sealed_secret = ${sealed}, updated_at = now() where w.id = ${id} returning ${columns}`,
);

export const disableWebhook = command(
  "webhooks.disable",
  [SAMPLE_ID, "gone"],
  (id: WebhookId, reason: string) => sql`
  update webhooks set is_enabled = false, disabled_reason = ${reason}, updated_at = now() where id = ${id}`,
);

export const deleteWebhook = command(
  "webhooks.delete",
  [SAMPLE_ID],
  (id: WebhookId) => sql`delete from webhooks where id = ${id}`,
);

/** One process at a time reads the log for a webhook. */
export const lockUnread = query(
  "webhooks.lock_unread",
  WebhookRow,
  [10],
  (limit: number) => sql`
  select ${columns} from webhooks w where w.is_enabled and w.seen_seq < (select coalesce(max(seq), 0) from events)
  order by w.seen_seq limit ${limit} for update skip locked`,
);

export const updateSeen = command(
  "webhooks.seen",
  [SAMPLE_ID, 1],
  (id: WebhookId, seq: number) => sql`update webhooks set seen_seq = ${seq} where id = ${id}`,
);

/** What a webhook might be told; which of it, its patterns decide. */
export const listUntold = query(
  "webhooks.untold",
  z.object({ seq: z.number(), id: EventId, event_type: z.string() }),
  [SAMPLE_PROJECT, 0, 10],
  (projectId: string | null, afterSeq: number, limit: number) => sql`
  select seq::float8 as seq, id, event_type from events where seq > ${afterSeq}
    ${projectId === null ? empty : sql`and project_id = ${projectId}`}
  order by seq limit ${limit}`,
);

/** Events of other projects are looked at too, as far as the log goes. */
export const loadLogHead = query(
  "webhooks.head",
  z.object({ seq: z.number() }),
  [],
  () => sql`select coalesce(max(seq), 0)::float8 as seq from events`,
);

export const DeliveryRow = z.object({
  id: DeliveryId,
  webhook_id: WebhookId,
  seq: z.number().nullable(),
  event_id: EventId.nullable(),
  event_type: z.string(),
  state: DeliveryState,
  attempts: z.number(),
  next_try_at: z.date().nullable(),
  last_status: z.number().nullable(),
  last_error: z.string().nullable(),
  last_try_at: z.date().nullable(),
  delivered_at: z.date().nullable(),
  created_at: z.date(),
});
export type DeliveryRow = z.infer<typeof DeliveryRow>;

const deliveryColumns = sql`d.id, d.webhook_id, d.seq::float8 as seq, d.event_id, d.event_type, d.state, d.attempts, d.next_try_at,
  d.last_status, d.last_error, d.last_try_at, d.delivered_at, d.created_at`;

export interface DeliveryDraft {
  readonly id: DeliveryId;
  readonly seq: number | null;
  readonly event_id: EventId | null;
  readonly event_type: string;
}

export const insertDeliveries = query(
  "outbound_deliveries.insert",
  DeliveryRow,
  [SAMPLE_ID, [{ id: SAMPLE_DELIVERY, seq: 1, event_id: SAMPLE_EVENT, event_type: "x" }]],
  (webhookId: WebhookId, drafts: readonly DeliveryDraft[]) => sql`
  insert into outbound_deliveries as d (id, webhook_id, seq, event_id, event_type, state, next_try_at)
  select id, ${webhookId}, seq, event_id, event_type, 'pending', now()
  from unnest(${drafts.map(({ id }) => id)}::uuid[], ${drafts.map(({ seq }) => seq)}::bigint[],
    ${drafts.map(({ event_id }) => event_id)}::uuid[], ${drafts.map(({ event_type }) => event_type)}::text[])
    as given (id, seq, event_id, event_type)
  on conflict (webhook_id, seq) do nothing
  returning ${deliveryColumns}`,
);

export const loadDelivery = query(
  "outbound_deliveries.load",
  DeliveryRow,
  [SAMPLE_ID, SAMPLE_DELIVERY],
  (webhookId: WebhookId, id: DeliveryId) => sql`
  select ${deliveryColumns} from outbound_deliveries d where d.webhook_id = ${webhookId} and d.id = ${id}`,
);

export interface DeliveryFilter {
  readonly state: DeliveryState | undefined;
  readonly before: DeliveryId | undefined;
  readonly limit: number;
}

export const listDeliveries = query(
  "outbound_deliveries.list",
  DeliveryRow,
  [SAMPLE_ID, { state: "failed", before: SAMPLE_DELIVERY, limit: 10 }],
  (webhookId: WebhookId, filter: DeliveryFilter) => sql`
  select ${deliveryColumns} from outbound_deliveries d where d.webhook_id = ${webhookId}
    ${filter.state === undefined ? empty : sql`and d.state = ${filter.state}`}
    ${filter.before === undefined ? empty : sql`and d.id < ${filter.before}::uuid`}
  order by d.id desc limit ${filter.limit}`,
);

export interface ClaimOptions {
  readonly each: number;
  readonly all: number;
  readonly leaseSeconds: number;
  /** Who holds them. */
  readonly host: string;
  /** Webhooks that have enough under way here. */
  readonly busy: readonly string[];
}

/** At the start: what this server held when it died is its own again. */
export const releaseDeliveries = command(
  "outbound_deliveries.release",
  ["host"],
  (host: string) => sql`
  update outbound_deliveries set leased_until = null where leased_by = ${host} and leased_until is not null`,
);

/** Each has a holder for a while; one whose holder died comes back. */
export const claimDeliveries = query(
  "outbound_deliveries.claim",
  DeliveryRow.extend({ url: z.string(), sealed_secret: z.instanceof(Uint8Array) }),
  [{ each: 10, all: 100, leaseSeconds: 60, host: "host", busy: [] }],
  ({ each, all, leaseSeconds, host, busy }: ClaimOptions) => sql`
  with due as (
    select d.id from webhooks w cross join lateral (
      select id from outbound_deliveries
      where webhook_id = w.id and state = 'pending' and next_try_at <= now() and (leased_until is null or leased_until < now())
      order by next_try_at, id limit ${each} for update skip locked) d
    where w.is_enabled and w.id <> all(${busy}::text[]) limit ${all})
  update outbound_deliveries d set leased_until = now() + make_interval(secs => ${leaseSeconds}::float8), leased_by = ${host}, attempts = d.attempts + 1, last_try_at = now()
  from due, webhooks w where d.id = due.id and w.id = d.webhook_id
  returning ${deliveryColumns}, w.url, w.sealed_secret`,
);

export interface DeliveryEnd {
  readonly state: DeliveryState;
  readonly afterSeconds: number | null;
  readonly status: number | null;
  readonly error: string | null;
}

export const settleDelivery = command(
  "outbound_deliveries.settle",
  [SAMPLE_DELIVERY, { state: "pending", afterSeconds: 5, status: 500, error: null }],
  (id: DeliveryId, end: DeliveryEnd) => sql`
  update outbound_deliveries set state = ${end.state}, leased_until = null, last_status = ${end.status}, last_error = ${end.error},
    next_try_at = now() + make_interval(secs => ${end.afterSeconds}::float8),
    delivered_at = case when ${end.state} = 'delivered' then now() else delivered_at end
  where id = ${id}`,
);

/** Also one that was delivered: whoever asks wants it again. */
export const repeatDelivery = query(
  "outbound_deliveries.repeat",
  DeliveryRow,
  [SAMPLE_ID, SAMPLE_DELIVERY],
  (webhookId: WebhookId, id: DeliveryId) => sql`
  update outbound_deliveries d set state = 'pending', attempts = 0, next_try_at = now(), leased_until = null
  where d.webhook_id = ${webhookId} and d.id = ${id} returning ${deliveryColumns}`,
);

export const loadTold = query(
  "outbound_deliveries.event",
  z.object({
    id: EventId,
    seq: z.number(),
    sandbox_seq: z.number().nullable(),
    sandbox_id: z.string().nullable(),
    project_id: z.string().nullable(),
    entity_type: z.string(),
    entity_id: z.string(),
    event_type: z.string(),
    event_data: JsonObject,
    source: z.string(),
    created_at: z.date(),
  }),
  [1],
  (seq: number) => sql`
  select id, seq::float8 as seq, sandbox_seq::float8 as sandbox_seq, sandbox_id, project_id, entity_type, entity_id, event_type, event_data, source, created_at
  from events where seq = ${seq}`,
);

export const deleteOldDeliveries = command(
  "outbound_deliveries.forget",
  [30],
  (days: number) => sql`
  delete from outbound_deliveries where id in (
    select id from outbound_deliveries where state <> 'pending' and created_at < now() - make_interval(days => ${days}::int) limit 10000)`,
);
