/** Ends what has ended: sandboxes in a final state are destroyed, and only then are their credentials void and their log closed. */
import { AppError, TERMINAL_SANDBOX_STATES, type SandboxId, type SandboxState } from "@drover/contract";
import { expireMessages } from "../store/messages.ts";
import { listKeptLongEnough, listOpen, listOverTime, listTaskOver } from "../store/lifecycle.ts";
import { closeSandbox, loadSandbox, lockSandboxes, revokeSandboxTokens } from "../store/sandboxes.ts";
import { changeState } from "./change-state.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, writeWithEvents } from "./event-log.ts";
import { closeEgress } from "./govern-egress.ts";
import { hasTerminal } from "./open-terminal.ts";
import { keepLogs } from "./read-logs.ts";
import { toRef } from "./sandbox-key.ts";
import { draftStop } from "./stop-sandbox.ts";

const BATCH = 50;
const FINAL: readonly SandboxState[] = [...TERMINAL_SANDBOX_STATES];

async function reap(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) return;
  const provider = await deps.providers.open(row.provider);
  const ref = toRef(deps.installation, row);
  // Expected: there is nothing to read from any more. What the worker said last is worth a try, not a failure.
  await keepLogs(deps, { row, provider, ref }, signal).catch((error: unknown) =>
    deps.log.debug("sandbox.log_lost", { sandbox: id, reason: String(error) }),
  );
  await provider.destroy(ref, signal);
  await deps.gate.close(id);
  await closeEgress(deps, id);
  deps.adopted.delete(ref.key);
  await writeWithEvents(deps, async (tx, append) => {
    const [locked] = await lockSandboxes(tx, [id]);
    if (locked === undefined || locked.closed_at !== null) return;
    await closeSandbox(tx, id);
    await revokeSandboxTokens(tx, id);
    await expireMessages(tx, id);
    await append([
      draftSandboxEvent(deps.ids, locked, {
        eventType: "TERMINATED",
        data: { task_id: locked.task_id, reason: locked.state_cause },
      }),
    ]);
  });
  deps.credentials.forget();
}

async function stopOverTime(deps: Deps): Promise<void> {
  for (const { id, timeout_s: seconds } of await listOverTime(deps.db, BATCH)) {
    await writeWithEvents(deps, async (tx, append) =>
      append(await draftStop(tx, deps, id, `timed out after ${seconds} s`)),
    );
    deps.credentials.forget();
  }
}

export async function reapSandboxesOnce(deps: Deps, signal: AbortSignal): Promise<{ reaped: number }> {
  await stopOverTime(deps);
  for (const { id } of await listKeptLongEnough(deps.db, deps.host, deps.config.keepCompletedSeconds, BATCH)) {
    await changeState(deps, id, "terminated", "kept long enough");
  }
  for (const { id } of await listTaskOver(deps.db, deps.host, deps.config.taskLingerSeconds, BATCH)) {
    if (!hasTerminal(id)) await changeState(deps, id, "terminated", "its task is over");
  }
  const ended = await listOpen(deps.db, deps.host, FINAL, BATCH);
  let reaped = 0;
  for (const { id } of ended) {
    const making = deps.making.get(id);
    if (making !== undefined) {
      // What is still being made would stand again. Whoever makes it calls when nothing is added any more.
      making.end();
      continue;
    }
    // Expected: the provider is away. The row stays open, so the next pass tries again.
    await reap(deps, id, signal).then(
      () => (reaped += 1),
      (error: unknown) =>
        deps.log.warn("sandbox.destroy_failed", {
          sandbox: id,
          reason: error instanceof AppError ? error.message : String(error),
        }),
    );
  }
  return { reaped };
}
