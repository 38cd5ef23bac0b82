/** Hands waiting messages to the worker: leased until acknowledged, or read once in the compatible form. */
import type { InboxMessage } from "@drover/contract";
import { startNap, type Nap } from "../nap.ts";
import { claimMessages, loadInbox, type MessageRow } from "../store/messages.ts";
import { requireCurrent } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

/** A lease may run out without an event that says so: look again at least this often. */
const LOOK_AGAIN_MS = 1_000;
/** What workers say brings no message to them. */
const OWN_WORDS = /^(?:agent|workspace)\./;

const toInboxMessage = (row: MessageRow): InboxMessage => ({
  id: row.id,
  content: row.content,
  message_type: row.message_type,
  timestamp: row.queued_at.toISOString(),
  delivery: row.delivery,
  sender_id: row.sender,
});

export async function receiveMessages(
  deps: Deps,
  worker: WorkerIdentity,
  query: { lease?: number | undefined; wait?: number | undefined },
  signal: AbortSignal,
): Promise<readonly InboxMessage[]> {
  const deadlineMs = deps.clock.now().getTime() + (query.wait ?? 0) * 1_000;
  let hasNews = false;
  let nap: Nap | undefined;
  const stopListening = deps.tail.onAdvance((events) => {
    if (!events.some((event) => event.sandboxId === worker.sandboxId && !OWN_WORDS.test(event.storedType))) return;
    hasNews = true;
    nap?.end();
  });
  try {
    for (;;) {
      const leftMs = deadlineMs - deps.clock.now().getTime();
      hasNews = false;
      const inbox = requireCurrent(await loadInbox.maybe(deps.db, worker.sandboxId), worker);
      // A caller that hung up must not take messages along.
      if (signal.aborted) return [];
      const rows = inbox.has_messages ? await claimMessages(deps.db, worker.sandboxId, query.lease ?? null) : [];
      if (rows.length > 0) deps.fault("message.leased");
      if (rows.length > 0 || leftMs <= 0) return rows.map(toInboxMessage);
      if (hasNews) continue;
      nap = startNap(deps.clock, Math.min(leftMs, LOOK_AGAIN_MS), signal);
      await nap.over;
    }
  } finally {
    stopListening();
  }
}
