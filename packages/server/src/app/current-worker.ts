/** A worker's calls other than events are refused once a newer generation has taken over or the sandbox has ended. */
import { AppError, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { loadSandbox, type SandboxRow } from "../store/sandboxes.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

type Standing = Pick<SandboxRow, "generation" | "state" | "closed_at">;

/** The row, where its worker is still the one that asks. */
export function requireCurrent<Row extends Standing>(row: Row | undefined, worker: WorkerIdentity): Row {
  if (row === undefined) throw new AppError("sandbox.not_found");
  if (row.closed_at !== null) throw new AppError("auth.required", "the sandbox has ended and its token is void");
  if (row.generation !== worker.generation)
    throw new AppError("sandbox.fenced", `generation ${row.generation} has taken over`);
  if (TERMINAL_SANDBOX_STATES.has(row.state)) throw new AppError("sandbox.terminal", `the sandbox is ${row.state}`);
  return row;
}

export const loadForWorker = async (db: Db, worker: WorkerIdentity): Promise<SandboxRow> =>
  requireCurrent(await loadSandbox.maybe(db, worker.sandboxId), worker);
