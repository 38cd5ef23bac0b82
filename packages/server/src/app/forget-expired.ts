/** Removes what has run out: one-time secrets, sessions, remembered replies, held money, old deliveries. */
import { dropOldStaged } from "../store/archive.ts";
import { deleteExpiredReservations } from "../store/budgets.ts";
import { deleteExpiredSecrets, deleteExpiredSessions } from "../store/credentials.ts";
import { deleteOldReplies } from "../store/idempotency.ts";
import { deleteOldDeliveries } from "../store/webhooks.ts";
import type { Deps } from "./deps.ts";

export async function forgetExpiredOnce({ db, config }: Pick<Deps, "db" | "config">): Promise<void> {
  await deleteExpiredSecrets(db);
  await deleteExpiredSessions(db);
  await deleteOldReplies(db);
  await deleteExpiredReservations(db);
  await dropOldStaged(db);
  await deleteOldDeliveries(db, config.webhookLogDays);
}
