/** What the monitor shows: figures, health, and the conductor's analyses. */
import { decideSystemHealth, readSignals } from "@drover/core";
import type { ConductorAnalysis, GuardianAnalysis, ProjectId, SandboxId } from "@drover/contract";
import { z } from "zod";
import { listAnalyses, listConductorAnalyses, listStanding, loadDashboard } from "../store/analyses.ts";
import type { Person } from "./credential.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { toRunContext } from "./fold-run.ts";

const FRESH_SECONDS = 600;
const MOST = 1_000;
const Position = z
  .string()
  .regex(/^\d{1,15}$/)
  .transform(Number);

interface Paged {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const toNext = (rows: readonly { readonly position: number }[], limit: number): string | null =>
  rows.length > limit ? String(rows[limit - 1]?.position ?? "") : null;

const count = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));

export const readDashboard = (deps: Deps, actor: Person) => loadDashboard.one(deps.db, actor.grant.projectId);

export async function readMonitorHealth(deps: Deps, actor: Person) {
  const rows = await listStanding(deps.db, actor.grant.projectId, FRESH_SECONDS, MOST);
  const nowMs = deps.clock.now().getTime();
  const alignments = rows.flatMap((row) => row.verdict?.alignment_score ?? []);
  const needSteering = rows.filter((row) => row.verdict?.needs_steering === true).length;
  const judged = rows.flatMap((row) => row.judged_at ?? []).map((at) => at.getTime());
  return {
    active_agents: rows.length,
    average_alignment:
      alignments.length === 0 ? null : alignments.reduce((sum, one) => sum + one, 0) / alignments.length,
    agents_need_steering: needSteering,
    system_health: decideSystemHealth(rows.length, alignments, needSteering),
    conditions: count(rows.map((row) => row.condition ?? "unknown")),
    signals: count(
      rows.flatMap((row) =>
        row.signals === null ? [] : readSignals(row.signals, toRunContext(row), nowMs).map(({ signal }) => signal),
      ),
    ),
    last_analysis: judged.length === 0 ? null : new Date(Math.max(...judged)).toISOString(),
  };
}

export async function pageConductorAnalyses(deps: Deps, actor: Person, query: Paged) {
  const before = parseCursor(Position, query.cursor);
  const rows = await listConductorAnalyses(deps.db, actor.grant.projectId, before, query.limit + 1);
  const items = rows.slice(0, query.limit).map(({ position: _position, created_at, ...row }): ConductorAnalysis => ({
    ...row,
    created_at: created_at.toISOString(),
  }));
  return { items, next_cursor: toNext(rows, query.limit) };
}

export async function pageAnalyses(
  deps: Deps,
  actor: Person,
  query: Paged & { readonly sandbox_id?: SandboxId | undefined; readonly project_id?: ProjectId | undefined },
) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  const rows = await listAnalyses(deps.db, {
    projectId: query.project_id ?? mine,
    sandboxId: query.sandbox_id,
    before: parseCursor(Position, query.cursor),
    limit: query.limit + 1,
  });
  const items = rows
    .slice(0, query.limit)
    .map(({ position: _position, verdict, created_at, ...row }): GuardianAnalysis => ({
      ...row,
      ...verdict,
      created_at: created_at.toISOString(),
    }));
  return { items, next_cursor: toNext(rows, query.limit) };
}
