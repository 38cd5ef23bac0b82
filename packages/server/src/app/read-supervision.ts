/** What supervision sees of a run, and what it did, for people. */
import { readSignals } from "@drover/core";
import { AppError, type Intervention, type ProjectId, type SandboxId, type Supervision } from "@drover/contract";
import { listInterventions, loadSupervision, type InterventionRow } from "../store/supervision.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { toRunContext } from "./fold-run.ts";

export async function readSupervision(deps: Deps, id: SandboxId): Promise<Supervision> {
  const row = await loadSupervision.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  const run = await toRunContext(deps, row);
  const signals = row.signals === null ? [] : readSignals(row.signals, run, deps.clock.now().getTime());
  return {
    sandbox_id: row.id,
    condition: row.condition,
    condition_since: row.condition_since?.toISOString() ?? null,
    signals: signals.map((signal) => ({ ...signal, seqs: [...signal.seqs] })),
    cursor_seq: row.cursor_seq,
  };
}

const toIntervention = ({
  position: _position,
  at_seq: _at,
  created_at,
  settled_at,
  ...row
}: InterventionRow): Intervention => ({
  ...row,
  created_at: created_at.toISOString(),
  settled_at: settled_at?.toISOString() ?? null,
});

export async function pageInterventions(
  deps: Deps,
  actor: Person,
  query: {
    limit: number;
    cursor?: string | undefined;
    sandbox_id?: SandboxId | undefined;
    project_id?: ProjectId | undefined;
  },
) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  const rows = await listInterventions(deps.db, {
    projectId: query.project_id ?? mine,
    sandboxId: query.sandbox_id,
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toIntervention);
}
