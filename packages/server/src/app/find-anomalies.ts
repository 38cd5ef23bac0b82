/** Looks for runs that behave unlike the others, writes down what that speaks of, and lets the judge look too. */
import { randomBytes } from "node:crypto";
import { CRITICAL_SCORE, diagnoseAnomaly, scoreAnomalies, type AnomalyScore, type AnomalyState } from "@drover/core";
import { AppError, type Anomaly, type AnomalyId, type DiagnosticRunId, type SandboxId } from "@drover/contract";
import {
  acknowledgeAnomaly,
  askJudgeSoon,
  insertAnomaly,
  listAnomalies,
  listReadings,
  loadAnomaly,
  saveReading,
  type AnomalyRow,
} from "../store/anomalies.ts";
import { findTicket } from "../store/budgets.ts";
import { insertRun, listStands, loadRun } from "../store/diagnostics.ts";
import { lockSandboxes } from "../store/sandboxes.ts";
import type { Person } from "./credential.ts";
import { parsePosition, toPage } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftRunEvent } from "./diagnose-tickets.ts";
import { draftSandboxEvent, writeWithEvents } from "./event-log.ts";

const LATELY_SECONDS = 300;
const MOST = 500;
const HOUR_MS = 3_600_000;
/** The anomaly, its diagnosis and the events of both, in one transaction. The run works on: nobody has to set it going again. */
async function keep(deps: Deps, { id, score, parts, state }: AnomalyScore): Promise<void> {
  const sandboxId = id as SandboxId;
  const anomalyId = `ano-${randomBytes(6).toString("hex")}` as AnomalyId;
  const runId = `dia-${randomBytes(6).toString("hex")}` as DiagnosticRunId;
  const severity = score >= CRITICAL_SCORE ? "critical" : "warning";
  await writeWithEvents(deps, async (tx, append) => {
    const [sandbox] = await lockSandboxes(tx, [sandboxId]);
    if (sandbox === undefined) return;
    const kept = { id: anomalyId, sandbox_id: sandboxId, score, severity, parts, readings: state.streak } as const;
    await insertAnomaly.one(tx, kept);
    const { task_id: taskId } = sandbox;
    const ticketId = taskId === null ? null : ((await findTicket.maybe(tx, taskId))?.ticket_id ?? null);
    const [stand] = ticketId === null ? [] : await listStands(tx, { projectId: null, ticketId, limit: 1 });
    await insertRun(tx, {
      id: runId,
      ticketId: stand?.id ?? null,
      sandboxId,
      projectId: sandbox.project_id,
      trigger: "anomaly",
      tasks: stand?.tasks ?? 0,
      completed: stand?.completed ?? 0,
      failed: stand?.failed ?? 0,
      idleSeconds: null,
      diagnosis: diagnoseAnomaly(score, parts),
      taskId: null,
    });
    await askJudgeSoon(tx, sandboxId);
    const data = { anomaly_id: anomalyId, score, severity, parts: { ...parts }, diagnostic_run_id: runId };
    const run = await loadRun.one(tx, runId);
    await append([
      draftSandboxEvent(deps.ids, sandbox, { eventType: "monitoring.anomaly.detected", data }),
      draftRunEvent(deps, run, "diagnostic.triggered"),
    ]);
  });
}

export async function findAnomaliesOnce(deps: Deps): Promise<{ found: number }> {
  const rows = await listReadings(deps.db, LATELY_SECONDS, MOST);
  const scores = scoreAnomalies(rows.map((row) => ({ ...row, before: row.before as AnomalyState | null })));
  for (const one of scores) {
    await saveReading(deps.db, one.id as SandboxId, { ...one.state });
    if (one.isNew) await keep(deps, one);
  }
  return { found: scores.filter(({ isNew }) => isNew).length };
}

const toAnomaly = ({ position: _position, created_at, acknowledged_at, ...row }: AnomalyRow): Anomaly => ({
  ...row,
  created_at: created_at.toISOString(),
  acknowledged_at: acknowledged_at?.toISOString() ?? null,
});

export async function pageAnomalies(
  deps: Deps,
  actor: Person,
  query: {
    limit: number;
    cursor?: string | undefined;
    hours: number;
    severity?: string | undefined;
    sandbox_id?: SandboxId | undefined;
  },
) {
  const rows = await listAnomalies(deps.db, {
    projectId: actor.grant.projectId,
    since: new Date(deps.clock.now().getTime() - query.hours * HOUR_MS),
    severity: query.severity,
    sandboxId: query.sandbox_id,
    before: parsePosition(query.cursor),
    limit: query.limit + 1,
  });
  return toPage(rows, query.limit, toAnomaly);
}

async function loadMine(deps: Deps, actor: Person, id: AnomalyId): Promise<AnomalyRow> {
  const row = await loadAnomaly.maybe(deps.db, id);
  const mine = actor.grant.projectId;
  if (row === undefined || (mine !== null && row.project_id !== mine)) throw new AppError("anomaly.not_found");
  return row;
}

export const getAnomaly = async (deps: Deps, actor: Person, id: AnomalyId): Promise<Anomaly> =>
  toAnomaly(await loadMine(deps, actor, id));

export async function acknowledge(deps: Deps, actor: Person, id: AnomalyId): Promise<Anomaly> {
  await loadMine(deps, actor, id);
  return toAnomaly(await acknowledgeAnomaly.one(deps.db, id, actor.tokenId));
}
