/** What the server itself does to a running sandbox, told in its log with the reason. */
import { step, SANDBOX } from "@drover/core";
import { AppError, type SandboxId } from "@drover/contract";
import { closeSandbox, lockSandboxes, revokeSandboxTokens } from "../store/sandboxes.ts";
import { changeState } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { draftTransition, writeWithEvents } from "./event-log.ts";
import { loadStanding } from "./load-standing.ts";

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
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) return;
    const next = step(SANDBOX, row.state, "cancelled");
    if (!next.ok) return;
    if (row.provider === "external") {
      await closeSandbox(tx, id);
      await revokeSandboxTokens(tx, id);
    }
    await append([draftTransition(deps.ids, row, { from: row.state, to: next.to, cause }, null)]);
  });
  deps.credentials.forget();
  deps.wake("reap-sandboxes");
}
