/** Queues a message for a running agent. */
import {
  AppError,
  TERMINAL_SANDBOX_STATES,
  type MessageId,
  type NewMessage,
  type QueuedMessage,
  type SandboxId,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { countWaiting, insertMessage, type MessageDraft } from "../store/messages.ts";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, type EventDraft } from "./event-log.ts";

const PREVIEW_CHARACTERS = 100;

export const toPreview = (content: string) =>
  Array.from(content.slice(0, 2 * PREVIEW_CHARACTERS))
    .slice(0, PREVIEW_CHARACTERS)
    .join("");

export const toQueuedEvent = (
  deps: Deps,
  sandbox: SandboxRow,
  message: Pick<MessageDraft, "id" | "content" | "message_type" | "delivery" | "is_urgent">,
  { source, ...more }: { readonly source: "user" | "guardian" | "server"; readonly copied_from?: MessageId },
): EventDraft =>
  draftSandboxEvent(deps.ids, sandbox, {
    eventType: "MESSAGE_QUEUED",
    data: {
      message_id: message.id,
      content: toPreview(message.content),
      message_type: message.message_type,
      priority: message.is_urgent ? "high" : "normal",
      delivery: message.delivery,
      ...more,
    },
    source,
  });

/** Queues it in the caller's transaction, for a sandbox that the caller has locked; the event is the caller's to append. */
export async function queueMessage(
  tx: Db,
  deps: Deps,
  sandbox: SandboxRow,
  input: NewMessage,
  from: { readonly sender: string; readonly source: "user" | "guardian" },
): Promise<{ readonly id: MessageId; readonly event: EventDraft }> {
  if (sandbox.closed_at !== null || TERMINAL_SANDBOX_STATES.has(sandbox.state)) {
    throw new AppError("sandbox.terminal", `the sandbox is ${sandbox.state}; its agent can receive nothing more`);
  }
  const draft: MessageDraft = {
    id: deps.ids.message(),
    sandbox_id: sandbox.id,
    content: input.content,
    message_type: input.message_type,
    delivery: input.delivery,
    is_urgent: input.message_type === "interrupt",
    sender: from.sender,
  };
  await insertMessage(tx, draft);
  return { id: draft.id, event: toQueuedEvent(deps, sandbox, draft, { source: from.source }) };
}

export async function sendMessage(
  deps: Deps,
  actor: Person,
  sandboxId: SandboxId,
  input: NewMessage,
  key: RequestKey | undefined,
): Promise<QueuedMessage> {
  return createOnce(deps, key, async (tx, append): Promise<QueuedMessage> => {
    const [sandbox] = await lockSandboxes(tx, [sandboxId]);
    if (sandbox === undefined) throw new AppError("sandbox.not_found");
    const { id, event } = await queueMessage(tx, deps, sandbox, input, { sender: actor.tokenId, source: "user" });
    const { count } = await countWaiting.one(tx, sandboxId);
    await append([event]);
    return { status: "queued", message_id: id, sandbox_id: sandboxId, queue_size: count };
  });
}
