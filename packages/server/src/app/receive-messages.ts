/** Hands waiting messages to the worker: leased until acknowledged, or read once in the compatible form. */
import type { InboxMessage } from "@drover/contract";
import { claimMessages, type MessageRow } from "../store/messages.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

/** A lease may run out without an event that says so: look again at least this often. */
const LOOK_AGAIN_MS = 1_000;

const toInboxMessage = (row: MessageRow): InboxMessage => ({
  id: row.id,
  content: row.content,
  message_type: row.message_type,
  timestamp: row.queued_at.toISOString(),
  delivery: row.delivery,
  sender_id: row.sender,
});

/** Settles at the next event that may bring a message to this sandbox, or after `ms`. Listening starts at once. */
function waitForChange(
  deps: Deps,
  worker: WorkerIdentity,
  ms: number,
  signal: AbortSignal,
): { changed: Promise<void>; stop: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const nap = new AbortController();
  const stopListening = deps.tail.onAdvance((events) => {
    if (events.some((event) => event.sandboxId === worker.sandboxId && event.storedType !== "agent.heartbeat"))
      resolve();
  });
  void deps.clock.sleep(ms, AbortSignal.any([signal, nap.signal])).then(resolve);
  return {
    changed: promise,
    stop: () => {
      stopListening();
      nap.abort();
    },
  };
}

export async function receiveMessages(
  deps: Deps,
  worker: WorkerIdentity,
  query: { lease?: number | undefined; wait?: number | undefined },
  signal: AbortSignal,
): Promise<readonly InboxMessage[]> {
  const deadlineMs = deps.clock.now().getTime() + (query.wait ?? 0) * 1_000;
  for (;;) {
    const leftMs = deadlineMs - deps.clock.now().getTime();
    const change = waitForChange(deps, worker, Math.max(0, Math.min(leftMs, LOOK_AGAIN_MS)), signal);
    try {
      await loadForWorker(deps.db, worker);
      // A caller that hung up must not take messages along.
      if (signal.aborted) return [];
      const rows = await claimMessages(deps.db, worker.sandboxId, query.lease ?? null);
      if (rows.length > 0) deps.fault("message.leased");
      if (rows.length > 0 || leftMs <= 0) return rows.map(toInboxMessage);
      await change.changed;
    } finally {
      change.stop();
    }
  }
}
