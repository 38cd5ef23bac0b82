/** What the monitor shows: figures, health, and the conductor's analyses. */
import { decideSystemHealth, readSignals } from "@drover/core";
import {
  AppError,
  type AnalysisId,
  type ConductorAnalysis,
  type GuardianAnalysis,
  type ProjectId,
  type SandboxId,
} from "@drover/contract";
import {
  listAnalyses,
  listConductorAnalyses,
  listStanding,
  loadAnalysis,
  loadDashboard,
  type AnalysisRow,
} from "../store/analyses.ts";
import { countInterventions } from "../store/supervision.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { toRunContext } from "./fold-run.ts";
import { toGuardianMode } from "./run-guardian.ts";

const FRESH_SECONDS = 600;
const MOST = 1_000;
interface Paged {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

const count = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(names, (name) => name)].map(([name, all]) => [name, all.length]));

export const readDashboard = (deps: Deps, actor: Person) => loadDashboard.one(deps.db, actor.grant.projectId);

export async function readMonitorHealth(deps: Deps, actor: Person) {
  const rows = await listStanding(deps.db, actor.grant.projectId, FRESH_SECONDS, MOST);
  const nowMs = deps.clock.now().getTime();
  const alignments = rows.flatMap((row) => row.verdict?.alignment_score ?? []);
  const needSteering = rows.filter((row) => row.verdict?.needs_steering === true).length;
  const signs = await Promise.all(
    rows.map(async (row) =>
      row.signals === null
        ? []
        : readSignals(row.signals, await toRunContext(deps, row), nowMs).map(({ signal }) => signal),
    ),
  );
  const [conductor] = await listConductorAnalyses(deps.db, actor.grant.projectId, undefined, 1);
  const isRecent = conductor !== undefined && nowMs - conductor.created_at.getTime() < FRESH_SECONDS * 1_000;
  const judged = rows.flatMap((row) => row.judged_at ?? []).map((at) => at.getTime());
  return {
    active_agents: rows.length,
    average_alignment:
      alignments.length === 0 ? null : alignments.reduce((sum, one) => sum + one, 0) / alignments.length,
    agents_need_steering: needSteering,
    system_health: decideSystemHealth(rows.length, alignments, needSteering),
    conditions: count(rows.map((row) => row.condition ?? "unknown")),
    signals: count(signs.flat()),
    phase_distribution: count(rows.map((row) => row.phase ?? "none")),
    steering_types: count(
      rows.flatMap((row) => (row.verdict?.needs_steering === true ? (row.verdict.steering_type ?? []) : [])),
    ),
    recent_duplicates: isRecent ? (conductor?.duplicates.length ?? 0) : 0,
    last_analysis: judged.length === 0 ? null : new Date(Math.max(...judged)).toISOString(),
  };
}

export async function pageConductorAnalyses(deps: Deps, actor: Person, query: Paged) {
  const before = parsePosition(query.cursor);
  const rows = await listConductorAnalyses(deps.db, actor.grant.projectId, before, query.limit + 1);
  return toPage(rows, query.limit, ({ position: _position, created_at, ...row }): ConductorAnalysis => ({
    ...row,
    duplicate_count: row.duplicates.length,
    created_at: created_at.toISOString(),
  }));
}

const toAnalysis = ({ position: _position, verdict, created_at, ...row }: AnalysisRow): GuardianAnalysis => ({
  ...row,
  ...verdict,
  created_at: created_at.toISOString(),
});

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
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toAnalysis);
}

export async function getAnalysis(deps: Deps, actor: Person, id: AnalysisId): Promise<GuardianAnalysis> {
  const row = await loadAnalysis.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (row === undefined || (mine !== null && row.project_id !== mine)) throw new AppError("analysis.not_found");
  return toAnalysis(row);
}

/** The passes that together are the monitor. */
const PASSES: ReadonlySet<string> = new Set([
  "supervise-runs",
  "run-guardian",
  "run-conductor",
  "measure",
  "find-anomalies",
  "diagnose-tickets",
  "detect-blocking",
  "deliver-alerts",
]);

export async function readStatus(deps: Deps) {
  const passes = [...deps.passes].filter(([name]) => PASSES.has(name));
  const toSeconds = (name: string) => (deps.passes.get(name)?.everyMs ?? 0) / 1_000;
  const total = passes.reduce((sum, [, { cycles }]) => sum + cycles, 0);
  const failed = passes.reduce((sum, [, one]) => sum + one.failed, 0);
  const toTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    running: passes.length > 0,
    started_at: new Date(deps.startedMs).toISOString(),
    config: {
      guardian_interval_seconds: toSeconds("run-guardian"),
      conductor_interval_seconds: toSeconds("run-conductor"),
      health_check_interval_seconds: toSeconds("measure"),
      guardian_mode: toGuardianMode(deps),
      max_concurrent_analyses: deps.config.maxConcurrentAnalyses,
      judge: deps.judge.isThere,
    },
    loops: passes.map(([name, one]) => ({
      name,
      every_seconds: one.everyMs / 1_000,
      cycles: one.cycles,
      failed: one.failed,
      last_started_at: toTime(one.lastStartedMs),
      last_duration_ms: one.lastDurationMs,
      last_error: one.lastError,
    })),
    metrics: {
      total_cycles: total,
      successful_cycles: total - failed,
      failed_cycles: failed,
      success_rate: total === 0 ? null : (total - failed) / total,
      total_interventions: (await countInterventions.one(deps.db)).count,
    },
  };
}
