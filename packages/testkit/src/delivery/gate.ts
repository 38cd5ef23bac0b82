/** Holds operations back for a given number of ticks, so that a schedule decides what happens in between. */
export interface Gate {
  /** Resolves at once, or after as many ticks as the next delay says. */
  pass(): Promise<void>;
  /** One action of the schedule was done. */
  tick(): void;
  /** From now on nothing waits. */
  open(): void;
}

/** `delays` are used in turn and again from the start; 0 does not wait. */
export function createGate(delays: readonly number[]): Gate {
  let isOpen = false;
  let next = 0;
  let waiting: { left: number; go: () => void }[] = [];
  return {
    pass: () => {
      const left = delays[next++ % delays.length] ?? 0;
      if (isOpen || left === 0) return Promise.resolve();
      return new Promise((go) => waiting.push({ left, go }));
    },
    tick: () => {
      for (const one of waiting) one.left -= 1;
      const due = waiting.filter((one) => one.left <= 0);
      waiting = waiting.filter((one) => one.left > 0);
      for (const { go } of due) go();
    },
    open: () => {
      isOpen = true;
      for (const { go } of waiting.splice(0)) go();
    },
  };
}

export interface Latch extends Gate {
  /** From now on everything waits, until `open`. */
  hold(): void;
  waiting(): number;
}

export function createLatch(): Latch {
  let isHeld = false;
  const waiting: (() => void)[] = [];
  return {
    pass: () => (isHeld ? new Promise((go) => waiting.push(go)) : Promise.resolve()),
    tick: () => undefined,
    hold: () => {
      isHeld = true;
    },
    open: () => {
      isHeld = false;
      for (const go of waiting.splice(0)) go();
    },
    waiting: () => waiting.length,
  };
}
