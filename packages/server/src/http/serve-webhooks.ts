/** Which use case answers the endpoints of outbound webhooks. */
import type { webhookEndpoints } from "@drover/contract";
import {
  changeWebhook,
  createWebhook,
  getWebhook,
  pageDeliveries,
  pageWebhooks,
  pingWebhook,
  redeliver,
  removeWebhook,
  rotateWebhook,
} from "../app/manage-webhooks.ts";
import { person, type Handlers } from "./context.ts";

export const webhookHandlers: Pick<Handlers, keyof typeof webhookEndpoints> = {
  listWebhooks: (context, { query }) => pageWebhooks(context.deps, person(context), query),
  createWebhook: (context, { body }) => createWebhook(context.deps, person(context), body, context.requestKey),
  getWebhook: (context, { params }) => getWebhook(context.deps, person(context), params.webhook_id),
  changeWebhook: (context, { params, body }) => changeWebhook(context.deps, person(context), params.webhook_id, body),
  deleteWebhook: (context, { params }) => removeWebhook(context.deps, person(context), params.webhook_id),
  rotateWebhook: (context, { params }) =>
    rotateWebhook(context.deps, person(context), params.webhook_id, context.requestKey),
  pingWebhook: (context, { params }) =>
    pingWebhook(context.deps, person(context), params.webhook_id, context.requestKey),
  listDeliveries: (context, { params, query }) =>
    pageDeliveries(context.deps, person(context), params.webhook_id, query),
  redeliver: (context, { params }) => redeliver(context.deps, person(context), params.webhook_id, params.delivery_id),
};
