/** An agent whose model was refused because no money is left has not failed: it waits until somebody raises the budget, and goes on. */
import type { AgentEvent, WorkOrder } from "../agent-runtime.ts";

/** Each try costs the agent a word in its memory, so they become rare. A sandbox that stands still does not try. */
const FIRST_MS = 1_000;
const LONGEST_MS = 300_000;

/** What it is told when it may try again. */
export const SPENT_PROMPT =
  "The budget of this run was used up, so you were stopped. Go on with your work where you stopped.";

export interface BudgetWait {
  isSpent(): boolean;
  /** Resolves when it is time to ask again, or with the signal; longer each time in a row. */
  next(signal: AbortSignal): Promise<void>;
}

export function createBudgetWait({ clock, isBudgetSpent }: Pick<WorkOrder, "clock" | "isBudgetSpent">): BudgetWait {
  let waitMs = FIRST_MS;
  return {
    isSpent() {
      if (isBudgetSpent()) return true;
      waitMs = FIRST_MS;
      return false;
    },
    async next(signal) {
      await clock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, LONGEST_MS);
    },
  };
}

export const toSpent = (turn: number, error: string): AgentEvent => ({
  event_type: "agent.error",
  event_data: { turn, error, error_type: "budget_exceeded" },
});
