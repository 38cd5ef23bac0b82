/** Hints within one process. */
import type { Bus } from "../ports/bus.ts";

export function openMemoryBus(): Bus {
  const listeners = new Set<() => void>();
  return {
    publish: () => {
      for (const listener of listeners) listener();
    },
    onHint: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isUp: () => true,
    close: async () => listeners.clear(),
  };
}
