/** Steps on their way from an agent that speaks by itself to the worker that asks for one at a time. */
import type { AgentEnd, AgentStep } from "../agent-runtime.ts";
import { createBell } from "../bell.ts";

/** Steps that may wait before whoever reads the agent's words is to wait too. */
const LIMIT = 256;

export interface StepChannel {
  /** A step that is still being made keeps its place: what is put after it is read after it. It must not reject. */
  put(step: AgentStep | Promise<AgentStep>): void;
  /** Resolves when few steps wait. */
  room(): Promise<void>;
  /** No more steps come; the first end counts. */
  end(end: AgentEnd): void;
  readonly steps: AsyncGenerator<AgentStep, AgentEnd>;
}

export function createStepChannel(): StepChannel {
  const arrived = createBell();
  const waiting: (AgentStep | Promise<AgentStep>)[] = [];
  let roomSeekers: (() => void)[] = [];
  let over: AgentEnd | undefined;

  const tellRoom = () => {
    for (const tell of roomSeekers) tell();
    roomSeekers = [];
  };

  async function* read(): AsyncGenerator<AgentStep, AgentEnd> {
    for (;;) {
      const next = waiting.shift();
      if (waiting.length < LIMIT) tellRoom();
      if (next !== undefined) yield await next;
      else if (over !== undefined) return over;
      else await arrived.wait();
    }
  }

  return {
    put(step) {
      if (over !== undefined) return;
      waiting.push(step);
      arrived.ring();
    },
    room: () =>
      waiting.length < LIMIT || over !== undefined ? Promise.resolve() : new Promise((tell) => roomSeekers.push(tell)),
    end(end) {
      over ??= end;
      arrived.ring();
      tellRoom();
    },
    steps: read(),
  };
}
