/** What the server itself does to a running sandbox, told in its log with the reason. */
import { AppError, type SandboxId } from "@drover/contract";
import { changeState } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents } from "./event-log.ts";
import { loadStanding } from "./load-standing.ts";
import { afterStop, draftStop } from "./stop-sandbox.ts";

/** One that cannot be paused is left running: its log says that a person was asked. */
export async function pauseByServer(deps: Deps, id: SandboxId, cause: string, signal: AbortSignal): Promise<void> {
  const standing = await loadStanding(deps, id).catch((error: unknown) => {
    if (error instanceof AppError) return undefined; // external, or gone: there is nothing to stop
    throw error;
  });
  if (standing === undefined || !standing.provider.capabilities.pause) return;
  await standing.provider.pause(standing.ref, signal);
  await changeState(deps, id, "paused", cause).catch(async (error: unknown) => {
    // Expected: its work ended meanwhile. Nothing that is not paused stays stopped.
    await standing.provider.resume(standing.ref, signal);
    throw error;
  });
}

export async function stopByServer(deps: Deps, id: SandboxId, cause: string): Promise<void> {
  await writeWithEvents(deps, async (tx, append) => {
    await append(await draftStop(tx, deps, id, cause));
  });
  afterStop(deps);
}
