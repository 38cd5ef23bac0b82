/** A sandbox that was lost while it worked is made again as the next generation, and goes on with its last checkpoint. */
import { step, SANDBOX, type SandboxTrigger } from "@drover/core";
import type { SandboxState } from "@drover/contract";
import { forgetProvisioned } from "../store/lifecycle.ts";
import { requeueUnseen } from "../store/messages.ts";
import { noteResumeFromItself, settleRemembered } from "../store/resume.ts";
import { advanceGeneration, lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, draftTransition, writeWithEvents } from "./event-log.ts";
import { closeEgress } from "./govern-egress.ts";
import { hasMemory } from "./resume-run.ts";
import { toRef } from "./sandbox-key.ts";
import { draftRestart } from "./tell-restart.ts";

/** Never endlessly, and never to begin again with nothing: that would have to be asked first. */
export const isReplaceable = async (deps: Deps, row: SandboxRow): Promise<boolean> =>
  row.generation <= deps.config.sandboxReplacements && (await hasMemory(deps, row, row.runtime ?? "scripted"));

export async function replaceLost(deps: Deps, lost: SandboxRow, cause: string, signal: AbortSignal): Promise<void> {
  const isReplaced = await writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [lost.id]);
    if (row === undefined || row.generation !== lost.generation) return false;
    const next = step<SandboxState, SandboxTrigger>(SANDBOX, row.state, "lost");
    if (!next.ok) return false;
    const generation = row.generation + 1;
    await advanceGeneration(tx, row.id);
    await forgetProvisioned(tx, row.id);
    await settleRemembered(tx, row.id);
    await requeueUnseen(tx, row.id);
    await noteResumeFromItself(tx, row.id);
    const replaced = { ...row, generation };
    await append([
      draftSandboxEvent(deps.ids, replaced, { eventType: "WORKER_REPLACED", data: { generation, cause } }),
      draftTransition(deps.ids, replaced, { from: row.state, to: next.to, cause }, null),
      draftRestart(deps, row, replaced, cause),
    ]);
    return true;
  });
  if (!isReplaced) return;
  deps.credentials.forget();
  await deps.gate.close(lost.id);
  await closeEgress(deps, lost.id);
  const provider = await deps.providers.open(lost.provider);
  // Expected: there is nothing left of it, or its provider is away; then it is destroyed when sandboxes are compared with rows.
  await provider
    .destroy(toRef(deps.installation, lost), signal)
    .catch((error: unknown) => deps.log.warn("sandbox.destroy_failed", { sandbox: lost.id, reason: String(error) }));
  deps.wake("provision-sandboxes");
}
