/** What people said and no agent has read goes on with the run, to the sandbox that resumes it. */
import { TERMINAL_SANDBOX_STATES, type SandboxId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { lockUnread, noteCopied } from "../store/copied-messages.ts";
import { insertMessage } from "../store/messages.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, type EventDraft } from "./event-log.ts";
import { toQueuedEvent } from "./send-message.ts";

/** In the transaction that makes `to`; the events are the caller's to append. Each message is copied once, as long as its copy may be read. */
export async function copyUnread(tx: Db, deps: Deps, from: SandboxId, to: SandboxRow): Promise<readonly EventDraft[]> {
  const [source] = await lockSandboxes(tx, [from]);
  if (source === undefined) return [];
  const hasEnded = source.closed_at !== null || TERMINAL_SANDBOX_STATES.has(source.state);
  const drafts: EventDraft[] = [];
  for (const { id, content, message_type, delivery, sender, is_expired } of await lockUnread(tx, from, hasEnded)) {
    const copy = deps.ids.message();
    const draft = { id: copy, sandbox_id: to.id, content, message_type, delivery, is_urgent: false };
    await insertMessage(tx, { ...draft, sender: sender ?? "server" });
    await noteCopied(tx, id, copy, `goes on in ${to.id}`);
    drafts.push(toQueuedEvent(deps, to, draft, { source: "server", copied_from: id }));
    if (!is_expired)
      drafts.push(
        draftSandboxEvent(deps.ids, source, {
          eventType: "MESSAGE_STATE_CHANGED",
          data: { message_id: id, state: "expired", message_type, detail: `goes on in ${to.id}` },
        }),
      );
  }
  return drafts;
}
