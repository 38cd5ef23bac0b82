/** Brings alerts to webhooks: tried again with growing pauses, and given up after a day. */
import { claimDeliveries, settleDelivery } from "../store/alerts.ts";
import type { Deps } from "./deps.ts";

const AT_ONCE = 5;
const ROUNDS = 20;
/** Longer than a post may take. */
const LEASE_SECONDS = 60;
const PAUSES_SECONDS = [5, 30, 120, 600, 3_600, 14_400, 36_000, 36_000] as const;

type Claimed = Awaited<ReturnType<typeof claimDeliveries>>[number];

async function deliver(deps: Deps, one: Claimed, signal: AbortSignal): Promise<void> {
  const { url, body, attempts } = one;
  const secret = one.sealed_secret === null ? null : deps.vault.open(one.sealed_secret);
  const outcome = await deps.webhooks.post({ url, id: one.id, body, contentType: "application/json", secret }, signal);
  const now = deps.clock.now();
  if ("status" in outcome && outcome.status >= 200 && outcome.status < 300)
    return settleDelivery(deps.db, one.id, "delivered", null, now);
  const error = "error" in outcome ? outcome.error : `answered ${outcome.status}`;
  const pause = PAUSES_SECONDS[attempts - 1];
  if (pause === undefined) return settleDelivery(deps.db, one.id, "failed", error, now);
  return settleDelivery(deps.db, one.id, "pending", error, new Date(now.getTime() + pause * 1_000));
}

export async function deliverAlertsOnce(deps: Deps, signal: AbortSignal): Promise<{ tried: number }> {
  let tried = 0;
  for (let round = 0; round < ROUNDS && !signal.aborted; round++) {
    const due = await claimDeliveries(deps.db, deps.clock.now(), LEASE_SECONDS, AT_ONCE);
    await Promise.all(due.map((one) => deliver(deps, one, signal)));
    tried += due.length;
    if (due.length < AT_ONCE) break;
  }
  return { tried };
}
