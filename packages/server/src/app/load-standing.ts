/** A sandbox that a provider made, together with the way into it. */
import { AppError, TERMINAL_SANDBOX_STATES, type SandboxId } from "@drover/contract";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { toRef } from "./sandbox-key.ts";
import { requireHere } from "./stand-elsewhere.ts";

export interface Standing {
  readonly row: SandboxRow;
  readonly provider: SandboxProvider;
  readonly ref: SandboxRef;
}

/** A provider that made something and cannot be opened now is away: trying again may help. */
async function openProvider(deps: Deps, row: SandboxRow): Promise<SandboxProvider> {
  return deps.providers.open(row.provider).catch((cause: unknown) => {
    if (!(cause instanceof AppError) || cause.code !== "provider.unavailable") throw cause;
    throw new AppError("sandbox.unavailable", cause.message, { cause });
  });
}

/** One that stands at its provider, running or paused. */
export async function loadStanding(deps: Deps, id: SandboxId): Promise<Standing> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  if (row.closed_at !== null || TERMINAL_SANDBOX_STATES.has(row.state))
    throw new AppError("sandbox.terminal", `the sandbox is ${row.state}`);
  if (row.provider === "external")
    throw new AppError(
      "sandbox.rejected",
      "Drover did not make this sandbox (provider external) and has no way into it",
    );
  if (row.provisioned_at === null) throw new AppError("sandbox.illegal_transition", "the sandbox is still being made");
  requireHere(deps, row);
  return { row, provider: await openProvider(deps, row), ref: toRef(deps.installation, row) };
}

/** One in which things can be done: nothing in a paused sandbox would ever answer. */
export async function loadRunning(deps: Deps, id: SandboxId): Promise<Standing> {
  const standing = await loadStanding(deps, id);
  if (standing.row.state === "paused")
    throw new AppError("sandbox.illegal_transition", "the sandbox is paused; resume it first");
  return standing;
}
