/** What a sandbox was when its log had come to a certain number: read from the log, not from what it is now. */
import { AppError, SandboxState, type SandboxId, type StateAt } from "@drover/contract";
import { countUpTo } from "../store/checkpoints.ts";
import { loadLogAt } from "../store/events.ts";
import { loadSandboxProject } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";

export async function readStateAt(deps: Deps, id: SandboxId, atSeq: number | undefined): Promise<StateAt> {
  if ((await loadSandboxProject.maybe(deps.db, id)) === undefined) throw new AppError("sandbox.not_found");
  const until = atSeq ?? Number.MAX_SAFE_INTEGER;
  const [at, counts] = await Promise.all([loadLogAt.one(deps.db, id, until), countUpTo.one(deps.db, id, until)]);
  const { checkpoint_seq: seq, commit, ...counted } = counts;
  return {
    sandbox_id: id,
    at_seq: at.seq ?? 0,
    // Before its first transition every sandbox is pending.
    state: SandboxState.catch("pending").parse(at.state),
    state_cause: at.state_cause,
    generation: at.generation ?? 1,
    turn: at.turn ?? 0,
    event_count: at.sandbox_seq ?? 0,
    last_event_type: at.event_type,
    last_event_at: at.created_at?.toISOString() ?? null,
    ...counted,
    checkpoint: seq === null || commit === null ? null : { seq, commit },
  };
}
