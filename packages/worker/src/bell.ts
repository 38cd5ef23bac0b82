/** Wakes whoever waits. A ring while nobody waits is kept, so that none is missed between a look and a wait. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, at once after one that nobody heard, or when `signal` is aborted. For one waiter. */
  wait(signal?: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  let isRung = false;
  let waiter: (() => void) | undefined;
  return {
    ring() {
      isRung = true;
      waiter?.();
    },
    wait: (signal) =>
      new Promise((resolve) => {
        const finish = () => {
          isRung = false;
          waiter = undefined;
          signal?.removeEventListener("abort", finish);
          resolve();
        };
        if (isRung || signal?.aborted === true) return finish();
        waiter = finish;
        signal?.addEventListener("abort", finish, { once: true });
      }),
  };
}
