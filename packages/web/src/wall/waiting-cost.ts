/** What it costs that a person has not come yet: who stands still meanwhile, and for how long. */
import type { TicketPriority } from "@drover/contract/views";
import type { Need } from "./needs.ts";

/** An agent that asked stands still beside a machine that is paid for; one that the guardian doubts goes on spending, perhaps in vain. */
const BLOCKED = { permission: 4, guardian: 3, budget: 2 } as const;
/** Nothing runs while a ticket waits: its priority says how much hangs on it. */
const TICKET: Readonly<Record<TicketPriority, number>> = { CRITICAL: 4, HIGH: 2, MEDIUM: 1, LOW: 0.5 };
/** What has just come costs something, too. */
const AT_ONCE_MS = 60_000;

type Waiting =
  | { readonly kind: keyof typeof BLOCKED; readonly since: string }
  | { readonly kind: "approval"; readonly since: string; readonly ticket: { readonly priority: TicketPriority } };

/** Milliseconds of waiting, weighed. */
export function toWaitingCost(need: Waiting, nowMs: number): number {
  const weight = need.kind === "approval" ? TICKET[need.ticket.priority] : BLOCKED[need.kind];
  return weight * (AT_ONCE_MS + Math.max(0, nowMs - Date.parse(need.since)));
}

/** The dearest first; of equals the one that waits longest. */
export const sortByWaitingCost = (needs: readonly Need[], nowMs: number): readonly Need[] =>
  needs.toSorted(
    (one, other) => toWaitingCost(other, nowMs) - toWaitingCost(one, nowMs) || one.since.localeCompare(other.since),
  );
