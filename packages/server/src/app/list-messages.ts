/** All messages of a sandbox with their states; reading takes nothing from the worker. */
import type { MessageRecord, SandboxId } from "@drover/contract";
import { listMessages, type MessageRow } from "../store/messages.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";

const iso = (date: Date | null) => date?.toISOString() ?? null;

const toRecord = (row: MessageRow): MessageRecord => ({
  id: row.id,
  sandbox_id: row.sandbox_id,
  content: row.content,
  message_type: row.message_type,
  delivery: row.delivery,
  priority: row.is_urgent ? "high" : "normal",
  state: row.state,
  sender: row.sender,
  turn: row.turn,
  detail: row.detail,
  timestamp: row.queued_at.toISOString(),
  queued_at: row.queued_at.toISOString(),
  leased_at: iso(row.leased_at),
  delivered_at: iso(row.delivered_at),
  seen_at: iso(row.seen_at),
  ended_at: iso(row.ended_at),
});

export async function pageMessages(
  deps: Deps,
  sandboxId: SandboxId,
  query: { limit: number; cursor?: string | undefined },
) {
  const after = parsePosition(query.cursor);
  const rows = await listMessages(deps.db, sandboxId, after, query.limit + 1);
  return toPage(rows, query.limit, toRecord);
}
