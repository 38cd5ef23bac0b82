/** Opens checkpoints soon after they came, so that whoever first looks at a moment of a run does not wait for all of them. */
import { AppError, type SandboxId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { ensureCheckpoints } from "./read-checkpoint.ts";
import type { TailEvent } from "./tail-event.ts";

/** One after the other: nobody waits for this, and others wait for the machine. */
const IN_A_PASS = 8;

/** Sandboxes with checkpoints that this process has not opened. One that sent a broken pack is left alone: whoever looks is told. */
export type Unopened = Map<SandboxId, "new" | "opening" | "refused">;

export function noteCheckpoints(unopened: Unopened, events: readonly TailEvent[]): void {
  for (const { storedType, sandboxId: id } of events)
    if (storedType === "workspace.checkpoint" && id !== null && unopened.get(id) !== "refused") unopened.set(id, "new");
}

export async function openCheckpointsOnce(deps: Deps, signal: AbortSignal): Promise<{ opened: number }> {
  const ids = [...deps.unopened].flatMap(([id, state]) => (state === "new" ? [id] : [])).slice(0, IN_A_PASS);
  let opened = 0;
  for (const id of ids) {
    deps.unopened.set(id, "opening");
    try {
      await ensureCheckpoints(deps, id, signal);
      // What came meanwhile is for the next pass.
      if (deps.unopened.get(id) === "opening") deps.unopened.delete(id);
      opened += 1;
    } catch (error) {
      const isRefused = error instanceof AppError && !signal.aborted;
      deps.unopened.set(id, isRefused ? "refused" : "new");
      if (!isRefused) throw error;
      deps.log.warn("checkpoint.unreadable", { sandbox: id, reason: error.message });
    }
  }
  return { opened };
}
