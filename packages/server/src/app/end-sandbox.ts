/** Ends sandboxes because a person says so. */
import { step, SANDBOX } from "@drover/core";
import { AppError, type Sandbox, type SandboxId } from "@drover/contract";
import { insertAudit } from "../store/audit.ts";
import { expireMessages } from "../store/messages.ts";
import { closeSandbox, lockSandboxes, revokeSandboxTokens } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, draftTransition, writeWithEvents } from "./event-log.ts";
import { getSandbox } from "./manage-sandboxes.ts";

type Ending = "terminated" | "cancelled";

const ACTIONS: Readonly<Record<Ending, string>> = { terminated: "sandbox.terminate", cancelled: "sandbox.cancel" };

/** One that a provider made is destroyed by the reaper, and only then are its credentials void: until that is confirmed its
 *  last events are still stored. An external one is over at once. */
async function endSandbox(deps: Deps, actor: Person, id: SandboxId, on: Ending): Promise<Sandbox> {
  await writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) throw new AppError("sandbox.not_found");
    const next = step(SANDBOX, row.state, on);
    const isLeft = row.provider === "external" && row.closed_at === null;
    if (!next.ok && on === "cancelled" && row.state !== "cancelled")
      throw new AppError("sandbox.illegal_transition", `a sandbox that is ${row.state} cannot be ${on}`);
    if (row.closed_at !== null || (!next.ok && !isLeft)) return;
    if (row.provider === "external") {
      await closeSandbox(tx, id);
      await revokeSandboxTokens(tx, id);
    }
    await expireMessages(tx, id);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: ACTIONS[on],
      target: id,
      project_id: row.project_id,
      detail: { state: row.state },
      request_id: null,
    });
    const ended = draftSandboxEvent(deps.ids, row, {
      eventType: "TERMINATED",
      data: { task_id: row.task_id, reason: "user" },
      source: "user",
    });
    await append([
      ...(next.ok ? [draftTransition(deps.ids, row, { from: row.state, to: next.to, cause: "user" }, null)] : []),
      ...(row.provider === "external" ? [ended] : []),
    ]);
  });
  deps.credentials.forget();
  deps.wake("reap-sandboxes");
  return getSandbox(deps, id);
}

/** Terminating twice equals terminating once, and one that has ended otherwise stays as it is. */
export const terminateSandbox = (deps: Deps, actor: Person, id: SandboxId): Promise<Sandbox> =>
  endSandbox(deps, actor, id, "terminated");

/** Cancelling twice equals cancelling once; one that has ended otherwise cannot be cancelled any more. */
export const cancelSandbox = (deps: Deps, actor: Person, id: SandboxId): Promise<Sandbox> =>
  endSandbox(deps, actor, id, "cancelled");
