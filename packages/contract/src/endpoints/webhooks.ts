/** Outbound webhooks: made, changed, tried, and the log of their deliveries. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { DeliveryId, ProjectId, WebhookId } from "../ids.ts";
import { CreatedWebhook, Delivery, DeliveryState, NewWebhook, Webhook, WebhookChange } from "../resources/webhook.ts";
import { page, Paging } from "./page.ts";

const webhookRef = z.object({ webhook_id: WebhookId });
/** Who may send a project's log elsewhere is who administers it. */
const byAdmin = { access: "person", verb: "administer" } as const;

export const webhookEndpoints = {
  listWebhooks: endpoint({
    method: "GET",
    path: "/webhooks",
    ...byAdmin,
    summary: "Outbound webhooks, newest first.",
    query: z.strictObject({ ...Paging, project_id: ProjectId.optional() }),
    reply: page(Webhook),
  }),
  createWebhook: endpoint({
    method: "POST",
    path: "/webhooks",
    ...byAdmin,
    summary: "Tell events to another program from now on; the secret that signs them is told once.",
    body: NewWebhook,
    reply: CreatedWebhook,
    status: 201,
    creates: true,
  }),
  getWebhook: endpoint({
    method: "GET",
    path: "/webhooks/:webhook_id",
    ...byAdmin,
    summary: "One webhook.",
    params: webhookRef,
    reply: Webhook,
  }),
  changeWebhook: endpoint({
    method: "PATCH",
    path: "/webhooks/:webhook_id",
    ...byAdmin,
    summary: "Change where a webhook goes, what it tells, or switch it on and off.",
    params: webhookRef,
    body: WebhookChange,
    reply: Webhook,
  }),
  deleteWebhook: endpoint({
    method: "DELETE",
    path: "/webhooks/:webhook_id",
    ...byAdmin,
    summary: "Remove a webhook and its log.",
    params: webhookRef,
    reply: Webhook,
  }),
  rotateWebhook: endpoint({
    method: "POST",
    path: "/webhooks/:webhook_id/rotate-secret",
    ...byAdmin,
    summary: "A new secret, told once; the old one signs nothing any more.",
    params: webhookRef,
    reply: CreatedWebhook,
    creates: true,
  }),
  pingWebhook: endpoint({
    method: "POST",
    path: "/webhooks/:webhook_id/ping",
    ...byAdmin,
    summary: "Send a test event.",
    params: webhookRef,
    reply: Delivery,
    status: 201,
    creates: true,
  }),
  listDeliveries: endpoint({
    method: "GET",
    path: "/webhooks/:webhook_id/deliveries",
    ...byAdmin,
    summary: "What was sent and how it went, newest first.",
    params: webhookRef,
    query: z.strictObject({ ...Paging, state: DeliveryState.optional() }),
    reply: page(Delivery),
  }),
  redeliver: endpoint({
    method: "POST",
    path: "/webhooks/:webhook_id/deliveries/:delivery_id/redeliver",
    ...byAdmin,
    summary: "Send it again now, under the same id.",
    params: z.object({ webhook_id: WebhookId, delivery_id: DeliveryId }),
    reply: Delivery,
  }),
} as const;
