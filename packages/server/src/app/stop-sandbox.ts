/** Ends a sandbox whose work is not wanted any more, as part of the transaction that says why. */
import { step, SANDBOX } from "@drover/core";
import type { SandboxId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { expireMessages } from "../store/messages.ts";
import { closeSandbox, lockSandboxes, revokeSandboxTokens } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, draftTransition, type EventDraft } from "./event-log.ts";

/** What a provider made is destroyed by the reaper, which `afterStop` wakes; an external one is over at once. */
export async function draftStop(tx: Db, deps: Deps, id: SandboxId, cause: string): Promise<readonly EventDraft[]> {
  const [row] = await lockSandboxes(tx, [id]);
  if (row === undefined || row.closed_at !== null) return [];
  const next = step(SANDBOX, row.state, "cancelled");
  if (!next.ok) return [];
  await expireMessages(tx, id);
  const cancelled = draftTransition(deps.ids, row, { from: row.state, to: next.to, cause }, null);
  if (row.provider !== "external") return [cancelled];
  await closeSandbox(tx, id);
  await revokeSandboxTokens(tx, id);
  const data = { task_id: row.task_id, reason: cause };
  return [cancelled, draftSandboxEvent(deps.ids, row, { eventType: "TERMINATED", data })];
}

export function afterStop(deps: Deps): void {
  deps.credentials.forget();
  deps.wake("reap-sandboxes");
}
