/** How an agent's hearing of a message is told: as what it was given, or as what stopped it. */
import type { InboxMessage } from "@drover/contract";
import type { AgentEvent } from "../agent-runtime.ts";

export const toInjected = (turn: number, message: InboxMessage): AgentEvent => ({
  event_type: "agent.message_injected",
  event_data: {
    turn,
    message_id: message.id,
    message_type: message.message_type,
    sender_id: message.sender_id ?? null,
    content: message.content,
    content_length: message.content.length,
  },
});

/** The agent begins to work on what it was given. */
export const toProcessing = ({ event_data: { turn, message_id, message_type } }: AgentEvent): AgentEvent => ({
  event_type: "agent.processing",
  event_data: { turn, message_id, message_type },
});

/** `message` is missing where something else than a message stopped it. */
export const toInterrupted = (turn: number, message: InboxMessage | undefined, wasRunning: boolean): AgentEvent => ({
  event_type: "agent.interrupted",
  event_data: {
    turn,
    reason: message?.content ?? "interrupted",
    was_running: wasRunning,
    ...(message === undefined ? {} : { message_id: message.id, sender_id: message.sender_id ?? null }),
  },
});
