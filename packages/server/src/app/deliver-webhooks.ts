/** Reads the log for each webhook and sends what it is told, again and again until the receiver has it. */
import { decideDelivery, isTold, toCloudEvent, type DeliveryOutcome, type ToldEvent } from "@drover/core";
import {
  claimDeliveries,
  disableWebhook,
  insertDeliveries,
  listUntold,
  loadLogHead,
  loadTold,
  lockUnread,
  settleDelivery,
  updateSeen,
  type DeliveryRow,
} from "../store/webhooks.ts";
import type { Deps } from "./deps.ts";
import { PING } from "./manage-webhooks.ts";

const READ_EVENTS = 1_000;
const HOOKS_AT_ONCE = 50;
const CONTENT_TYPE = "application/cloudevents+json; charset=utf-8";
/** Longer than any try can take: what a dead process held comes back after it. */
const CLAIM = { each: 10, all: 100, leaseSeconds: 60 } as const;
/** While somebody is waited for, the others are looked after as often. */
const LOOK_MS = 1_000;
/** A pass ends some time; the next one goes on. */
const ROUNDS = 100;

/** The log's place and what follows from it are one transaction: an event is told to a webhook once, whoever dies. */
async function readLogOnce({ db, ids }: Deps): Promise<boolean> {
  return db.tx(async (tx) => {
    let isBehind = false;
    for (const hook of await lockUnread(tx, HOOKS_AT_ONCE)) {
      const head = (await loadLogHead.one(tx)).seq;
      const events = await listUntold(tx, hook.project_id, hook.seen_seq, READ_EVENTS);
      const told = events.filter(({ event_type }) => isTold(hook.event_types, event_type));
      const drafts = told.map(({ seq, id, event_type }) => ({ id: ids.delivery(), seq, event_id: id, event_type }));
      if (drafts.length > 0) await insertDeliveries(tx, hook.id, drafts);
      const isWhole = events.length < READ_EVENTS;
      // The head was read first: what came after it is above it, and found the next time.
      await updateSeen(tx, hook.id, isWhole ? Math.max(head, events.at(-1)?.seq ?? 0) : (events.at(-1)?.seq ?? head));
      isBehind ||= !isWhole;
    }
    return isBehind;
  });
}

const toPing = (delivery: DeliveryRow): ToldEvent => ({
  id: delivery.id,
  seq: null,
  sandbox_seq: null,
  sandbox_id: null,
  project_id: null,
  entity_type: "webhook",
  entity_id: delivery.webhook_id,
  event_type: PING,
  event_data: { webhook_id: delivery.webhook_id },
  source: "server",
  created_at: delivery.created_at.toISOString(),
});

async function loadEvent(deps: Deps, delivery: DeliveryRow): Promise<ToldEvent | undefined> {
  if (delivery.seq === null) return toPing(delivery);
  const row = await loadTold.maybe(deps.db, delivery.seq);
  return row === undefined ? undefined : { ...row, created_at: row.created_at.toISOString() };
}

type Claimed = Awaited<ReturnType<typeof claimDeliveries>>[number];

async function send(deps: Deps, delivery: Claimed, signal: AbortSignal): Promise<DeliveryOutcome> {
  const event = await loadEvent(deps, delivery);
  if (event === undefined) return { error: "the event is not in the log any more" };
  const order = {
    url: delivery.url,
    id: delivery.id,
    body: JSON.stringify(toCloudEvent(event, deps.address())),
    contentType: CONTENT_TYPE,
    secret: deps.vault.open(delivery.sealed_secret),
  };
  return deps.webhooks.post(order, signal);
}

async function deliver(deps: Deps, delivery: Claimed, retries: readonly number[], signal: AbortSignal): Promise<void> {
  const outcome = await send(deps, delivery, signal);
  const step = decideDelivery(outcome, delivery.attempts, retries);
  await settleDelivery(deps.db, delivery.id, {
    state: step.state,
    afterSeconds: step.state === "pending" ? step.afterSeconds : null,
    status: "status" in outcome ? outcome.status : null,
    error: "error" in outcome ? outcome.error : null,
  });
  if (step.state !== "failed") return;
  deps.log.warn("webhook.failed", { webhook: delivery.webhook_id, delivery: delivery.id, attempts: delivery.attempts });
  if (step.isGone) await disableWebhook(deps.db, delivery.webhook_id, "the receiver answered 410: it is gone");
}

export async function deliverWebhooksOnce(deps: Deps, signal: AbortSignal): Promise<void> {
  const retries = deps.config.webhookRetrySeconds.split(",").map(Number);
  const settle = (delivery: Claimed) =>
    deliver(deps, delivery, retries, signal).catch((error: unknown) => {
      // Expected: the server stops, or the store is away; the lease runs out and it is sent again.
      if (!signal.aborted) deps.log.warn("webhook.not_settled", { delivery: delivery.id, reason: String(error) });
    });
  /** By webhook: a receiver that does not answer keeps nobody else waiting. */
  const underWay = new Map<string, Promise<void>>();
  for (let round = 0; round < ROUNDS && !signal.aborted; round += 1) {
    const isBehind = await readLogOnce(deps);
    const claimed = await claimDeliveries(deps.db, { ...CLAIM, host: deps.host, busy: [...underWay.keys()] });
    for (const [id, own] of Map.groupBy(claimed, ({ webhook_id }) => webhook_id))
      underWay.set(
        id,
        Promise.all(own.map(settle)).then(() => void underWay.delete(id)),
      );
    if (isBehind) continue;
    if (underWay.size === 0) break;
    await Promise.race([...underWay.values(), deps.clock.sleep(LOOK_MS, signal)]);
  }
  await Promise.all(underWay.values());
}
