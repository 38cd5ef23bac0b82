/** How far a message came. Only `seen` ends it well: until then it may return to the queue. */
import type { MessageState } from "@drover/contract";
import type { Table } from "./machine.ts";

export type MessageTrigger =
  | "leased"
  | "lease_expired"
  | "delivered"
  | "seen"
  | "failed"
  | "worker_replaced"
  | "sandbox_ended";

/** A late acknowledgement of a message whose lease ran out still counts, and an earlier one than is known changes nothing. */
export const MESSAGE = {
  queued: { leased: "leased", delivered: "delivered", seen: "seen", failed: "failed", sandbox_ended: "expired" },
  leased: {
    leased: "leased",
    lease_expired: "queued",
    delivered: "delivered",
    seen: "seen",
    failed: "failed",
    worker_replaced: "queued",
    sandbox_ended: "expired",
  },
  delivered: {
    delivered: "delivered",
    seen: "seen",
    failed: "failed",
    worker_replaced: "queued",
    sandbox_ended: "expired",
  },
  seen: { delivered: "seen", seen: "seen" },
  failed: { failed: "failed" },
  expired: {},
} as const satisfies Table<MessageState, MessageTrigger>;
