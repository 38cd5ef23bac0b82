/** Hands a message to the agent by its type. */
import { type InboxMessage, PermissionMessage } from "@drover/contract";
import type { AgentSession } from "./agent-runtime.ts";

function deliverAnswer(session: AgentSession, message: InboxMessage): string | undefined {
  let content: unknown;
  try {
    content = JSON.parse(message.content);
  } catch {
    // Expected: never from our server; another program may speak its contract.
  }
  const parsed = PermissionMessage.safeParse(content);
  if (!parsed.success) return "the answer cannot be read";
  const { request_id, decision, option_id, text, note } = parsed.data;
  return session.answerPermission({
    messageId: message.id,
    requestId: request_id,
    decision,
    ...(option_id === undefined ? {} : { optionId: option_id }),
    ...(text === undefined ? {} : { text }),
    ...(note === undefined ? {} : { note }),
  });
}

/** A text says why the agent does not take it. */
export function deliver(session: AgentSession, message: InboxMessage): string | undefined {
  if (message.message_type === "permission_answer") return deliverAnswer(session, message);
  return message.message_type === "interrupt" ? session.interrupt(message) : session.send(message);
}
