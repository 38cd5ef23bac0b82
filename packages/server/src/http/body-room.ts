/** What bodies of requests may take of the memory at once: of one sandbox, and of all. Whoever sends many large ones holds up itself. */
import type { SandboxId } from "@drover/contract";

export interface BodyRoom {
  /** Of one request; false when there is no room for so many bytes more. */
  open(sandboxId: SandboxId): { readonly take: (bytes: number) => boolean; readonly leave: () => void };
}

export function createBodyRoom(perSandbox: number, all: number): BodyRoom {
  const held = new Map<SandboxId, number>();
  let total = 0;
  return {
    open(sandboxId) {
      let own = 0;
      const add = (bytes: number) => {
        own += bytes;
        total += bytes;
        const now = (held.get(sandboxId) ?? 0) + bytes;
        if (now > 0) held.set(sandboxId, now);
        else held.delete(sandboxId);
      };
      return {
        take(bytes) {
          if ((held.get(sandboxId) ?? 0) + bytes > perSandbox || total + bytes > all) return false;
          add(bytes);
          return true;
        },
        leave: () => add(-own),
      };
    },
  };
}
