/** Removes what has run out: one-time secrets, sessions, remembered replies, held money. */
import type { Db } from "../ports/db.ts";
import { deleteExpiredReservations } from "../store/budgets.ts";
import { deleteExpiredSecrets, deleteExpiredSessions } from "../store/credentials.ts";
import { deleteOldReplies } from "../store/idempotency.ts";

export async function forgetExpiredOnce({ db }: { db: Db }): Promise<void> {
  await deleteExpiredSecrets(db);
  await deleteExpiredSessions(db);
  await deleteOldReplies(db);
  await deleteExpiredReservations(db);
}
