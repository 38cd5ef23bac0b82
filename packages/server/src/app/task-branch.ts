/** The branch that a task's sandbox works on. */
import type { SandboxRow } from "../store/sandboxes.ts";
import type { TaskRow } from "../store/tasks.ts";
import type { TicketRow } from "../store/tickets.ts";
import type { Deps } from "./deps.ts";

/** None, as long as projects have no Git host. */
export async function ensureBranch(
  _deps: Deps,
  _ticket: TicketRow,
  _task: TaskRow,
  _signal: AbortSignal,
): Promise<string | null> {
  return null;
}

/** What a worker says it has pushed must stand at the Git host. */
export async function requireEvidence(_deps: Deps, _sandbox: SandboxRow, _commit: string | undefined): Promise<void> {
  return undefined;
}
