/** A point at which the scripted model waits until the test lets it go on: a gate in place of a timer. */
export interface Hold {
  /** Resolves when somebody waits here. */
  readonly reached: Promise<void>;
  release(): void;
  wait(): Promise<void>;
}

export function createHold(): Hold {
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  return {
    reached: reached.promise,
    release: released.resolve,
    wait: () => {
      reached.resolve();
      return released.promise;
    },
  };
}
