/** A transition of a sandbox, decided by the table while its row is locked, and told in its log. */
import { step, SANDBOX, type SandboxTrigger } from "@drover/core";
import { AppError, type SandboxId } from "@drover/contract";
import { lockSandboxes, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { draftTransition, writeWithEvents, type EventDraft } from "./event-log.ts";

export async function writeSandboxEvents(
  deps: Deps,
  id: SandboxId,
  draft: (row: SandboxRow) => readonly EventDraft[],
): Promise<void> {
  await writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) throw new AppError("sandbox.not_found");
    await append(draft(row));
  });
}

/** Being in the state already is no change and no error. */
export async function changeState(
  deps: Deps,
  id: SandboxId,
  on: SandboxTrigger,
  cause: string,
  toMore: (row: SandboxRow) => readonly EventDraft[] = () => [],
): Promise<SandboxRow> {
  return writeWithEvents(deps, async (tx, append) => {
    const [row] = await lockSandboxes(tx, [id]);
    if (row === undefined) throw new AppError("sandbox.not_found");
    const next = step(SANDBOX, row.state, on);
    if (!next.ok) {
      if (Object.values(SANDBOX).some((cells) => (cells as Partial<Record<SandboxTrigger, string>>)[on] === row.state))
        return row;
      throw new AppError("sandbox.illegal_transition", `a sandbox that is ${row.state} cannot be ${on}`);
    }
    await append([draftTransition(deps.ids, row, { from: row.state, to: next.to, cause }, null), ...toMore(row)]);
    return { ...row, state: next.to };
  });
}
