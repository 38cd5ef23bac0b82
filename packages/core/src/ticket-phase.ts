/** Which phase goes with a ticket's state, and where a blocked ticket may go. */
import type { PhaseId, TicketStatus } from "@drover/contract";

/** The phase that goes with a state. */
export const PHASE_OF: Readonly<Record<TicketStatus, PhaseId>> = {
  backlog: "PHASE_BACKLOG",
  analyzing: "PHASE_REQUIREMENTS",
  building: "PHASE_IMPLEMENTATION",
  "building-done": "PHASE_DEPLOYMENT",
  testing: "PHASE_TESTING",
  done: "PHASE_DONE",
};

/** To any of these a blocked ticket may go, wherever it stands; doing so clears the flag. */
export const UNBLOCKING: ReadonlySet<TicketStatus> = new Set(["analyzing", "building", "building-done", "testing"]);
