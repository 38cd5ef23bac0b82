/** Outbound webhooks: where events are told to other programs, and how each delivery went. */
import { z } from "zod";
import { DeliveryId, EventId, ProjectId, WebhookId } from "../ids.ts";
import { Timestamp } from "../time.ts";

const URL_LIMIT = 2_000;

/** A stored event type, or what types begin with and a star: `agent.*`. */
const EventPattern = z
  .string()
  .min(1)
  .max(101)
  .regex(/^(?:[A-Za-z0-9_.-]+\*?|\*)$/, "is an event type, or a beginning of one with * at its end");

const fields = {
  url: z.url({ protocol: /^https?$/, error: "is not an http address" }).max(URL_LIMIT),
  description: z.string().max(500),
  /** None: every event but heartbeats. */
  event_types: z.array(EventPattern).max(100),
  is_enabled: z.boolean(),
};

/** As Standard Webhooks has them: 24 to 64 bytes. */
const WebhookSecret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/, "is whsec_ and 24 to 64 bytes in base64")
  .refine((text) => {
    const bytes = Math.floor((text.slice("whsec_".length).replaceAll("=", "").length * 3) / 4);
    return bytes >= 24 && bytes <= 64;
  }, "is whsec_ and 24 to 64 bytes in base64");

export const NewWebhook = z.strictObject({
  url: fields.url,
  /** Absent: events of every project this credential may see. */
  project_id: ProjectId.optional(),
  description: fields.description.default(""),
  event_types: fields.event_types.default([]),
  is_enabled: fields.is_enabled.default(true),
  /** Made when absent. */
  secret: WebhookSecret.optional(),
});
export type NewWebhook = z.infer<typeof NewWebhook>;

export const WebhookChange = z.strictObject({
  url: fields.url.optional(),
  description: fields.description.optional(),
  event_types: fields.event_types.optional(),
  is_enabled: fields.is_enabled.optional(),
});
export type WebhookChange = z.infer<typeof WebhookChange>;

export const Webhook = z.object({
  id: WebhookId,
  project_id: ProjectId.nullable(),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  is_enabled: z.boolean(),
  /** Why it was switched off by the server: the receiver said that it is gone. */
  disabled_reason: z.string().nullable(),
  /** Events up to this `seq` have been looked at. */
  seen_seq: z.int().nonnegative(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type Webhook = z.infer<typeof Webhook>;

/** Told once. */
export const CreatedWebhook = Webhook.extend({ secret: z.string() });
export type CreatedWebhook = z.infer<typeof CreatedWebhook>;

export const DeliveryState = z.enum(["pending", "delivered", "failed"]);
export type DeliveryState = z.infer<typeof DeliveryState>;

export const Delivery = z.object({
  /** Sent as `webhook-id`, the same for every try: a receiver knows by it what it has already. */
  id: DeliveryId,
  webhook_id: WebhookId,
  event_id: EventId.nullable(),
  seq: z.int().nullable(),
  event_type: z.string(),
  state: DeliveryState,
  attempts: z.int().nonnegative(),
  next_try_at: Timestamp.nullable(),
  last_status: z.int().nullable(),
  last_error: z.string().nullable(),
  last_try_at: Timestamp.nullable(),
  delivered_at: Timestamp.nullable(),
  created_at: Timestamp,
});
export type Delivery = z.infer<typeof Delivery>;
