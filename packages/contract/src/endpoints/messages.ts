/** Messages to a running agent. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { MessageId, SandboxId } from "../ids.ts";
import { Broadcast, NewBroadcast } from "../resources/broadcast.ts";
import {
  AckReceipt,
  InboxMessage,
  MessageAck,
  MessageRecord,
  NewMessage,
  QueuedMessage,
} from "../resources/message.ts";
import { page, Paging } from "./page.ts";

const sandboxRef = z.object({ sandbox_id: SandboxId });

export const messageEndpoints = {
  sendMessage: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/messages",
    access: "person",
    verb: "operate",
    summary: "Queue a message for the agent.",
    params: sandboxRef,
    body: NewMessage,
    reply: QueuedMessage,
    creates: true,
  }),
  broadcastMessage: endpoint({
    method: "POST",
    path: "/collaboration/broadcast",
    access: "person",
    verb: "operate",
    summary: "Queue a message for every agent of a ticket, or else of a project; all get it or none.",
    body: NewBroadcast,
    reply: Broadcast,
    status: 201,
    creates: true,
  }),
  receiveMessages: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/messages",
    access: "worker",
    summary: "Messages for the agent: leased, or read once.",
    params: sandboxRef,
    query: z
      .strictObject({
        lease: z.coerce.number().min(1).max(300).optional(),
        wait: z.coerce.number().min(0).max(30).optional(),
      })
      .refine((query) => query.wait === undefined || query.lease !== undefined, {
        path: ["wait"],
        message: "needs `lease`",
      }),
    reply: z.array(InboxMessage),
  }),
  ackMessage: endpoint({
    method: "POST",
    path: "/sandboxes/:sandbox_id/messages/:message_id/ack",
    access: "worker",
    summary: "Say how far a message came.",
    params: z.object({ sandbox_id: SandboxId, message_id: MessageId }),
    body: MessageAck,
    reply: AckReceipt,
  }),
  listMessages: endpoint({
    method: "GET",
    path: "/sandboxes/:sandbox_id/messages/history",
    access: "person",
    verb: "read",
    isShared: true,
    summary: "All messages with their states; takes nothing from the worker.",
    params: sandboxRef,
    query: z.strictObject(Paging),
    reply: page(MessageRecord),
  }),
} as const;
