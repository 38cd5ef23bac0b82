/** Outbound webhooks: made, read, changed, tried. */
import { randomBytes } from "node:crypto";
import {
  AppError,
  DeliveryId,
  WebhookId,
  type CreatedWebhook,
  type Delivery,
  type DeliveryState,
  type NewWebhook,
  type Webhook,
  type WebhookChange,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import {
  deleteWebhook,
  insertDeliveries,
  insertWebhook,
  listDeliveries,
  listWebhooks,
  loadDelivery,
  loadWebhook,
  repeatDelivery,
  updateWebhook,
  updateWebhookSecret,
  type DeliveryRow,
  type WebhookRow,
} from "../store/webhooks.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import { parseCursor, refuseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { locateProject } from "./locate.ts";

const LOOP = "deliver-webhooks";
const SECRET_BYTES = 32;
export const PING = "webhook.ping";

const toWebhook = ({ sealed_secret: _, created_at, updated_at, ...row }: WebhookRow): Webhook => ({
  ...row,
  created_at: created_at.toISOString(),
  updated_at: updated_at.toISOString(),
});

const toDelivery = (row: DeliveryRow): Delivery => ({
  ...row,
  next_try_at: row.state === "pending" ? (row.next_try_at?.toISOString() ?? null) : null,
  last_try_at: row.last_try_at?.toISOString() ?? null,
  delivered_at: row.delivered_at?.toISOString() ?? null,
  created_at: row.created_at.toISOString(),
});

const newSecret = () => `whsec_${randomBytes(SECRET_BYTES).toString("base64")}`;

/** An address may hold a secret in its query: of it only the host is written down. */
const audit = (actor: Person, action: string, row: WebhookRow) => ({
  actor: actor.tokenId,
  action,
  target: row.id,
  project_id: row.project_id,
  detail: { host: URL.parse(row.url)?.host ?? "", event_types: [...row.event_types] },
  request_id: null,
});

async function requireWebhook(db: Db, actor: Person, id: WebhookId): Promise<WebhookRow> {
  const row = await loadWebhook.maybe(db, id);
  const isHidden = actor.grant.projectId !== null && row?.project_id !== actor.grant.projectId;
  if (row === undefined || isHidden) throw new AppError("webhook.not_found");
  return row;
}

function requirePostable(deps: Deps, url: string | undefined): void {
  const complaint = url === undefined ? undefined : deps.webhooks.findComplaint(url);
  if (complaint !== undefined)
    throw new AppError("webhook.refused", complaint, { fields: [{ path: "url", message: complaint }] });
}

/** Whoever has one project hooks into that one. */
async function pickProject(deps: Deps, actor: Person, { project_id }: NewWebhook) {
  const mine = actor.grant.projectId;
  if (project_id === undefined) return mine;
  const found = mine === null || mine === project_id ? await locateProject(deps.db, project_id) : undefined;
  if (found === undefined) throw new AppError("project.not_found");
  return found;
}

export async function createWebhook(
  deps: Deps,
  actor: Person,
  input: NewWebhook,
  key: RequestKey | undefined,
): Promise<CreatedWebhook> {
  const project_id = await pickProject(deps, actor, input);
  requirePostable(deps, input.url);
  return createOnce(deps, key, async (tx) => {
    const secret = input.secret ?? newSecret();
    const row = await insertWebhook.one(tx, {
      id: deps.ids.webhook(),
      project_id,
      url: input.url,
      description: input.description,
      event_types: input.event_types,
      is_enabled: input.is_enabled,
      sealed_secret: deps.vault.seal(secret),
    });
    await insertAudit(tx, audit(actor, "webhook.create", row));
    return { ...toWebhook(row), secret };
  });
}

export const getWebhook = async (deps: Deps, actor: Person, id: WebhookId): Promise<Webhook> =>
  toWebhook(await requireWebhook(deps.db, actor, id));

export async function changeWebhook(deps: Deps, actor: Person, id: WebhookId, change: WebhookChange): Promise<Webhook> {
  requirePostable(deps, change.url);
  return writeWithEvents(deps, async (tx) => {
    await requireWebhook(tx, actor, id);
    const row = await updateWebhook.one(tx, id, change);
    await insertAudit(tx, audit(actor, "webhook.change", row));
    return toWebhook(row);
  });
}

export async function removeWebhook(deps: Deps, actor: Person, id: WebhookId): Promise<Webhook> {
  return writeWithEvents(deps, async (tx) => {
    const row = await requireWebhook(tx, actor, id);
    await deleteWebhook(tx, id);
    await insertAudit(tx, audit(actor, "webhook.delete", row));
    return toWebhook(row);
  });
}

export async function rotateWebhook(
  deps: Deps,
  actor: Person,
  id: WebhookId,
  key: RequestKey | undefined,
): Promise<CreatedWebhook> {
  return createOnce(deps, key, async (tx) => {
    await requireWebhook(tx, actor, id);
    const secret = newSecret();
    const row = await updateWebhookSecret.one(tx, id, deps.vault.seal(secret));
    await insertAudit(tx, audit(actor, "webhook.rotate", row));
    return { ...toWebhook(row), secret };
  });
}

export async function pingWebhook(
  deps: Deps,
  actor: Person,
  id: WebhookId,
  key: RequestKey | undefined,
): Promise<Delivery> {
  await requireWebhook(deps.db, actor, id);
  const made = await createOnce(deps, key, async (tx) => {
    const draft = { id: deps.ids.delivery(), seq: null, event_id: null, event_type: PING };
    return toDelivery(await insertDeliveries.one(tx, id, [draft]));
  });
  deps.wake(LOOP);
  return made;
}

interface Paged {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export async function pageWebhooks(
  deps: Deps,
  actor: Person,
  query: Paged & { readonly project_id?: string | undefined },
) {
  const before = parseCursor(WebhookId, query.cursor);
  if (before !== undefined) await requireWebhook(deps.db, actor, before);
  const rows = await listWebhooks(deps.db, {
    visibleProject: actor.grant.projectId,
    projectId: query.project_id,
    before,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return { items: items.map(toWebhook), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

export async function pageDeliveries(
  deps: Deps,
  actor: Person,
  id: WebhookId,
  query: Paged & { readonly state?: DeliveryState | undefined },
) {
  await requireWebhook(deps.db, actor, id);
  const before = parseCursor(DeliveryId, query.cursor);
  if (before !== undefined && (await loadDelivery.maybe(deps.db, id, before)) === undefined) throw refuseCursor();
  const rows = await listDeliveries(deps.db, id, { state: query.state, before, limit: query.limit + 1 });
  const items = rows.slice(0, query.limit);
  return { items: items.map(toDelivery), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

export async function redeliver(deps: Deps, actor: Person, id: WebhookId, deliveryId: DeliveryId): Promise<Delivery> {
  await requireWebhook(deps.db, actor, id);
  const row = await repeatDelivery.maybe(deps.db, id, deliveryId);
  if (row === undefined) throw new AppError("delivery.not_found");
  deps.wake(LOOP);
  return toDelivery(row);
}
