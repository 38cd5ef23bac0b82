/** Stops containers that have written more than they may: engines have quotas only on few file systems, so it is counted. */
import type Docker from "dockerode";
import type { Connection } from "./connection.ts";

/** Counting reads every file of the writable layer, so it is not done all the time; what is written between two looks is the overshoot. */
const LOOK_MS = 3_000;

export interface DiskWatch {
  watch(id: string, limitBytes: number): void;
  forget(id: string): void;
  /** Why a container was stopped, if it was for its disk. */
  reasonOf(id: string): string | undefined;
  close(): Promise<void>;
}

/** With `size`, which the engine counts only when it is asked to. */
type Sized = Docker.ContainerInfo & { readonly SizeRw?: number };

export function openDiskWatch({ docker }: Connection): DiskWatch {
  const limits = new Map<string, number>();
  const reasons = new Map<string, string>();
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> = Promise.resolve();

  const judge = async ({ Id: id, SizeRw: used = 0 }: Sized) => {
    const limit = limits.get(id);
    if (limit === undefined || used <= limit) return;
    reasons.set(id, `its files took ${used} bytes and it may have ${limit}`);
    await docker.getContainer(id).kill();
  };
  const lookAtAll = async () => {
    // Only those that run.
    const found: readonly Sized[] = await docker.listContainers({ size: true, filters: { id: [...limits.keys()] } });
    // Expected: it has just ended.
    for (const one of found) await judge(one).catch(() => undefined);
  };
  const schedule = () => {
    if (timer !== undefined || isClosed || limits.size === 0) return;
    timer = setTimeout(() => {
      looking = lookAtAll()
        // Expected: the engine is away. Who asks about a sandbox is told.
        .catch(() => undefined)
        .finally(() => {
          timer = undefined;
          schedule();
        });
    }, LOOK_MS).unref();
  };

  return {
    watch: (id, limitBytes) => {
      reasons.delete(id);
      limits.set(id, limitBytes);
      schedule();
    },
    forget: (id) => {
      limits.delete(id);
      reasons.delete(id);
    },
    reasonOf: (id) => reasons.get(id),
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
