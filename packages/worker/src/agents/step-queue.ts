/** Steps on their way from an agent that speaks when it likes to a reader that takes one at a time. */
import type { AgentStep } from "../agent-runtime.ts";
import { createBell } from "../bell.ts";

/** More than this waiting makes the agent wait. */
const ROOM = 256;

export interface StepQueue {
  push(step: AgentStep): void;
  /** Resolves when there is room again. */
  room(): Promise<void>;
  /** No more steps come. */
  end(): void;
  /** The next step; undefined when the queue has ended and is empty. */
  take(): Promise<AgentStep | undefined>;
}

export function createStepQueue(): StepQueue {
  const steps: AgentStep[] = [];
  const arrived = createBell();
  const taken = createBell();
  let isEnded = false;
  return {
    push(step) {
      steps.push(step);
      arrived.ring();
    },
    async room() {
      while (steps.length >= ROOM && !isEnded) await taken.wait();
    },
    end() {
      isEnded = true;
      arrived.ring();
      taken.ring();
    },
    async take() {
      while (steps.length === 0 && !isEnded) await arrived.wait();
      const step = steps.shift();
      taken.ring();
      return step;
    },
  };
}
