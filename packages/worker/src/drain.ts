/** Lets others wait until something is empty, or will never be. */
export interface Drain {
  /** To be called whenever it may have become empty. */
  check(): void;
  /** Nobody empties it any more. */
  end(): void;
  /** Whether it is empty: now, when it becomes so, or when `until` is aborted. */
  drained(until: AbortSignal): Promise<boolean>;
}

export function createDrain(isEmpty: () => boolean): Drain {
  const watchers = new Set<() => void>();
  let isOver = false;
  const check = () => {
    for (const watcher of watchers) watcher();
  };
  return {
    check,
    end() {
      isOver = true;
      check();
    },
    drained: (until) =>
      new Promise((resolve) => {
        const watcher = () => {
          if (!isEmpty() && !isOver && !until.aborted) return;
          watchers.delete(watcher);
          until.removeEventListener("abort", watcher);
          resolve(isEmpty());
        };
        watchers.add(watcher);
        until.addEventListener("abort", watcher, { once: true });
        watcher();
      }),
  };
}
